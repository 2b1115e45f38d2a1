"""The report of generated texts: coverage and compliance in all and by data set, times, and what a scripted model shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grammarlm.bench.cases import DATA_SETS
from grammarlm.bench.comparison import Comparison
from grammarlm.bench.markdown import Table, digits, share

from .figures import Figures, Median, ratio
from .record import Generated

UNCONSTRAINED = "none"


def tell(comparison: Comparison, found: Mapping[str, list[Generated]]) -> str:
    figures = {name: Figures.of(records) for name, records in found.items()}
    by_set = {
        data_set: {name: Figures.of(chosen) for name, records in found.items() if (chosen := of_set(records, data_set))}
        for data_set in DATA_SETS
    }
    by_set = {name: rows for name, rows in by_set.items() if rows}
    parts: list[str | Table] = ["## All schemas", coverage(figures), faults(figures)]
    if any(f.valid_instances or f.invalid_instances for f in figures.values()):
        parts += ["## Labelled instances of the declared schemas", instances(figures)]
    parts += ["## Times", times(figures)]
    parts += ["## By data set", data_sets(by_set)]
    kept: dict[str, Any] = {"all": {name: f.as_json() for name, f in figures.items()}}
    kept |= {data_set: {name: f.as_json() for name, f in rows.items()} for data_set, rows in by_set.items()}
    return comparison.write(parts, kept, found)


def of_set(records: Sequence[Generated], data_set: str) -> list[Generated]:
    return [record for record in records if record.case.startswith(f"{data_set}---")]


def coverage(rows: Mapping[str, Figures]) -> Table:
    header = [
        "",
        "schemas",
        "declared",
        "empirical",
        "compliance",
        "by the reference",
        "finished",
        "valid, of the finished",
    ]
    return header, [
        [
            name,
            f"{f.schemas:,}",
            share(f.declared, f.schemas),
            share(f.empirical, f.schemas),
            share(f.empirical, f.declared),
            share(f.by_reference, f.schemas),
            share(f.finished, f.schemas),
            share(f.empirical, f.finished),
        ]
        for name, f in rows.items()
    ]


def faults(rows: Mapping[str, Figures]) -> Table:
    """How many schemas have each outcome that is none to wish for."""
    names = [name for name in reversed(Generated.OUTCOMES) if name != "passing"]
    return ["schemas", *names], [[name, *(f"{f.counts[each]:,}" for each in names)] for name, f in rows.items()]


def instances(rows: Mapping[str, Figures]) -> Table:
    header = ["", "valid", "reproduced", "exact", "over-constrained", "fields", "invalid", "under-constrained"]
    return header, [
        [
            name,
            f"{f.valid_instances:,}",
            share(f.reproduced, f.valid_instances),
            share(f.exact, f.valid_instances),
            f"{f.valid_instances - f.reproduced:,}",
            f"{f.fields:.2%}",
            f"{f.invalid_instances:,}",
            f"{f.let_through:,}",
        ]
        for name, f in rows.items()
    ]


def times(rows: Mapping[str, Figures]) -> Table:
    header = ["median (95 %), p99", "compile, ms", "first token, ms", "per output token, us", "total, ms"]
    plain = rows.get(UNCONSTRAINED)
    if plain:
        header.append("per token over none")
    lines = []
    for name, f in rows.items():
        cells = [
            interval(f.compile_time, 1e3),
            interval(f.first_token, 1e3),
            interval(f.later_token),
            interval(f.total, 1e3),
        ]
        if plain:
            count, value = ratio(f, plain)
            cells.append(f"{digits(value)} ({count:,})")
        lines.append([name, *cells])
    return header, lines


def interval(median: Median, unit: float = 1.0) -> str:
    if not median.count:
        return "-"
    value, low, high, p99 = (digits(each / unit) for each in (median.value, median.low, median.high, median.p99))
    return f"{value} ({low}-{high}), {p99}"


def data_sets(by_set: Mapping[str, Mapping[str, Figures]]) -> Table:
    header = ["data set", "", "schemas", "published", "declared", "empirical", "compliance", "per output token, us"]
    return header, [
        [
            data_set,
            name,
            f"{f.schemas:,}",
            f"{DATA_SETS[data_set]:,}",
            share(f.declared, f.schemas),
            share(f.empirical, f.schemas),
            share(f.empirical, f.declared),
            digits(f.later_token.value),
        ]
        for data_set, rows in by_set.items()
        for name, f in rows.items()
    ]
