"""A picture of the page of a run of `grammarlm bench`, by headless Chromium: its first tables, and its first failures, one opened.

usage: python -m benchmarks.report_page FOLDER [--to docs/figures/jsonschemabench-report.png]
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import FIGURES

TARGET = FIGURES / "jsonschemabench-report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH = 1280
TOP, FAILURES = 1000, 560  # pixels of height
OPEN_FIRST = """
document.querySelector('.failures details').open = true
for (const each of document.querySelectorAll('.failures details pre')) each.style.maxHeight = '7rem'
let first = [...document.querySelectorAll('h2')].at(-1)
while (first.previousElementSibling) first.previousElementSibling.remove()
"""


def browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def take(folder: Path, target: Path) -> bool:
    """Writes the picture of folder/report.html; False where there is no Chromium."""
    from PIL import Image

    program = browser()
    if program is None:
        return False
    html = (folder / "report.html").read_text(encoding="utf-8")
    pages = {TOP: html, FAILURES: html.replace("</body>", f"<script>{OPEN_FIRST}</script></body>")}
    with tempfile.TemporaryDirectory() as work:
        shots = [Image.open(shot(program, Path(work), page, height)) for height, page in pages.items()]
        whole = Image.new("RGB", (WIDTH, TOP + FAILURES), "white")
        for image, above in zip(shots, (0, TOP), strict=True):
            whole.paste(image, (0, above))
    whole.quantize(64).save(target, optimize=True)  # text on white: 64 colours are enough
    return True


def shot(program: str, work: Path, html: str, height: int) -> Path:
    page, picture = work / f"{height}.html", work / f"{height}.png"
    page.write_text(html, encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking")
    named = (f"--window-size={WIDTH},{height}", f"--user-data-dir={work / 'profile'}", f"--screenshot={picture}")
    subprocess.run([program, *options, *named, page.as_uri()], capture_output=True, check=True, timeout=120)
    return picture


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="--out of the run")
    parser.add_argument("--to", type=Path, default=TARGET, metavar="FILE")
    options = parser.parse_args()
    if not take(options.folder, options.to):
        print(f"there is no {', '.join(BROWSERS)} here", file=sys.stderr)
        return 1
    print(f"{options.to}: {options.to.stat().st_size / 1000:,.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
