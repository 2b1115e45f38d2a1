"""The plot of a generating run: outcomes of the schemas, and declared and empirical coverage by data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from grammarlm.bench.outcome_bars import draw_bars

from .figures import Figures
from .record import Generated


def draw_generated(
    path: Path, rows: Mapping[str, Sequence[Generated]], by_set: Mapping[str, Mapping[str, Figures]], title: str
) -> None:
    """Writes the plot; ImportError where matplotlib is missing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    sets, bars = figure.subplots(1, 2, width_ratios=[3, 2])
    figure.suptitle(title)
    places = np.arange(len(by_set))
    width = 0.8 / max(len(rows), 1)
    for number, name in enumerate(rows):
        found = [by_set[data_set].get(name) for data_set in by_set]
        at = places + (number - (len(rows) - 1) / 2) * width
        declared = [f.declared / f.schemas if f else 0 for f in found]
        empirical = [f.empirical / f.schemas if f else 0 for f in found]
        colour = f"C{number}"
        sets.bar(at, declared, width * 0.9, color=colour, alpha=0.3)
        sets.bar(at, empirical, width * 0.9, color=colour, label=name)
    sets.set(ylabel="share of schemas: pale declared, full empirical", ylim=(0, 1.02))
    sets.set_xticks(places, list(by_set), rotation=30, ha="right")
    sets.legend(fontsize="small", loc="lower left")
    draw_bars(bars, rows, Generated.OUTCOMES)
    figure.savefig(path, dpi=130)
