"""Drafters side by side on the tasks of the embedded models' text: `grammarlm bench drafts`.

Each row of a table is one `gl.Draft` that answers all prompts of a task, one after another, so that what it learns from earlier
answers counts in later ones. Every answer must be the one without a draft, or the run ends.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

import grammarlm as gl
from grammarlm.models.corpus import Example, constraint, example
from grammarlm.models.tiny import folder_of

from .markdown import Table, markdown

TASKS = ("record", "edit", "agent", "calls", "sql", "list", "plain")
MAX_TOKENS = 192
TRAINED = ("draft", "heads", "features")


@dataclass(frozen=True)
class Cost:
    """Of all answers to a task."""

    tokens: int  # stop ids included
    forwards: int
    drafted: int
    accepted: int
    seconds: float

    @property
    def forwards_a_token(self) -> float:
        return self.forwards / self.tokens

    @property
    def accepted_a_round(self) -> float:
        return self.accepted / self.forwards


def trained(name: str) -> Any:
    """One of the embedded model's own drafters."""
    from grammarlm.decoding.speculative.drafters.features import Features
    from grammarlm.decoding.speculative.drafters.heads import Heads

    model, _ = gl.load_tiny(**{name: True})  # type: ignore[call-overload]
    return {"draft": lambda: model, "heads": lambda: Heads(model), "features": lambda: Features(model)}[name]()


def ways(names: Sequence[str]) -> dict[str, Callable[[], dict[str, Any]]]:
    """The arguments of `generate` of each row, made anew for each task."""
    found: dict[str, Callable[[], dict[str, Any]]] = {"no draft": lambda: {"forced": "off"}, "forced runs": dict}
    for name in names:
        if name not in TRAINED or (folder_of(name) / "model.safetensors").exists():
            found[name] = partial(way, name)
    return found


def way(name: str) -> dict[str, Any]:
    drafter = trained(name) if name in TRAINED else name
    return {"draft": gl.Draft(drafter, tree="fixed" if name == "recycle" else "chain")}


def measure(
    model: Any, tokenizer: Any, asked: Sequence[Example], arguments: Mapping[str, Any], constrained: bool
) -> tuple[Cost, list[str]]:
    tokens = forwards = drafted = accepted = 0
    texts, start = [], time.perf_counter()
    for one in asked:
        grammar = constraint(one.form) if constrained else {}
        out = gl.generate(model, one.prompt, tokenizer=tokenizer, max_tokens=MAX_TOKENS, **grammar, **arguments)
        tokens, forwards = tokens + out.stats.tokens + 1, forwards + out.stats.forwards
        drafted, accepted = drafted + out.stats.draft_tokens, accepted + out.stats.accepted_tokens
        texts.append(out.text)
    return Cost(tokens, forwards, drafted, accepted, time.perf_counter() - start), texts


def rows_of_task(task: str, count: int, names: Sequence[str], constrained: bool) -> dict[str, Cost]:
    model, tokenizer = gl.load_tiny()
    asked = [example("heldout", index, task) for index in range(count)]
    found: dict[str, Cost] = {}
    expected: list[str] | None = None
    for name, arguments in ways(names).items():
        measure(model, tokenizer, asked[:2], arguments(), constrained)  # what is compiled once is nobody's time
        found[name], texts = measure(model, tokenizer, asked, arguments(), constrained)
        if expected is not None and texts != expected:
            raise AssertionError(f"{name} on {task}: an answer is not the one without a draft")
        expected = texts
    return found


def table(found: Mapping[str, Mapping[str, Cost]], figure: Callable[[Cost, Cost], str]) -> Table:
    """A row for each drafter, a column for each task."""
    names = list(next(iter(found.values())))
    rows = [[name, *(figure(costs[name], costs["no draft"]) for costs in found.values())] for name in names]
    return ["drafts by", *found], rows


def run(options: argparse.Namespace) -> int:
    torch.set_num_threads(1)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {}
    parts = []
    for constrained in (True, False):
        found = {task: rows_of_task(task, options.count, options.drafters, constrained) for task in options.tasks}
        held = "under a grammar" if constrained else "without a grammar"
        figures[held] = {task: {name: asdict(cost) for name, cost in costs.items()} for task, costs in found.items()}
        parts += [
            f"## {held.capitalize()}",
            "Forwards a token:",
            markdown(table(found, lambda cost, none: f"{cost.forwards_a_token:.2f}")),
            "Drafted tokens that are drawn, a forward:",
            markdown(table(found, lambda cost, none: f"{cost.accepted_a_round:.2f}")),
            "Ids read for each token:",
            markdown(
                table(found, lambda cost, none: f"{(cost.tokens + cost.drafted - cost.accepted) / cost.tokens:.2f}")
            ),
            "Time without a draft by time with it:",
            markdown(table(found, lambda cost, none: f"{none.seconds / cost.seconds:.2f}")),
        ]
    title = f"# Drafts: {options.count} prompts a task, the embedded model\n\n"
    (out / "report.md").write_text(title + "\n\n".join(parts) + "\n", encoding="utf-8")
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print("\n\n".join(parts))
    return 0
