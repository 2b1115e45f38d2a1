"""The laws with their full counts: runs every test marked `proof` and writes the results to benchmarks/results/proof.md.

usage: python -m tests.proof [pytest options]       all of them (make proof: on two workers, two hours and more)
       python -m tests.proof tests/laws ...         some of them, without a table
       python -m tests.proof --table NAME tests/laws ...  some of them, with benchmarks/results/proof-NAME.md
       python -m tests.proof --go-on    what has not passed at whichever commit the table names

The table is written after each test, so a run that is cut off leaves one that says how many are missing; the next run over the
same sources (package and tests, as committed) keeps what has passed and runs the rest. With --go-on it keeps what passed at other
commits, too: each row names its own, so a table of several commits says so. A test that calls record_property("cases", n) has its
count in it. The time is CPU time, memory is what the process holds after the test: where that
grows and grows, an engine or an oracle keeps what it should drop.
"""

import datetime
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.report import machine, table, versions

TABLE = Path(__file__).parent.parent / "benchmarks" / "results" / "proof.md"
PASSED = "GRAMMARLM_PROVED"  # names a file of tests that passed in an earlier run, for the workers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what an earlier run has proved."""
    if name := os.environ.get(PASSED):
        passed = set(Path(name).read_text().splitlines())
        items[:] = [item for item in items if item.nodeid.removeprefix("tests/") not in passed]


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
    """A pytest plug-in that keeps each test's outcome, CPU time, memory and counts in a table."""

    def __init__(self, path: Path | None, command: str = "make proof", going_on: bool = False) -> None:
        self.command = command
        self.path, self.began, self.commit, self.sources = path, time.time(), state(), sources()
        self.rows, self.minutes = earlier(path, self.sources, going_on) if path else ([], 0)
        self.kept = len(self.rows)
        if any(row[-2] != self.commit for row in self.rows):
            self.sources = "several commits: each row names its own"
        self.collected = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = max(self.collected, self.kept + len(getattr(session, "items", ())))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        self.collected = self.kept + len(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            said = dict(report.user_properties)
            used, held = (str(said.pop(name, "-")) for name in ("CPU time", "memory"))
            counts = ", ".join(
                f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}" for name, value in said.items()
            )
            self.rows.append([report.nodeid.removeprefix("tests/"), report.outcome, used, held, self.commit, counts])
            self.write()

    def write(self, ended: str = "") -> None:
        if self.path is None or not self.rows:
            return
        facts = f"{datetime.date.today().isoformat()}, {machine()}; " + ", ".join(
            f"{k} {v}" for k, v in versions().items()
        )
        passed = sum(row[1] == "passed" for row in self.rows)
        minutes = self.minutes + (time.time() - self.began) / 60
        text = f"# Laws proved with their full counts\n\n{facts}. Commit {self.commit}. Command: `{self.command}`\n\n"
        text += (
            f"Sources: {self.sources}\n\n{passed} of {self.collected} tests passed in {minutes:.0f} minutes.{ended}\n\n"
        )
        if len(self.rows) < self.collected:
            text += f"Not come to run: {self.collected - len(self.rows)}\n\n"
        self.path.write_text(
            text + table(["test", "outcome", "CPU time", "memory", "commit", "counts"], sorted(self.rows)) + "\n"
        )


def memory() -> str:
    """What the process holds, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return "-"
    return f"{pages * 4 // 1024:,} MB"


def sources() -> str:
    """Git's names of the package and the tests as committed; empty where files differ from them."""
    if git("status", "--porcelain", "grammarlm", "tests"):
        return ""
    return " ".join(f"{folder} {git('rev-parse', '--short=12', 'HEAD:' + folder)}" for folder in ("grammarlm", "tests"))


def earlier(path: Path, sources: str, going_on: bool = False) -> tuple[list[list[str]], int]:
    """The rows that passed in an earlier run over the same sources (going on: over any), and its minutes."""
    text = path.read_text() if path.exists() else ""
    minutes = re.search(r"passed in (\d+) minutes", text)
    if not minutes or not (going_on or (sources and f"Sources: {sources}\n" in text)):
        return [], 0
    rows = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ") and " | passed | " in line]
    return [[" | ".join(row[:-5]), *row[-5:]] for row in rows], int(minutes[1])


def state() -> str:
    """The commit that is checked out, and whether its sources were changed since."""
    return (git("describe", "--always") or "unknown") + ("" if sources() else "-dirty")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()


def main() -> int:
    arguments, command = sys.argv[1:], "make proof"
    path: Path | None = TABLE
    if arguments[:1] == ["--table"]:
        command, path = "python -m tests.proof " + " ".join(arguments), TABLE.with_name(f"proof-{arguments[1]}.md")
        arguments = arguments[2:]
    elif any(Path(argument.split("::")[0]).exists() for argument in arguments):
        path = None
    going_on = "--go-on" in arguments
    if going_on:
        arguments.remove("--go-on")
        command += " --go-on"
    collector = Collector(path, command, going_on)
    options = ["-m", "proof", "-p", "no:cacheprovider", "-p", "tests.proof", *arguments]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as passed:
        passed.writelines(row[0] + "\n" for row in collector.rows)
        passed.flush()
        os.environ[PASSED] = passed.name
        try:
            status, ended = int(pytest.main(options, plugins=[collector])), ""
        except Exception as error:  # after the last test: what was proved is written down nevertheless
            status, ended = 1, f" pytest ended in {type(error).__name__}: {error}"
    collector.write(ended)
    return status


if __name__ == "__main__":
    sys.exit(main())
