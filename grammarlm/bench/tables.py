"""Figures as Markdown tables, which are readable on a terminal, too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .figures import QUANTILES, Figures, Ratios, Times
from .record import OUTCOMES, Record

Table = tuple[list[str], list[list[str]]]  # header, rows
SLOWEST = 20  # cases of each engine


def coverage(rows: dict[str, Figures]) -> Table:
    """One column for each engine: counts, and their shares of the whole."""
    names = list(rows)
    lines = [["schemas", *(f"{f.cases:,}" for f in rows.values())]]
    lines += [[name, *(share(f.counts[name], f.cases) for f in rows.values())] for name in reversed(OUTCOMES)]
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


def failing(rows: Mapping[str, Sequence[Record]]) -> Table:
    """The cases that do not pass, what is wrong and where; the worst outcomes first."""
    found = [
        (min(OUTCOMES.index(each) for each in record.outcomes()), name, record)
        for name, records in rows.items()
        for record in records
        if "passing" not in record.outcomes()
    ]
    found.sort(key=lambda row: (list(rows).index(row[1]), row[0], row[2].case))
    return ["engine", "schema", "what is wrong"], [
        [name, cell(record.case), cell(wrong(record))] for _, name, record in found
    ]


def slowest(rows: Mapping[str, Sequence[Record]]) -> Table:
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


def wrong(record: Record) -> str:
    words = [f"crash: {record.crash}"] if record.crash is not None else []
    words += ["timeout"] if record.timeout else []
    words += [f"wrongly accepts {numbers(record.wrongly_accepts)}"] if record.wrongly_accepts else []
    words += [f"wrongly rejects {numbers(record.wrongly_rejects)}"] if record.wrongly_rejects else []
    words += [f"refused: {record.refused}"] if record.refused is not None else []
    return "; ".join(words)


def numbers(tests: list[int]) -> str:
    return f"test {tests[0]}" if len(tests) == 1 else f"tests {', '.join(map(str, tests))}"


def markdown(table: Table) -> str:
    """A Markdown table with padded columns."""
    header, rows = table
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(row: list[str]) -> str:
        cells = [each.ljust(widths[0]) if not column else each.rjust(widths[column]) for column, each in enumerate(row)]
        return f"| {' | '.join(cells)} |"

    rule = (
        "|"
        + "|".join("-" * (width + 2 - (column > 0)) + ":" * (column > 0) for column, width in enumerate(widths))
        + "|"
    )
    return "\n".join([line(header), rule, *map(line, rows)])


def plain(table: Table) -> str:
    """A Markdown table without padding, for long texts."""
    header, rows = table
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def cell(text: str) -> str:
    """A text escaped for a table cell."""
    return " ".join(text.replace("|", "\\|").split())[:300]


def share(count: int, of: int) -> str:
    return f"{count:,} ({count / of:.2%})" if of else "-"


def size(count: int | None) -> str:
    if count is None:
        return "-"
    return (
        f"{count / 2**30:.2f} GB"
        if count >= 2**30
        else f"{count / 2**20:.1f} MB"
        if count >= 2**20
        else f"{count / 2**10:.1f} KB"
    )


def digits(value: float) -> str:
    """Three significant digits; whole numbers from 100 on."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _times(times: Times) -> list[str]:
    return [f"{times.count:,}", digits(times.avg), *map(digits, times.quantiles.values())]
