"""Every sampler on every task, with the constraint and without it: tables, figures as JSON, a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.report import table as markdown

from .exact import Figure, measure
from .laws import TASKS, Task

Curves = dict[tuple[str, str, bool], list[Figure]]  # by task, sampler, is it constrained
NO_MASS = 1e-12


def measured(tasks: Iterable[str], samplers: Sequence[str]) -> Curves:
    """AssertionError where a constrained row is outside of the language."""
    found: Curves = {}
    for task in tasks:
        for sampler in samplers:
            for constrained in (True, False):
                figures = [measure(task, sampler, steps, constrained=constrained) for steps in steps_of(TASKS[task])]
                found[task, sampler, constrained] = figures
                if constrained and any(figure.invalid > NO_MASS for figure in figures):
                    raise AssertionError(f"{sampler} on {task} writes rows outside of the language: {figures}")
    return found


def steps_of(task: Task) -> list[int]:
    """From one token a step to all in one."""
    return sorted({task.length, -(-task.length // 2), 2, 1}, reverse=True)


def report_of(curves: Curves, tasks: Sequence[str], samplers: Sequence[str]) -> str:
    parts = [
        "Exact, by enumeration of all draws at temperature 1. Of each sampler and number of steps asked for: tokens a step, total "
        "variation between the law of what it writes and the task's, in brackets the probability of rows outside of the language. "
        "Under the constraint none is outside.",
    ]
    for task in tasks:
        parts += [f"## {task}: {TASKS[task].about}", markdown(*table(curves, task, samplers))]
    return "\n\n".join(parts)


def table(curves: Curves, task: str, samplers: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    steps = steps_of(TASKS[task])
    header = ["sampler", *(f"{n} steps, {how}" for n in steps for how in ("held", "free"))]
    rows = []
    for sampler in samplers:
        held, free = curves[task, sampler, True], curves[task, sampler, False]
        rows.append(
            [sampler, *(cell for pair in zip(map(shown, held), map(shown, free), strict=True) for cell in pair)]
        )
    return header, rows


def shown(figure: Figure) -> str:
    outside = f" ({figure.invalid:.2f})" if figure.invalid > NO_MASS else ""
    return f"{figure.tokens_a_step:.1f}: {abs(figure.total_variation):.3f}{outside}"


def as_json(curves: Curves) -> list[Mapping[str, Any]]:
    return [
        {
            "task": task,
            "sampler": sampler,
            "constrained": constrained,
            "figures": [asdict(figure) for figure in figures],
        }
        for (task, sampler, constrained), figures in curves.items()
    ]


def draw(path: Path, curves: Curves, tasks: Sequence[str], samplers: Sequence[str]) -> None:
    """Total variation against tokens a step, a plot for each task; ImportError where matplotlib is missing."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure as Picture

    colours = colormaps["tab20"].resampled(max(len(samplers), 2))
    columns = min(len(tasks), 3)
    rows = -(-len(tasks) // columns)
    picture = Picture(figsize=(4.2 * columns, 3.4 * rows + 1.2), layout="constrained")
    all_axes = picture.subplots(rows, columns, squeeze=False).flatten()
    for axes, task in zip(all_axes, tasks, strict=False):
        for number, sampler in enumerate(samplers):
            for constrained in (True, False):
                figures = sorted(curves[task, sampler, constrained], key=lambda figure: figure.tokens_a_step)
                axes.plot(
                    [figure.tokens_a_step for figure in figures],
                    [figure.total_variation for figure in figures],
                    marker="o",
                    markersize=3,
                    linewidth=1.2,
                    color=colours(number),
                    linestyle="-" if constrained else ":",
                    label=sampler if constrained and task == tasks[0] else None,
                )
        axes.set(
            title=f"{task}: {TASKS[task].about}", xlabel="tokens a step", ylabel="total variation", ylim=(-0.03, 1)
        )
        axes.title.set_fontsize(9)
        axes.grid(alpha=0.3)
    for axes in all_axes[len(tasks) :]:
        axes.set_axis_off()
    picture.suptitle("Solid: under the constraint; dotted: without it", fontsize=10)
    picture.legend(loc="outside lower center", ncols=7, fontsize="small")
    picture.savefig(path, dpi=130)
