"""Runs several engines over the same cases, and writes what was found: on the terminal, as Markdown and JSON."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .cases import Case
from .driver import EngineDidNotStart, Finish, Results, Run
from .engines import RUNS, engine_class, package_of
from .markdown import Table, cell, markdown, plain, size
from .record import Record
from .tasks import record_class


@dataclass
class Comparison:
    """What is measured, and the output folder."""

    title: str
    runs: list[Run]
    folder: Path
    resume: bool = False
    jobs: int = 1
    about: dict[str, Any] = field(default_factory=dict)  # identifies the run, for --resume
    notes: tuple[str, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)  # engines that could not be run, and why
    limit: str = ""  # of time, in words

    def measure(
        self,
        cases: list[Case],
        console: Console,
        finisher: Callable[[], AbstractContextManager[Finish]] | None = None,
    ) -> dict[str, list[Any]]:
        """The records of each run, of its task's class. A run whose engine does not start becomes one of the absent."""
        found: dict[str, list[Any]] = {}
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        tail = (TextColumn("{task.fields[said]}"), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, *tail, console=console, disable=not console.is_terminal) as progress:
            for run in self.runs:
                path = self.folder / f"{slug(run.name)}.jsonl"
                results = Results(path, self._about(run), self.resume, record_class(run.task))
                known = len(results.records)
                task = progress.add_task(run.name, total=len(cases), completed=known, said="")
                passing = sum("passing" in record.outcomes() for record in results.records.values())

                def tell(record: Record, task: Any = task) -> None:
                    nonlocal passing
                    passing += "passing" in record.outcomes()
                    progress.update(task, advance=1, said=f"{passing:,} passing")

                try:
                    found[run.name] = results.complete(run, cases, tell, self.jobs, finisher)
                except EngineDidNotStart as error:
                    self.absent[run.name] = str(error)
        if not found:
            raise ValueError("; ".join(self.absent.values()))
        return found

    def _about(self, run: Run) -> dict[str, Any]:
        package, number = package_of(run.engine)
        return {**asdict(run), **self.about, "package": package, "version": number}

    def facts(self) -> str:
        """When, where and with which versions and limits."""
        packages = dict(package_of(run.engine) for run in self.runs)
        run = self.runs[0]
        versions = ", ".join(f"{name} {number}" for name, number in packages.items())
        time = self.limit or f"{run.limit:g} s a schema"
        limits = f"{time}, {size(run.memory)} of memory beyond what the engine has when it is ready"
        facts = f"{datetime.date.today().isoformat()}, {machine()}; {versions}. Tokenizer: {Path(run.tokenizer).name}"
        shared = "one thread" if self.jobs == 1 else f"{self.jobs} schemas at a time, so that times include waiting"
        return f"{facts}; limits: {limits}; {shared}."

    def write(self, parts: Sequence[str | Table], figures: Any, found: Mapping[str, Sequence[Record]]) -> str:
        """The report in Markdown, written beside the records: what was measured, where and how, then `parts`: headings, tables."""
        notes = [*(f"{name}: not measured: {why}" for name, why in self.absent.items()), *self.notes]
        listed = "\n".join(f"- {note}" for note in notes)
        others = "Schema by schema: failing.md and the .jsonl files beside this report."
        written = [part if isinstance(part, str) else markdown(part) for part in parts]
        text = "\n\n".join([f"# {self.title}", self.facts(), *written, listed, others]) + "\n"
        (self.folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
        (self.folder / "report.md").write_text(text, encoding="utf-8")
        (self.folder / "failing.md").write_text(plain(failing(found)) + "\n", encoding="utf-8")
        return text


def failing(found: Mapping[str, Sequence[Record]]) -> Table:
    """The cases that do not pass, what is wrong and where; the worst outcomes first."""
    rows = [
        (place, record.OUTCOMES.index(record.worst()), record.case, name, record)
        for place, (name, records) in enumerate(found.items())
        for record in records
        if "passing" not in record.outcomes()
    ]
    rows.sort(key=lambda row: row[:3])
    return ["engine", "schema", "what is wrong"], [
        [name, cell(record.case), cell(record.wrong())] for *_, name, record in rows
    ]


def runs_of(
    engines: list[str],
    tokenizer: str,
    limit: float,
    options: dict[str, dict[str, Any]] | None = None,
    catalogue: Mapping[str, list[tuple[str, str, dict[str, Any]]]] = RUNS,
    **settings: Any,
) -> tuple[list[Run], dict[str, str]]:
    """The runs that the engines' names stand for, and why the others are absent: their packages are missing."""
    runs, absent = [], {}
    for name in engines:
        if name not in catalogue and ":" not in name:
            raise ValueError(f"--engines {name}: there is no such engine; there are {', '.join(catalogue)}")
        for title, engine, own in catalogue.get(name) or [(title_of(name), name, {})]:
            try:
                package_of(engine)
            except PackageNotFoundError as error:
                wanted = getattr(engine_class(engine), "installation", "'grammarlm[bench]'")
                absent[title] = f"{error.name} is not installed: pip install {wanted}"
                continue
            given = {**own, **(options or {}).get(engine, {})}
            runs.append(Run(title, engine, given, tokenizer, limit, **settings))
    if not runs:
        raise ValueError("; ".join(f"--engines {name}: {why}" for name, why in absent.items()))
    return runs, absent


def title_of(engine: str) -> str:
    """The row of an engine that is given as module:Class."""
    return str(getattr(engine_class(engine), "title", engine.rpartition(":")[2]))


def machine() -> str:
    """The processor, its number of cores, and the Python version."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        name = lines[0] if lines else name
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def slug(name: str) -> str:
    """A run's name as a file name."""
    return "-".join("".join(char if char.isalnum() else " " for char in name).split())
