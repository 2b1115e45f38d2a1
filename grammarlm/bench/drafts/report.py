"""The command: tables of all rows, the masks of draft trees, and one picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from grammarlm.bench.markdown import Table, markdown
from grammarlm.bench.tokenizer import load_tokenizer

from . import masks
from .peers import PEERS, missing
from .rows import Cost, rows_of_task

HELD = ("under a grammar", "without a grammar")


def table(found: Mapping[str, Mapping[str, Cost]], figure: Callable[[Cost, Cost], str]) -> Table:
    """A row for each drafter, a column for each task."""
    names = list(next(iter(found.values())))
    rows = [[name, *(figure(costs[name], costs["no draft"]) for costs in found.values())] for name in names]
    return ["drafts by", *found], rows


def tables(found: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    return [
        "Forwards a token:",
        markdown(table(found, lambda cost, none: f"{cost.forwards_a_token:.2f}")),
        "Drafted tokens that are drawn, a forward:",
        markdown(table(found, lambda cost, none: f"{cost.accepted_a_round:.2f}")),
        "Ids read for each token:",
        markdown(table(found, lambda cost, none: f"{(cost.tokens + cost.drafted - cost.accepted) / cost.tokens:.2f}")),
        "Time without a draft by time with it:",
        markdown(table(found, lambda cost, none: f"{none.seconds / cost.seconds:.2f}")),
    ]


def masks_of(tokenizers: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The masks of draft trees, by the size of the vocabulary."""
    found, notes = {}, []
    for name in tokenizers:
        tokenizer = load_tokenizer(name)
        label = f"V = {len(tokenizer):,}"
        found[label], skipped = masks.measured(tokenizer)
        notes += [f"{label}: {line}" for line in skipped]
    return found, notes


def draw(path: Path, figures: Mapping[str, Any]) -> None:
    """Forwards a token of each drafter on each task, with the grammar and without; ImportError where matplotlib is missing."""
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


def run(options: argparse.Namespace) -> int:
    from transformers.utils import logging

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    peers = [peer for peer in options.peers if peer in PEERS]
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {}
    skipped = [f"{PEERS[peer]} is skipped: {why}" for peer in peers if (why := missing(PEERS[peer]))]
    parts, notes = [], skipped
    for constrained in (True, False):
        held = HELD[not constrained]
        found = {}
        for task in options.tasks:
            found[task], said = rows_of_task(task, options.count, options.drafters, constrained, peers)
            notes += [f"{held}, {line}" for line in said]
            print(f"{held}: {task}", flush=True)
        figures[held] = {task: {name: asdict(cost) for name, cost in costs.items()} for task, costs in found.items()}
        parts += [f"## {held.capitalize()}", *tables(found)]
    figures["masks"], more = masks_of(options.tokenizers)
    parts += ["## Masks of a draft", markdown(masks.table(figures["masks"]))]
    parts += ["\n".join(f"- {line}" for line in notes + more)] if notes + more else []
    try:
        draw(out / "drafts.png", figures)
        parts.append("![Forwards a token](drafts.png)")
    except ImportError as error:
        parts.append(f"There is no picture: {error}")
    title = f"# Drafts: {options.count} prompts a task, the embedded model\n\n"
    (out / "report.md").write_text(title + "\n\n".join(parts) + "\n", encoding="utf-8")
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print("\n\n".join(parts))
    return 0
