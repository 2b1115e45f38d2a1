"""Every page that we write fits a screen of 420 pixels: only tables are wider, and these scroll by themselves."""

import html
import re

import pytest

from tests.commands.command_line import call
from tests.commands.pages import needs_browser, shown

pytest.importorskip("transformers")

LONG = "x" * 90
SCHEMA = f'{{"type": "object", "properties": {{"{LONG}": {{"enum": ["a", "b"]}}}}, "required": ["{LONG}"]}}'
PHONE = 420  # pixels; a window of Chromium is no narrower than 500, a frame in it is
FRAME = """<!DOCTYPE html><html><body><iframe width="{width}" style="border: 0" srcdoc="{page}"
 onload="document.title = 'width ' + this.contentDocument.documentElement.scrollWidth"></iframe></body></html>"""


@pytest.fixture(params=["generate", "infill"])
def page(request, capsys, tmp_path) -> str:
    out = tmp_path / "out.html"
    given = {
        "generate": ("--prompt", LONG, "--schema", SCHEMA, "--max-tokens", "200"),
        "infill": ("--pieces", f'["{LONG}", 2]', "--regex", "x+[ab]{2}"),
    }[request.param]
    assert call(capsys, request.param, "--model", "tiny", *given, "--report", str(out))[0] == 0
    return out.read_text(encoding="utf-8")


def test_what_is_wide_scrolls(page) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert page.count("<table") == page.count('<div class="scroll"><table')
    style = re.sub(r"\btable \{[^}]*\}", "", page.partition("<style>")[2].partition("</style>")[0])
    for width, unit in re.findall(r"(?<!max-)width: ([0-9.]+)(rem|px)", style):
        assert float(width) * {"rem": 16, "px": 1}[unit] <= PHONE - 2 * 16


@needs_browser
def test_no_page_is_wider_than_a_phone(page, tmp_path) -> None:
    framed = FRAME.format(width=PHONE, page=html.escape(page))
    found = re.search(r"<title>width (\d+)</title>", shown(tmp_path, framed))
    assert found
    assert int(found[1]) <= PHONE
