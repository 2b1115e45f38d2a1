"""All drafters on the embedded model's tasks, and masks of draft trees, into docs/figures/drafts.md.

usage: GRAMMARLM_DATA=... PYTHONPATH=FOLDER_WITH_ARCTIC python -m benchmarks.drafts [--drafters D ...] [--tasks T ...]

Forwards, accepted tokens and times of each drafter, with the grammar of the answers and without it; every answer is compared with
the one without a draft. Then prompts of all tasks together, 1, 4 and 16 answered at once: tokens a second. Rows of other packages,
and masks by other engines, where these are installed. The masks are those of the embedded tokenizer and of Llama 3.1's, where
GRAMMARLM_DATA has it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import FIGURES, table, write
from grammarlm.bench.tokenizer import load_tokenizer
from grammarlm.decoding.systems import DRAFTERS

from . import masks
from .peers import PEERS, missing
from .rows import TASKS, TRAINED, Cost, rows_at_once, rows_of_task

Figures = dict[str, Any]
HELD = ("under a grammar", "without a grammar")


def by_task(found: Mapping[str, Mapping[str, Cost]], figure: Callable[[Cost, Cost], str]) -> str:
    """A row for each drafter, a column for each task."""
    names = list(next(iter(found.values())))
    rows = [[name, *(figure(costs[name], costs["no draft"]) for costs in found.values())] for name in names]
    return table(["drafts by", *found], rows)


def tables(found: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    return [
        "Forwards a token:",
        by_task(found, lambda cost, none: f"{cost.forwards_a_token:.2f}"),
        "Drafted tokens that are drawn, a forward:",
        by_task(found, lambda cost, none: f"{cost.accepted_a_round:.2f}"),
        "Ids read for each token:",
        by_task(found, lambda cost, none: f"{(cost.tokens + cost.drafted - cost.accepted) / cost.tokens:.2f}"),
        "Time without a draft by time with it:",
        by_task(found, lambda cost, none: f"{none.seconds / cost.seconds:.2f}"),
    ]


def at_once_tables(found: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    """A column for each number of answers at once."""
    return [
        "Tokens a second, of all answers together:",
        by_task(found, lambda cost, none: f"{cost.tokens / cost.seconds:.0f}"),
        *tables(found)[-2:],  # times
    ]


def unequal(found: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    """What there is to say of answers that are not those without a draft."""
    lines = [
        f"{name}, {column}: {cost.differ} of {cost.answers} answers ({cost.differ / cost.answers:.1%}) are others"
        for column, costs in found.items()
        for name, cost in costs.items()
        if cost.differ
    ]
    return ["\n".join(f"- {line}" for line in lines)] if lines else ["All answers are those without a draft."]


def masks_of(tokenizers: Sequence[str]) -> tuple[Figures, list[str]]:
    """The masks of draft trees, by the size of the vocabulary."""
    found, notes = {}, []
    for name in tokenizers:
        tokenizer = load_tokenizer(name)
        label = f"V = {len(tokenizer):,}"
        found[label], skipped = masks.measured(tokenizer)
        notes += [f"{label}: {line}" for line in skipped]
    return found, notes


def draw(path: Path, figures: Figures) -> None:
    """Forwards a token of each drafter on each task, with the grammar and without."""
    from matplotlib.figure import Figure

    names = list(next(iter(figures[HELD[0]].values())))
    figure = Figure(figsize=(13, 0.32 * len(names) + 1.6), layout="constrained")
    for axes, held in zip(figure.subplots(1, 2), HELD, strict=True):
        costs = [[Cost(**cells[name]).forwards_a_token for cells in figures[held].values()] for name in names]
        axes.imshow(costs, cmap="RdYlGn_r", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(figures[held])), list(figures[held]))
        axes.set_yticks(range(len(names)), names if held == HELD[0] else [""] * len(names))
        axes.set_title(f"forwards a token, {held}")
        for row, line in enumerate(costs):
            for column, cost in enumerate(line):
                axes.text(column, row, f"{cost:.2f}", ha="center", va="center", fontsize="small")
    figure.savefig(path, dpi=110)


def measured(options: argparse.Namespace) -> tuple[Figures, list[str]]:
    """The costs of all rows and the times of masks, and what was skipped or differs."""
    peers = [peer for peer in options.peers if peer in PEERS]
    figures: Figures = {}
    notes = [f"{PEERS[peer]} is skipped: {why}" for peer in peers if (why := missing(PEERS[peer]))]
    for constrained, held in zip((True, False), HELD, strict=True):
        figures[held] = {}
        for task in options.tasks:
            costs = rows_of_task(task, options.count, options.drafters, constrained, peers)
            figures[held][task] = {name: asdict(cost) for name, cost in costs.items()}
            print(f"{held}: {task}", flush=True)
        figures[f"{held}, at once"] = {}
        for at_once in options.at_once:
            costs = rows_at_once(options.tasks, options.mixed, options.drafters, constrained, at_once)
            figures[f"{held}, at once"][f"{at_once} at once"] = {name: asdict(cost) for name, cost in costs.items()}
            print(f"{held}: {at_once} at once", flush=True)
    figures["masks"], more = masks_of(options.tokenizers)
    return figures, notes + more


def report_of(figures: Figures, notes: Sequence[str]) -> str:
    parts = []
    for held in HELD:
        found = {task: {name: Cost(**cost) for name, cost in costs.items()} for task, costs in figures[held].items()}
        parts += [f"## {held.capitalize()}", *tables(found), *unequal(found)]
        together = {
            n: {name: Cost(**cost) for name, cost in costs.items()} for n, costs in figures[f"{held}, at once"].items()
        }
        parts += [f"## {held.capitalize()}, several answers at once", *at_once_tables(together), *unequal(together)]
    parts += ["## Masks of a draft", table(*masks.table(figures["masks"]))]
    parts += ["\n".join(f"- {line}" for line in notes)] if notes else []
    return "\n\n".join([*parts, "![Forwards a token](drafts.png)"])


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    known = ["auto", *DRAFTERS, *TRAINED]
    data = os.environ.get("GRAMMARLM_DATA")
    tokenizers = ["tiny", *([f"{data}/tokenizers/llama3_1"] if data else [])]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drafters", nargs="+", default=known, choices=known, metavar="D", help=", ".join(known))
    parser.add_argument("--tasks", nargs="+", default=TASKS, metavar="T")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--tokenizers", nargs="+", default=tokenizers, help="of the masks: folders with tokenizer.json")
    parser.add_argument("--count", type=int, default=40, help="prompts a task (40)")
    parser.add_argument(
        "--at-once", nargs="+", type=int, default=[1, 4, 16], metavar="N", help="answers at once (1 4 16)"
    )
    parser.add_argument("--mixed", type=int, default=16, help="prompts a task where several are answered at once (16)")
    return parser.parse_args(words)


def main() -> None:
    from transformers.utils import logging

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    options = parsed()
    figures, notes = measured(options)
    draw(FIGURES / "drafts.png", figures)
    title = f"Drafts: {options.count} prompts a task, the embedded model"
    write("drafts", title, figures, report_of(figures, notes))


if __name__ == "__main__":
    main()
