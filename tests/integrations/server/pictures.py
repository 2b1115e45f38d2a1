"""The pictures of docs/guide/serve.md: python -m tests.integrations.server.pictures"""

import tempfile
from pathlib import Path

from tests.integrations.server.browser import browsing
from tests.integrations.server.process import free_port, serving

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
WIDTHS = {"serve_page.png": 1280, "serve_page_phone.png": 420}
DIGIT = "[...document.querySelectorAll('.token')].find(one => /[1-9]/.test(one.innerText))"


def main() -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, serving(port, Path(folder, "log")), browsing(Path(folder)) as browser:
        for name, width in WIDTHS.items():
            browser.open(f"http://127.0.0.1:{port}", width)
            browser.click("#send")
            browser.wait("document.querySelector('.token.end')")
            browser.run(f"{DIGIT}.click()")
            browser.write("#instead", "0")
            browser.click("#why button")
            browser.wait("document.querySelector('#reason').innerText")
            browser.picture(FIGURES / name)


if __name__ == "__main__":
    main()
