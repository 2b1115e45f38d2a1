"""The proof goes on where a run over the same sources was cut off."""

from pathlib import Path

from tests.proof import Collector, earlier


def test_what_passed_over_the_same_sources_is_kept(tmp_path: Path):
    table = tmp_path / "proof.md"
    first = Collector(table)
    first.sources, first.collected, first.minutes = "grammarlm 1 tests 2", 3, 4
    kept = ["laws/test_a.py::test_b[x | y]", "passed", "1.0 s", "90 MB", "7 cases, 3 refused"]
    plain = ["laws/test_a.py::test_c", "passed", "1.0 s", "90 MB", ""]
    first.rows = [kept, plain, ["laws/test_a.py::test_d", "failed", "1.0 s", "90 MB", ""]]
    first.write()
    assert earlier(table, "grammarlm 1 tests 2") == ([kept, plain], 4)
    assert earlier(table, "grammarlm 1 tests 3") == ([], 0)
    assert earlier(table, "") == ([], 0)
    assert earlier(tmp_path / "none.md", "grammarlm 1 tests 2") == ([], 0)
