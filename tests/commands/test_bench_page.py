"""The report's page in a real browser: what it shows, that it sorts and filters, and that it fetches nothing."""

import re

import pytest

from benchmarks import report_page
from tests.commands.pages import NASTY, needs_browser, report, shown


def first_cells(html: str) -> list[str]:
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    return re.findall(r"<tr><td>(\w+)</td>", body)


def test_the_page_by_itself() -> None:
    html = report()
    assert NASTY not in html
    assert html.count("&lt;script&gt;document.title") >= 6
    assert not re.search(r"(src|href)=\"(?!data:)", html)
    assert '<td class="outcome">invalid</td>' in html
    assert html.count("<tr><td>one</td>") == 3  # in the table, and two failures


@needs_browser
def test_sorting_filtering_and_escaping_in_a_browser(tmp_path) -> None:
    html = report()
    plain = shown(tmp_path, html)
    assert first_cells(plain) == ["one", "two", "three", "four"]
    assert "<title>A run</title>" in plain  # no script of the data has run
    second = "document.querySelectorAll('th')[1]"
    assert first_cells(shown(tmp_path, html, f"{second}.click()")) == ["one", "four", "two", "three"]
    assert first_cells(shown(tmp_path, html, f"{second}.click();{second}.click()")) == ["two", "four", "one", "three"]
    typed = "const f = document.getElementById('filter'); f.value = 'REFUSED'; f.dispatchEvent(new Event('input'))"
    filtered = shown(tmp_path, html, typed)
    assert len(re.findall(r"<tr hidden", filtered)) == 1


@needs_browser
def test_a_picture_of_the_page(tmp_path) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "report.html").write_text(report(), encoding="utf-8")
    assert report_page.take(tmp_path, tmp_path / "page.png")
    picture = image.open(tmp_path / "page.png").convert("L")
    assert picture.size == (report_page.WIDTH, report_page.TOP + report_page.FAILURES)
    for top, bottom in ((0, report_page.TOP), (report_page.TOP, picture.size[1])):
        assert picture.crop((0, top, report_page.WIDTH, bottom)).getextrema()[0] < 100  # there is text in both parts
    assert (tmp_path / "page.png").stat().st_size < 300_000
