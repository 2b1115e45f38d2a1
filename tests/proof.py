"""The laws with their full counts: runs every test marked `proof` and writes what was proved to benchmarks/results/proof/.

usage: python -m tests.proof [pytest arguments]      (make proof)

A test that calls record_property("cases", n) has its count in the table.
"""

import datetime
import sys
from pathlib import Path

import pytest

from benchmarks.report import machine, table, versions

FOLDER = Path(__file__).parent.parent / "benchmarks" / "results" / "proof"


class Collector:
    """A pytest plug-in that keeps each test's outcome, time and counts."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            counts = ", ".join(
                f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}"
                for name, value in report.user_properties
            )
            self.rows.append([report.nodeid.removeprefix("tests/"), report.outcome, f"{report.duration:.1f} s", counts])


def main() -> int:
    collector = Collector()
    status = pytest.main(["-m", "proof", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[collector])
    facts = f"{datetime.date.today().isoformat()}, {machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items())
    text = f"# Laws proved with their full counts\n\n{facts}. Command: `make proof`\n\n"
    text += table(["test", "outcome", "time", "counts"], sorted(collector.rows)) + "\n"
    if len(sys.argv) == 1:  # a part of the laws is no proof to keep
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "laws.md").write_text(text)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
