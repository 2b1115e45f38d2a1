"""The proof goes on where a run over the same sources was cut off."""

from pathlib import Path

from tests.proof import Collector, earlier


def test_what_passed_over_the_same_sources_is_kept(tmp_path: Path):
    table = tmp_path / "proof.md"
    first = Collector(table)
    first.sources, first.collected, first.minutes = "grammarlm 1 tests 2", 3, 4
    kept = ["laws/test_a.py::test_b[x | y]", "passed", "1.0 s", "90 MB", "abc", "7 cases, 3 refused"]
    plain = ["laws/test_a.py::test_c", "passed", "1.0 s", "90 MB", "abc", ""]
    first.rows = [kept, plain, ["laws/test_a.py::test_d", "failed", "1.0 s", "90 MB", "abc", ""]]
    first.write()
    assert earlier(table, "grammarlm 1 tests 2") == ([kept, plain], 4)
    assert earlier(table, "grammarlm 1 tests 3") == ([], 0)
    assert earlier(table, "") == ([], 0)
    assert earlier(table, "grammarlm 1 tests 3", going_on=True) == ([kept, plain], 4)
    assert earlier(tmp_path / "none.md", "grammarlm 1 tests 2") == ([], 0)


def test_a_table_of_several_commits_says_so(tmp_path: Path):
    table = tmp_path / "proof.md"
    first = Collector(table)
    first.sources, first.rows = (
        "grammarlm 1 tests 2",
        [["laws/test_a.py::test_b", "passed", "1.0 s", "90 MB", "abc", ""]],
    )
    first.write()
    second = Collector(table, going_on=True)
    second.write()
    assert "Sources: several commits" in table.read_text()
    assert "| abc |" in table.read_text()
    assert Collector(table).rows == []
