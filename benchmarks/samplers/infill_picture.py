"""The picture of the part infill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .answers import Filled, together

ACROSS = 5
HELD, FREE, OTHERS = "#1f5fa8", "#d1495b", "#d8d8d8"


def draw(path: Path, each: Sequence[Filled]) -> None:
    """A panel for each sampler: right answers against tokens a call, before those of all others in grey; and one panel of what the
    canvas takes of a step, beside the model."""
    from matplotlib.figure import Figure

    samplers = list(dict.fromkeys(one.sampler for one in each))
    down = -(-(len(samplers) + 1) // ACROSS)
    picture = Figure(figsize=(2.7 * ACROSS, 2.3 * down + 0.6), layout="constrained")
    all_axes = picture.subplots(down, ACROSS, squeeze=False).ravel()
    for axes, sampler in zip(all_axes, samplers, strict=False):
        for other in samplers:
            draw_right(axes, line(each, other, True), color=OTHERS, zorder=1)
        draw_right(axes, line(each, sampler, False), color=FREE, linestyle=":", label="without it")
        draw_right(axes, line(each, sampler, True), color=HELD, label="under the grammar")
        axes.set(title=sampler, xscale="log", ylim=(-0.03, 1.03))
        axes.grid(alpha=0.3)
    draw_canvas(all_axes[len(samplers)], each, samplers)
    for axes in all_axes[len(samplers) + 1 :]:
        axes.set_axis_off()
    picture.supxlabel("tokens a call of the model", fontsize=10)
    picture.supylabel("right to the letter", fontsize=10)
    handles = all_axes[0].get_lines()[-2:]
    picture.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    picture.savefig(path, dpi=110)


def line(each: Sequence[Filled], sampler: str, constrained: bool) -> list[Filled]:
    """By the steps that were asked for."""
    own = [one for one in each if (one.sampler, one.constrained) == (sampler, constrained)]
    return sorted((one for one in own if one.refused < one.answers), key=lambda one: one.steps)


def draw_right(axes: Any, own: Sequence[Filled], **style: Any) -> None:
    own = sorted(own, key=lambda one: one.tokens_a_call)
    right = [one.right / one.answers for one in own]
    axes.plot([one.tokens_a_call for one in own], right, marker="o", markersize=3, linewidth=1.4, **style)


def draw_canvas(axes: Any, each: Sequence[Filled], samplers: Sequence[str]) -> None:
    steps = sorted({one.steps for one in each})
    for sampler in samplers:
        own = line(each, sampler, True)
        axes.plot([one.steps for one in own], [one.canvas_ms_a_step for one in own], color=HELD, alpha=0.4, linewidth=1)
    axes.axhline(together(each).model_ms, color="black", linewidth=1.4)
    axes.annotate(
        "the model", (steps[0], together(each).model_ms), xytext=(0, 4), textcoords="offset points", fontsize=8
    )
    axes.set(title="canvas, ms a step", xscale="log", yscale="log", xlabel="steps at most")
    axes.set_ylim(top=3 * together(each).model_ms)
    axes.set_xticks(steps, [str(n) for n in steps])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
