"""The plot of a run: the distribution of mask times, and the outcomes of the schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from grammarlm.bench.outcome_bars import draw_bars

from .record import Verdicts


def draw_verdicts(path: Path, rows: Mapping[str, Sequence[Verdicts]], title: str) -> None:
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
    draw_bars(bars, rows, Verdicts.OUTCOMES)
    figure.savefig(path, dpi=130)
