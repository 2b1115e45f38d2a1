"""The plot of a run: the distribution of mask times, and the outcomes of the schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .record import OUTCOMES, Record

_COLOURS = {
    "passing": "#4c9f70",
    "refused": "#d8d8d8",
    "timeout": "#9a9a9a",
    "wrongly rejects": "#e9b44c",
    "wrongly accepts": "#c8553d",
    "crash": "#3b3b3b",
}


def draw(path: Path, rows: Mapping[str, Sequence[Record]], title: str) -> None:
    """Writes the plot; ImportError where matplotlib is missing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    times, bars = figure.subplots(1, 2, width_ratios=[3, 2])
    figure.suptitle(title)
    for name, records in rows.items():
        masks = np.sort(np.fromiter((time for record in records for time in record.masks), float))
        if len(masks):
            picked = np.unique(np.linspace(0, len(masks) - 1, 2000).astype(int))
            times.plot(masks[picked], (picked + 1) / len(masks), label=name)
    times.set(xscale="log", xlabel="mask + advance, microseconds", ylabel="share of masks", ylim=(0, 1.01))
    times.grid(alpha=0.3)
    if times.lines:
        times.legend()
    _bars(bars, rows)
    figure.savefig(path, dpi=130)


def _bars(axes: Any, rows: Mapping[str, Sequence[Record]]) -> None:
    """One bar for each engine; a schema counts under its worst outcome."""
    left = np.zeros(len(rows))
    for outcome in reversed(OUTCOMES):
        worst = np.array(
            [
                sum(outcome == min(record.outcomes(), key=OUTCOMES.index) for record in records) / max(len(records), 1)
                for records in rows.values()
            ]
        )
        axes.barh(list(rows), worst, left=left, color=_COLOURS[outcome], label=outcome)
        left += worst
    axes.invert_yaxis()
    axes.set(xlabel="share of schemas", xlim=(0, 1))
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)
