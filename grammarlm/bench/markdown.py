"""Tables as Markdown, which is readable on a terminal, too; numbers and sizes as their cells."""

from __future__ import annotations

import math

Table = tuple[list[str], list[list[str]]]  # header, rows


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
