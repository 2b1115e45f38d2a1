"""Tables of what the diffusion model fills in: `benchmarks.models`, part canvases."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import table
from training.evaluate import Share

Figures = dict[str, Any]


def canvas_tables(cells: Sequence[Figures], splits: Mapping[str, str], sampler: str, length: int) -> list[str]:
    """A table of exact matches for each split, and one of times."""
    steps = sorted({cell["steps"] for cell in cells} - {0})
    invalid = sum(cell.get("invalid", 0) for cell in cells if cell["constrained"])
    parts = [
        f'The diffusion model, exact match in %, {length} masked positions, sampler "{sampler}", by the most steps: without / with '
        "the constraint; the causal model beside it. Prompts whose answers fit. A dash: the grammar has no canvas in a minute, "
        f'which counts as wrong among "all". Under the constraint {invalid} are invalid.'
    ]
    for split, name in splits.items():
        of_split = [cell for cell in cells if cell["split"] == split]
        rows = [row(task, [cell for cell in of_split if cell["task"] == task], steps) for task in tasks(of_split)]
        rows.append(row("all", merged(of_split, steps), steps))
        heads = ["task", "prompts", *(f"{n} steps" for n in steps), "causal"]
        parts += [f"{name.capitalize()} split:", table(heads, rows)]
    own = [cell for cell in cells if cell["steps"] and cell["refused"] < cell["of"]]
    each = [
        [
            n,
            *(
                f"{mean([cell for cell in own if (cell['steps'], cell['constrained']) == (n, held)]):.2f}"
                for held in (False, True)
            ),
        ]
        for n in steps
    ]
    model = sum(cell["model ms"] for cell in own) / max(len(own), 1)
    parts += [
        f"Milliseconds of the canvas a step, beside {model:.1f} of the model for one row (64 positions behind the prompt):",
        table(["steps", "without", "with the constraint"], each),
    ]
    return parts


def tasks(cells: Sequence[Figures]) -> list[str]:
    return list(dict.fromkeys(cell["task"] for cell in cells))


def mean(cells: Sequence[Figures]) -> float:
    """Canvas milliseconds a step."""
    calls = sum(cell["model_calls"] for cell in cells)
    return sum(cell["canvas ms"] * cell["model_calls"] for cell in cells) / max(calls, 1)


def row(task: str, cells: Sequence[Figures], steps: Sequence[int]) -> list[str]:
    at = {(cell["steps"], cell["constrained"]): cell for cell in cells}
    shown = [" / ".join(percent(at[n, held]) for held in (False, True)) for n in (*steps, 0)]
    return [task, str(at[0, True]["of"]), *shown]


def percent(cell: Figures) -> str:
    return "-" if cell["refused"] == cell["of"] else f"{100 * cell['value']:.0f}"


def merged(cells: Sequence[Figures], steps: Sequence[int]) -> list[Figures]:
    """All tasks as one."""
    found = []
    for n in (*steps, 0):
        for held in (False, True):
            own = [cell for cell in cells if (cell["steps"], cell["constrained"]) == (n, held)]
            hits, of = sum(cell["hits"] for cell in own), sum(cell["of"] for cell in own)
            found.append({"steps": n, "constrained": held, "refused": 0, "of": of, "value": Share(hits, of).value})
    return found


def draw_canvases(cells: Sequence[Figures], splits: Mapping[str, str], target: Path) -> None:
    """All tasks of each split: exact match by the most steps, with and without the constraint, and what the causal model has."""
    from matplotlib.figure import Figure

    steps = sorted({cell["steps"] for cell in cells} - {0})
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    for axes, (split, name) in zip(
        figure.subplots(1, len(splits), sharey=True, squeeze=False)[0], splits.items(), strict=True
    ):
        at = {
            (one["steps"], one["constrained"]): one for one in merged([c for c in cells if c["split"] == split], steps)
        }
        for held, colour, label in ((False, "tab:blue", "without"), (True, "tab:orange", "with the constraint")):
            axes.plot(steps, [100 * at[n, held]["value"] for n in steps], marker="o", color=colour, label=label)
            axes.axhline(100 * at[0, held]["value"], color=colour, linestyle=":", label=f"causal, {label}")
        axes.set(title=name, xlabel="steps at most", ylim=(-3, 103), xscale="log", xticks=steps, xticklabels=steps)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set(ylabel="exact, %")
    figure.axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(target, dpi=110)
