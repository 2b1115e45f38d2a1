"""Every sampler on the tasks of the embedded diffusion model: tables, figures as JSON, a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.report import table as markdown
from grammarlm.bench.markdown import digits

from .answers import LENGTH, PATIENCE, Filled, Way, measure, prompts, together, ways

TITLE = f"Samplers on the embedded diffusion model: {{}} prompts a task, {LENGTH} places"
Found = dict[str, list[Filled]]  # by task


def measured(
    model: Any, tokenizer: Any, tasks: Sequence[str], samplers: Sequence[str], steps: Sequence[int], count: int
) -> Found:
    found: Found = {}
    for task in tasks:
        asked = prompts(tokenizer, task, count)
        measure(model, tokenizer, asked, [Way("fixed", 1, True)])  # what is compiled once is nobody's time
        found[task] = measure(model, tokenizer, asked, ways(samplers, steps))
        print(f"{task} is measured", flush=True)
    return found


def as_json(found: Found) -> dict[str, list[dict[str, Any]]]:
    return {task: [asdict(one) for one in each] for task, each in found.items()}


def with_all(found: Mapping[str, Sequence[Filled]]) -> dict[str, Sequence[Filled]]:
    """With what all tasks are together, first, where there are several."""
    if len(found) == 1:
        return dict(found)
    return {"all tasks": [together(each) for each in zip(*found.values(), strict=True)], **found}


def report_of(found: Mapping[str, Sequence[Filled]]) -> str:
    parts = [
        "Right: % of the answers that are right to the letter, under the grammar / without it; in brackets the % that are no text "
        "of the grammar without it. Under the grammar none is invalid."
        + refusals(found)
        + "\n\nCanvas: its milliseconds a step and row, under the grammar / without it, where a canvas says little. A row that "
        "several ways come by is read once, so the model's milliseconds are the mean of the task.",
    ]
    for task, each in with_all(found).items():
        model_ms = digits(together(each).model_ms)
        parts += [f"## {task}", markdown(*table("right", each, right)), f"The model: {model_ms} ms a step and row."]
        parts += [markdown(*table("canvas, ms", each, canvas))]
    return "\n\n".join(parts)


def refusals(found: Mapping[str, Sequence[Filled]]) -> str:
    counts = {task: max(one.refused for one in each) for task, each in found.items()}
    said = ", ".join(f"{task} {count}" for task, count in counts.items() if count)
    seconds = (PATIENCE.max_ms or 0) // 1000
    return (
        f" Not answered, for the grammar has no canvas within {seconds} s or the canvas was at its limits, at most: {said}."
        if said
        else ""
    )


def table(head: str, each: Sequence[Filled], shown: object) -> tuple[list[str], list[list[str]]]:
    steps = sorted({one.steps for one in each})
    by = {(one.sampler, one.steps, one.constrained): one for one in each}
    rows = []
    for sampler in dict.fromkeys(one.sampler for one in each):
        pairs = [(by[sampler, n, True], by[sampler, n, False]) for n in steps]
        rows.append([sampler, *(shown(held, free) for held, free in pairs)])  # type: ignore[operator]
    return [head, *(f"{n} steps" for n in steps)], rows


def right(held: Filled, free: Filled) -> str:
    under = "-" if held.refused == held.answers else percent(held.right, held.answers)
    return f"{under} / {percent(free.right, free.answers)} ({percent(free.invalid, free.answers)})"


def canvas(held: Filled, free: Filled) -> str:
    under = "-" if held.refused == held.answers else digits(held.canvas_ms_a_step)
    return f"{under} / {digits(free.canvas_ms_a_step)}"


def percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f}"
