"""Pictures of a run of `grammarlm bench`, from the records in its folder: outcomes of the schemas as bars, one for each engine,
beside times of masks (MaskBench), or coverage by data set (JSONSchemaBench)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from grammarlm.bench.cases import DATA_SETS
from grammarlm.bench.comparison import slug
from grammarlm.bench.generation.figures import Figures
from grammarlm.bench.generation.record import Generated
from grammarlm.bench.generation.report import of_set
from grammarlm.bench.record import Record
from grammarlm.bench.tasks import record_class

Rows = Mapping[str, Sequence[Any]]

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


def draw(folder: Path, target: Path) -> None:
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    rows = {name: records_of(folder / f"{slug(name)}.jsonl") for name in next(iter(figures.values()))}
    kind = type(next(record for records in rows.values() for record in records))
    picture = Figure(figsize=(12, 5), layout="constrained")
    left, right = picture.subplots(1, 2, width_ratios=[3, 2])
    picture.suptitle((folder / "report.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "))
    (draw_coverage if kind is Generated else draw_times)(left, rows)
    draw_bars(right, rows, kind.OUTCOMES)
    picture.savefig(target, dpi=130)


def records_of(path: Path) -> list[Record]:
    about, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [record_class(about["task"]).from_json(line) for line in lines]


def draw_times(axes: Any, rows: Rows) -> None:
    for name, records in rows.items():
        masks = np.sort(np.fromiter((time for record in records for time in record.masks), float))
        if len(masks):
            picked = np.unique(np.linspace(0, len(masks) - 1, 2000).astype(int))
            axes.plot(masks[picked], (picked + 1) / len(masks), label=name)
    axes.set(xscale="log", xlabel="mask + advance, microseconds", ylabel="share of masks", ylim=(0, 1.01))
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend()


def draw_coverage(axes: Any, rows: Rows) -> None:
    sets = [data_set for data_set in DATA_SETS if any(of_set(records, data_set) for records in rows.values())]
    places, width = np.arange(len(sets)), 0.8 / max(len(rows), 1)
    for number, (name, records) in enumerate(rows.items()):
        found = [Figures.of(of_set(records, data_set)) for data_set in sets]
        at = places + (number - (len(rows) - 1) / 2) * width
        colour = f"C{number}"
        axes.bar(at, [f.declared / max(f.schemas, 1) for f in found], width * 0.9, color=colour, alpha=0.3)
        axes.bar(at, [f.empirical / max(f.schemas, 1) for f in found], width * 0.9, color=colour, label=name)
    axes.set(ylabel="share of schemas: pale declared, full empirical", ylim=(0, 1.02))
    axes.set_xticks(places, sets, rotation=30, ha="right")
    axes.legend(fontsize="small", loc="lower left")


def draw_bars(axes: Any, rows: Rows, outcomes: Sequence[str]) -> None:
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
