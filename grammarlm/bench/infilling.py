"""Every sampler on the tasks of the embedded diffusion model: `grammarlm bench infill`.

Of each sampler and number of steps, with the grammar of the answers and without it: how many answers are right to the letter, how
many are no text of the grammar, and what of the time the canvas takes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

import grammarlm as gl
from grammarlm.decoding.output import one_output
from grammarlm.masks.constraint import Constraint
from grammarlm.models.corpus import Example, constraint, example

from .markdown import Table, markdown

LENGTH = 64  # places of an answer; longer answers are not asked for


@dataclass(frozen=True)
class Filled:
    """Of all answers to a task."""

    sampler: str
    steps: int
    constrained: bool
    answers: int
    right: int
    invalid: int
    model_calls: int
    tokens: int  # of the answers, without stop ids
    model_ms: float
    canvas_ms: float


def prompts(tokenizer: Any, task: str, count: int) -> list[Example]:
    """Held-out prompts whose answers fit."""
    found: list[Example] = []
    index = 0
    while len(found) < count:
        one = example("heldout", index, task)
        index += 1
        if len(tokenizer.encode(one.answer)) < LENGTH:
            found.append(one)
    return found


@cache
def compiled(form: str, vocab: gl.Vocabulary) -> Constraint:
    grammar = one_output(**constraint(form)).grammar
    assert grammar is not None
    return gl.compile(
        grammar, vocab, limits=gl.Limits(max_ms=120_000)
    )  # a first canvas may take long on a busy machine


def measure(
    model: Any, tokenizer: Any, asked: Sequence[Example], sampler: str, steps: int, *, constrained: bool
) -> Filled:
    """AssertionError where a constrained answer is no text of its grammar."""
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    right = invalid = calls = tokens = 0
    model_ms = canvas_ms = 0.0
    for one in asked:
        out = gl.generate(
            model,
            one.prompt,
            tokenizer=tokenizer,
            max_tokens=LENGTH,
            method="diffusion",
            sampler=sampler,
            steps=steps,
            grammar=compiled(one.form, vocab) if constrained else None,
        )
        matcher = compiled(one.form, vocab).matcher()
        is_text = (
            matcher.validate(out.tokens) == len(out.tokens)
            and all(map(matcher.advance, out.tokens))
            and matcher.is_accepting
        )
        if constrained and not is_text:
            raise AssertionError(f"{sampler}, {steps} steps: {out.text!r} is no text of the grammar of {one.form}")
        right, invalid = right + (out.text == one.answer), invalid + (not is_text)
        calls, tokens = calls + out.stats.forwards, tokens + out.stats.tokens
        model_ms, canvas_ms = model_ms + 1000 * out.stats.model_seconds, canvas_ms + 1000 * out.stats.mask_seconds
    return Filled(sampler, steps, constrained, len(asked), right, invalid, calls, tokens, model_ms, canvas_ms)


def run(options: argparse.Namespace) -> int:
    torch.set_num_threads(1)
    model, tokenizer = gl.load_tiny(diffusion=True)
    found: dict[str, list[Filled]] = {}
    for task in options.tasks:
        asked = prompts(tokenizer, task, options.count)
        measure(model, tokenizer, asked[:1], "fixed", 4, constrained=True)  # what is compiled once is nobody's time
        found[task] = [
            measure(model, tokenizer, asked, sampler, steps, constrained=constrained)
            for sampler in options.samplers
            for steps in options.steps
            for constrained in (True, False)
        ]
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    figures = {task: [asdict(one) for one in each] for task, each in found.items()}
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    report = report_of(found, options.count)
    (out / "report.md").write_text(report, encoding="utf-8")
    print(report)
    try:
        draw(out / "infill.png", found)
    except ImportError:
        print("without a picture: pip install matplotlib")
    return 0


def report_of(found: dict[str, list[Filled]], count: int) -> str:
    parts = [
        f"# Samplers on the embedded diffusion model: {count} prompts a task, {LENGTH} places",
        "Right to the letter under the grammar; without it, in brackets no text of the grammar; milliseconds of the canvas for "
        "each 100 of the model. Under the grammar none is invalid.",
    ]
    for task, each in found.items():
        parts += [f"## {task}", markdown(table(each))]
    return "\n\n".join(parts) + "\n"


def table(each: Sequence[Filled]) -> Table:
    steps = sorted({one.steps for one in each})
    by = {(one.sampler, one.steps, one.constrained): one for one in each}
    rows = []
    for sampler in dict.fromkeys(one.sampler for one in each):
        pairs = [(by[sampler, n, True], by[sampler, n, False]) for n in steps]
        rows.append([sampler, *(shown(held, free) for held, free in pairs)])
    return ["sampler", *(f"{n} steps" for n in steps)], rows


def shown(held: Filled, free: Filled) -> str:
    share = 100 * held.canvas_ms / max(held.model_ms, 1e-9)
    return f"{held.right / held.answers:.0%}; {free.right / free.answers:.0%} ({free.invalid / free.answers:.0%}); {share:.0f}"


def draw(path: Path, found: dict[str, list[Filled]]) -> None:
    """Right answers against tokens a call, a plot for each task; ImportError where matplotlib is missing."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    picture = Figure(figsize=(4.2 * len(found), 4.6), layout="constrained")
    for axes, (task, each) in zip(picture.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        samplers = list(dict.fromkeys(one.sampler for one in each))
        colours = colormaps["tab20"].resampled(max(len(samplers), 2))
        for number, sampler in enumerate(samplers):
            for constrained in (True, False):
                line = [one for one in each if (one.sampler, one.constrained) == (sampler, constrained)]
                line.sort(key=lambda one: one.tokens / max(one.model_calls, 1))
                axes.plot(
                    [one.tokens / max(one.model_calls, 1) for one in line],
                    [one.right / one.answers for one in line],
                    marker="o",
                    markersize=3,
                    color=colours(number),
                    linestyle="-" if constrained else ":",
                    label=sampler if constrained and task == next(iter(found)) else None,
                )
        axes.set(title=task, xlabel="tokens a call", ylabel="right to the letter", xscale="log", ylim=(-0.03, 1.03))
        axes.grid(alpha=0.3)
    picture.suptitle("Solid: under the grammar; dotted: without it", fontsize=10)
    picture.legend(loc="outside lower center", ncols=7, fontsize="small")
    picture.savefig(path, dpi=130)
