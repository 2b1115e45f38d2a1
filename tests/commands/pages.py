"""The report of a benchmark with texts that would break its page, and a real browser that shows pages."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import report_page
from grammarlm.bench.cases import Case
from grammarlm.bench.generation.record import Generated, Output
from grammarlm.bench.page import page

BROWSER = report_page.browser()
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
HEADLESS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
)
NASTY = '</td></pre><script>document.title = "broken in"</script>&amp;'


def report() -> str:
    records = [
        Generated(
            "Snowplow---a", compile_time=1.0, outputs=[Output(NASTY, 3, "stop", 1.0, 1.0, f"invalid at $: {NASTY}")]
        ),
        Generated("Snowplow---b", refused=f"no {NASTY}"),
        Generated("Snowplow---c", compile_time=1.0, outputs=[Output("1", 1, "stop", 1.0, 1.0, "valid")]),
    ]
    cases = {record.case: Case(record.case, content={"schema": {"title": NASTY}}) for record in records}
    table = (["engine", "schemas"], [["one", "9"], ["two", "1,234 (50.00%)"], ["three", "-"], ["four", "12 (1.20%)"]])
    return page(
        "A run", "Facts.", ["## All schemas", table], [NASTY], {"one": records, "two": records[1:2]}, cases, None
    )


def shown(folder: Path, html: str, script: str = "") -> str:
    """The document after it has run."""
    file = folder / "page.html"
    file.write_text(html.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [str(BROWSER), *HEADLESS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
