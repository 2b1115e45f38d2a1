"""The laws with their full counts: runs every test marked `proof` and writes what was proved to benchmarks/results/proof/.

usage: python -m tests.proof [pytest arguments]              (make proof)
       python -m tests.proof NAME.md [pytest arguments]      a part of the laws, with a table of its own

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
    arguments = sys.argv[1:]
    name = arguments.pop(0) if arguments and arguments[0].endswith(".md") else None if arguments else "laws.md"
    status = pytest.main(["-m", "proof", "-p", "no:cacheprovider", *arguments], plugins=[collector])
    facts = f"{datetime.date.today().isoformat()}, {machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items())
    text = f"# Laws proved with their full counts\n\n{facts}. Command: `{_command()}`\n\n"
    text += table(["test", "outcome", "time", "counts"], sorted(collector.rows)) + "\n"
    if name is not None:  # a part of the laws without a name is no proof to keep
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text)
    return int(status)


def _command() -> str:
    return " ".join(["python -m tests.proof", *sys.argv[1:]]) if len(sys.argv) > 1 else "make proof"


if __name__ == "__main__":
    sys.exit(main())
