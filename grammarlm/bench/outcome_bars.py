"""Bars of outcomes, one for each engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .record import Record

_COLOURS = {
    "passing": "#4c9f70",
    "refused": "#d8d8d8",
    "timeout": "#9a9a9a",
    "cut": "#b9cbe0",
    "wrongly rejects": "#e9b44c",
    "not reproduced": "#e9b44c",
    "wrongly accepts": "#c8553d",
    "invalid": "#c8553d",
    "let through": "#8c2f1b",
    "crash": "#3b3b3b",
    "broken": "#7a5c99",
}


def draw_bars(axes: Any, rows: Mapping[str, Sequence[Record]], outcomes: Sequence[str]) -> None:
    """A schema counts under its worst outcome."""
    left = np.zeros(len(rows))
    for outcome in reversed(outcomes):
        counts = [sum(outcome == record.worst() for record in records) for records in rows.values()]
        widths = np.array([count / max(len(records), 1) for count, records in zip(counts, rows.values(), strict=True)])
        if any(counts):
            axes.barh(list(rows), widths, left=left, color=_COLOURS[outcome], label=outcome)
        left += widths
    axes.invert_yaxis()
    axes.set(xlabel="share of schemas", xlim=(0, 1))
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)
