"""The laws with their full counts: runs every test marked `proof` and writes what was proved to benchmarks/results/proof/.

usage: python -m tests.proof [pytest arguments]              (make proof)
       python -m tests.proof NAME.md [pytest arguments]      a part of the laws, with a table of its own

A test that calls record_property("cases", n) has its count in the table. The time is CPU time, memory is what the process holds
behind the test: where that grows and grows, an engine or an oracle keeps what it should drop.
"""

import datetime
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.report import machine, table, versions

FOLDER = Path(__file__).parent.parent / "benchmarks" / "results" / "proof"


class Collector:
    """A pytest plug-in that keeps each test's outcome, CPU time, memory and counts."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.collected = 0
        self._began = 0.0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = len(session.items)

    def pytest_runtest_logstart(self) -> None:
        self._began = time.process_time()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            counts = ", ".join(
                f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}"
                for name, value in report.user_properties
            )
            used, held = f"{time.process_time() - self._began:.1f} s", memory()
            if hasattr(report, "worker_id"):  # it ran in a worker (-n), of which this process knows neither
                used, held = "-", "-"
            self.rows.append([report.nodeid.removeprefix("tests/"), report.outcome, used, held, counts])


def memory() -> str:
    """What the process holds, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return "-"
    return f"{pages * 4 // 1024:,} MB"


def state() -> str:
    """The commit that is checked out."""
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main() -> int:
    collector, commit = Collector(), state()
    arguments = sys.argv[1:]
    name = arguments.pop(0) if arguments and arguments[0].endswith(".md") else None if arguments else "laws.md"
    status = pytest.main(["-m", "proof", "-p", "no:cacheprovider", *arguments], plugins=[collector])
    facts = f"{datetime.date.today().isoformat()}, {machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items())
    text = f"# Laws proved with their full counts\n\n{facts}. Commit {commit}. Command: `{_command()}`\n\n"
    if len(collector.rows) < collector.collected:
        text += f"Not come to run: {collector.collected - len(collector.rows)} of {collector.collected} tests\n\n"
    text += table(["test", "outcome", "CPU time", "memory", "counts"], sorted(collector.rows)) + "\n"
    if name is not None:  # a part of the laws without a name is no proof to keep
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text)
    return int(status)


def _command() -> str:
    return " ".join(["python -m tests.proof", *sys.argv[1:]]) if len(sys.argv) > 1 else "make proof"


if __name__ == "__main__":
    sys.exit(main())
