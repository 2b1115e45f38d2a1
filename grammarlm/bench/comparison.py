"""Runs several engines over the same cases, and reports the results: on the terminal, as Markdown, JSON and a plot."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from . import tables
from .cases import Case
from .driver import Results, Run
from .engines import RUNS, package_of
from .figures import Figures, Ratios
from .record import Record


@dataclass(frozen=True)
class Comparison:
    """What is measured, and the output folder."""

    title: str
    runs: list[Run]
    folder: Path
    resume: bool = False
    about: dict[str, Any] = field(default_factory=dict)  # identifies the run, for --resume
    notes: tuple[str, ...] = ()

    def measure(self, cases: list[Case], console: Console) -> dict[str, list[Record]]:
        """The records of each run."""
        found: dict[str, list[Record]] = {}
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        tail = (TextColumn("{task.fields[said]}"), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, *tail, console=console, disable=not console.is_terminal) as progress:
            for run in self.runs:
                results = Results(self.folder / f"{slug(run.name)}.jsonl", self._about(run), self.resume)
                known = len(results.records)
                task = progress.add_task(run.name, total=len(cases), completed=known, said="")
                passing = sum("passing" in record.outcomes() for record in results.records.values())

                def tell(record: Record, task: Any = task) -> None:
                    nonlocal passing
                    passing += "passing" in record.outcomes()
                    progress.update(task, advance=1, said=f"{passing:,} passing")

                found[run.name] = results.complete(run, cases, tell)
        return found

    def _about(self, run: Run) -> dict[str, Any]:
        package, number = package_of(run.engine)
        return {**asdict(run), **self.about, "package": package, "version": number}

    def tell(self, found: dict[str, list[Record]], groups: dict[str, list[str]] | None = None) -> str:
        """The report in Markdown: tables, and what was measured where and how; also written next to the records, with the plot.

        `groups`: named subsets of the cases, each with its own tables; default: all together.
        """
        parts = [f"# {self.title}", self._facts()]
        peers = [run.name for run in self.runs if run.engine != self.runs[0].engine]
        figures: dict[str, dict[str, Figures]] = {}
        for title, names in (groups or {"all": list({r.case for records in found.values() for r in records})}).items():
            wanted = set(names)
            chosen = {run: [record for record in records if record.case in wanted] for run, records in found.items()}
            figures[title] = {name: Figures.of(records) for name, records in chosen.items()}
            parts += [f"## {title}"] * bool(groups) + section_of(chosen, figures[title], peers)
        kept = {title: {name: asdict(f) for name, f in each.items()} for title, each in figures.items()}
        (self.folder / "figures.json").write_text(json.dumps(kept, indent=1) + "\n")
        parts.append("\n".join(f"- {note}" for note in self.notes))
        picture = self._picture(found)
        text = (
            "\n\n".join(
                [*parts, "Schema by schema: failing.md, slowest.md and the .jsonl files beside this report.", picture]
            )
            + "\n"
        )
        (self.folder / "report.md").write_text(text, encoding="utf-8")
        rows = tables.failing(found)
        (self.folder / "failing.md").write_text(tables.plain(rows) + "\n", encoding="utf-8")
        (self.folder / "slowest.md").write_text(tables.plain(tables.slowest(found)) + "\n", encoding="utf-8")
        return text

    def _facts(self) -> str:
        packages = dict(package_of(run.engine) for run in self.runs)
        run = self.runs[0]
        versions = ", ".join(f"{name} {number}" for name, number in packages.items())
        limits = (
            f"{run.limit:g} s a schema, {tables.size(run.memory)} of memory beyond what the engine has when it is ready"
        )
        facts = f"{datetime.date.today().isoformat()}, {machine()}; {versions}. Tokenizer: {Path(run.tokenizer).name}"
        return f"{facts}; limits: {limits}; one thread."

    def _picture(self, found: dict[str, list[Record]]) -> str:
        try:
            from .pictures import draw

            draw(self.folder / "report.png", found, self.title)
        except ImportError:
            return "No picture: matplotlib is missing (pip install 'grammarlm[bench]')."
        return "![mask times and outcomes](report.png)"


def section_of(found: dict[str, list[Record]], figures: dict[str, Figures], peers: list[str]) -> list[str]:
    """The tables of one group of cases; ratios are those of the first run to other engines'."""
    parts = [tables.markdown(tables.coverage(figures)), tables.markdown(tables.speed(figures))]
    if peers:
        first = next(iter(found))
        pairs = {f"{first} / {name}": Ratios.of(found[first], found[name]) for name in peers}
        parts.append(tables.markdown(tables.ratios(pairs)))
    return parts


def runs_of(
    engines: list[str], tokenizer: str, limit: float, options: dict[str, dict[str, Any]] | None = None
) -> list[Run]:
    """The runs that the engines' names stand for; ValueError where a name is unknown or its package is missing."""
    runs = []
    for name in engines:
        if name not in RUNS:
            raise ValueError(f"--engines {name}: there is no such engine; there are {', '.join(RUNS)}")
        for title, engine, settings in RUNS[name]:
            try:
                package_of(engine)
            except PackageNotFoundError as error:
                raise ValueError(
                    f"--engines {name}: {error.name} is not installed: pip install 'grammarlm[bench]'"
                ) from None
            runs.append(Run(title, engine, {**settings, **(options or {}).get(engine, {})}, tokenizer, limit))
    return runs


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
