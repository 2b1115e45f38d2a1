"""The picture of `grammarlm bench infill`; ImportError where matplotlib is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .measure import Filled, together


def draw(path: Path, found: Mapping[str, Sequence[Filled]]) -> None:
    """For each task right answers against tokens a call, and below it what the canvas takes of a step, beside the model."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    picture = Figure(figsize=(4.2 * len(found), 7.6), layout="constrained")
    all_axes = picture.subplots(2, len(found), squeeze=False)
    for column, (task, each) in enumerate(found.items()):
        samplers = list(dict.fromkeys(one.sampler for one in each))
        colours = colormaps["tab20"].resampled(max(len(samplers), 2))
        for number, sampler in enumerate(samplers):
            own = [one for one in each if one.sampler == sampler]
            draw_right(all_axes[0, column], own, colours(number), sampler if not column else None)
            draw_canvas(all_axes[1, column], own, colours(number))
        finish(all_axes[0, column], task, "tokens a call", "right to the letter")
        all_axes[0, column].set(ylim=(-0.03, 1.03))
        finish(all_axes[1, column], "", "steps at most", "canvas, ms a step")
        all_axes[1, column].set(yscale="log")
        all_axes[1, column].axhline(together(each).model_ms, color="black", linewidth=1, label="the model")
        all_axes[1, column].legend(frameon=False, fontsize="small")
    picture.suptitle("Solid: under the grammar; dotted: without it", fontsize=10)
    picture.legend(handles=all_axes[0, 0].get_lines()[::2], loc="outside lower center", ncols=7, fontsize="small")
    picture.savefig(path, dpi=130)


def draw_right(axes: Any, each: Sequence[Filled], colour: Any, label: str | None) -> None:
    for constrained in (True, False):
        line = sorted((one for one in each if one.constrained == constrained), key=lambda one: one.tokens_a_call)
        line = [one for one in line if one.refused < one.answers]
        axes.plot(
            [one.tokens_a_call for one in line],
            [one.right / one.answers for one in line],
            marker="o",
            markersize=3,
            color=colour,
            linestyle="-" if constrained else ":",
            label=label if constrained else None,
        )


def draw_canvas(axes: Any, each: Sequence[Filled], colour: Any) -> None:
    line = sorted((one for one in each if one.constrained and one.refused < one.answers), key=lambda one: one.steps)
    axes.plot(
        [one.steps for one in line], [one.canvas_ms_a_step for one in line], marker="o", markersize=3, color=colour
    )


def finish(axes: Any, title: str, across: str, up: str) -> None:
    axes.set(title=title, xlabel=across, ylabel=up, xscale="log")
    axes.grid(alpha=0.3)
