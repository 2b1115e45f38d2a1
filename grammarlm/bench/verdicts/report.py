"""The report of verdicts: counts of outcomes, times and their ratios, for all cases or group by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from grammarlm.bench.comparison import Comparison
from grammarlm.bench.markdown import Table, plain

from . import tables
from .figures import Figures, Ratios
from .record import Verdicts


def tell(
    comparison: Comparison, found: dict[str, list[Verdicts]], groups: Mapping[str, list[str]] | None = None
) -> str:
    """`groups`: named subsets of the cases, each with its own tables; default: all together."""
    own = next(run.engine for run in comparison.runs if run.name in found)
    peers = [run.name for run in comparison.runs if run.engine != own and run.name in found]
    every = list({record.case for records in found.values() for record in records})
    parts: list[str | Table] = []
    figures: dict[str, dict[str, Figures]] = {}
    for title, names in (groups or {"all": every}).items():
        wanted = set(names)
        chosen = {run: [record for record in records if record.case in wanted] for run, records in found.items()}
        figures[title] = {name: Figures.of(records) for name, records in chosen.items()}
        parts += [f"## {title}"] * bool(groups)
        parts += section_of(chosen, figures[title], peers)
    (comparison.folder / "slowest.md").write_text(plain(tables.slowest(found)) + "\n", encoding="utf-8")
    kept = {title: {name: asdict(f) for name, f in each.items()} for title, each in figures.items()}
    return comparison.write(parts, kept, found)


def section_of(found: dict[str, list[Verdicts]], figures: dict[str, Figures], peers: list[str]) -> list[Table]:
    """The tables of one group of cases; ratios are those of the first run to other engines'."""
    parts = [tables.coverage(figures), tables.speed(figures)]
    if peers:
        first = next(iter(found))
        pairs = {f"{first} / {name}": Ratios.of(found[first], found[name]) for name in peers}
        parts.append(tables.ratios(pairs))
    return parts
