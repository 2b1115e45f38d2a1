"""Figures as Markdown tables, which are readable on a terminal, too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from grammarlm.bench.markdown import Table, cell, digits, share, size

from .figures import QUANTILES, Figures, Ratios, Times
from .record import Verdicts

SLOWEST = 20  # cases of each engine


def coverage(rows: dict[str, Figures]) -> Table:
    """One column for each engine: counts, and their shares of the whole."""
    names = list(rows)
    lines = [["schemas", *(f"{f.cases:,}" for f in rows.values())]]
    lines += [[name, *(share(f.counts[name], f.cases) for f in rows.values())] for name in reversed(Verdicts.OUTCOMES)]
    lines.append(["schemas with tests", *(f"{f.with_tests:,}" for f in rows.values())])
    lines.append(["passing, of those with tests", *(share(f.passing_with_tests, f.with_tests) for f in rows.values())])
    lines.append(["refused as unsatisfiable, rightly", *(f"{f.unsatisfiable:,}" for f in rows.values())])
    lines.append(["median compiled schema", *(size(f.median_bytes) for f in rows.values())])
    lines.append(["peak of the process", *(size(f.peak_bytes or None) for f in rows.values())])
    return ["", *names], lines


def speed(rows: dict[str, Figures]) -> Table:
    """Both times of each engine, over all schemas that it compiled."""
    header = ["us", "count", "avg", *QUANTILES]
    lines = []
    for name, f in rows.items():
        lines.append([f"{name}: compile + first mask", *_times(f.first_mask)])
        lines.append([f"{name}: mask + advance", *_times(f.masks)])
    return header, lines


def ratios(rows: dict[str, Ratios]) -> Table:
    """Ours over a peer's; below 1 is faster."""
    header = ["ratio", "common schemas", "avg", *QUANTILES]
    lines = []
    for name, r in rows.items():
        lines.append([f"{name}: compile + first mask", f"{r.cases:,}", *map(digits, r.first_mask.values())])
        lines.append([f"{name}: mask + advance", f"{r.cases:,}", *map(digits, r.masks.values())])
    return header, lines


def slowest(rows: Mapping[str, Sequence[Verdicts]]) -> Table:
    """The cases with the slowest masks of each engine, then those with the slowest first mask."""
    lines = []
    for name, records in rows.items():
        by_mask = sorted((r for r in records if r.masks), key=lambda r: -max(r.masks))[:SLOWEST]
        by_first = sorted((r for r in records if r.first_mask), key=lambda r: -(r.first_mask or 0))[:SLOWEST]
        for record in dict.fromkeys(r.case for r in [*by_mask, *by_first]):
            found = next(r for r in records if r.case == record)
            times = Times.of(found.masks)
            numbers = (found.first_mask or math.nan, times.quantiles["max"], times.quantiles["p50"])
            lines.append([name, cell(found.case), *map(digits, numbers), f"{times.count:,}"])
    return ["engine", "schema", "first mask, us", "slowest mask, us", "median, us", "masks"], lines


def _times(times: Times) -> list[str]:
    return [f"{times.count:,}", digits(times.avg), *map(digits, times.quantiles.values())]
