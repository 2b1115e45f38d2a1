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
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.report import machine, table, versions

FOLDER = Path(__file__).parent.parent / "benchmarks" / "results" / "proof"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Sends what a test took along with its report. (This module is a plug-in of its workers, too: see `main`.)"""
    began = time.process_time()
    try:
        yield
    finally:
        item.user_properties.append(("CPU time", f"{time.process_time() - began:.1f} s"))
        item.user_properties.append(("memory", memory()))


class Collector:
    """A pytest plug-in that keeps each test's outcome, CPU time, memory and counts."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.collected = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            said = dict(report.user_properties)
            used, held = (str(said.pop(name, "-")) for name in ("CPU time", "memory"))
            counts = ", ".join(
                f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}" for name, value in said.items()
            )
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
    options = ["-m", "proof", "-p", "no:cacheprovider", "-p", "tests.proof", *arguments]
    ended = ""
    try:
        status = int(pytest.main(options, plugins=[collector]))
    except Exception as error:  # behind the last test: what was proved is written down nevertheless
        status, ended = 1, f"pytest ended in {type(error).__name__}: {error}\n\n"
    facts = f"{datetime.date.today().isoformat()}, {machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items())
    text = f"# Laws proved with their full counts\n\n{facts}. Commit {commit}. Command: `{_command()}`\n\n"
    if len(collector.rows) < collector.collected:
        text += f"Not come to run: {collector.collected - len(collector.rows)} of {collector.collected} tests\n\n"
    text += ended + table(["test", "outcome", "CPU time", "memory", "counts"], sorted(collector.rows)) + "\n"
    if name is not None:  # a part of the laws without a name is no proof to keep
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text)
    return status


def _command() -> str:
    return " ".join(["python -m tests.proof", *sys.argv[1:]]) if len(sys.argv) > 1 else "make proof"


if __name__ == "__main__":
    sys.exit(main())
