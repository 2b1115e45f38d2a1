"""How probable a model finds each of some continuations of a prompt, their ends included: all of them in few forwards.

The prompt is read once, and then the continuations as one draft tree, in which beginnings that several share stand once. Where a
model's cache takes no trees, each continuation is a row beside the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from grammarlm.decoding.failures import no_distribution
from grammarlm.decoding.fit import check_positions, warn_of_width
from grammarlm.decoding.readers.callable import TreeRows
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.decoding.request import Request

MOST_LOGITS = 1 << 27  # of one forward: half a gigabyte of float32
MOST_NODES = 2048  # of one tree: each sees the others by a mask


@dataclass
class Branch:
    """Some of the continuations as one tree."""

    tree: DraftTree = field(default_factory=DraftTree)
    ends: list[int] = field(default_factory=list)  # of each continuation its last node, ROOT where it is empty
    numbers: list[int] = field(default_factory=list)  # of the continuations
    _nodes: dict[tuple[int, int], int] = field(default_factory=dict)  # (parent, token) -> node

    def add(self, number: int, tokens: Sequence[int]) -> None:
        node = ROOT
        for token in tokens:
            if (node, token) not in self._nodes:
                self._nodes[node, token] = self.tree.add(token, node)
            node = self._nodes[node, token]
        self.ends.append(node)
        self.numbers.append(number)


def log_probabilities(request: Request, number: int, continuations: Sequence[Sequence[int]]) -> tuple[list[float], int]:
    """Of each continuation of a prompt the log-probability that the model writes it and ends; and how many forwards that took.

    Any of the stop ids ends it. ValueError where logits are no distribution, or the model has too few positions.
    """
    prompt, room = request.prompts[number], max(map(len, continuations), default=0)
    check_positions(request.model, [prompt], max(room, 1), "leave out answers of more than {most} tokens")
    spec = request.specs[number]
    reader = open_reader(request.model, [prompt], max(room, 1), spec.settings.cache)
    first = reader.read(reader.beginnings, [1])
    forwards, width = 1, first.shape[1]
    if reader.width is None:  # of a bare callable it is known only now
        warn_of_width(spec.vocab.size, width)
    stops = torch.tensor([stop for stop in spec.vocab.stop_ids if stop < width], dtype=torch.long)
    found = [-math.inf] * len(continuations)
    for branch in branches(reader, continuations, len(prompt) + room, width):
        logits = first
        if len(branch.tree):
            logits = torch.cat([first, rows_after(reader, branch.tree)])
            forwards += 1
        for of, logprob in zip(branch.numbers, logs_of(branch, logits, stops), strict=True):
            found[of] = logprob
    return found, forwards


def branches(reader: Reader, continuations: Sequence[Sequence[int]], longest: int, width: int) -> Iterator[Branch]:
    """Trees of the continuations that the model has logits for, neighbours together; each of a size that one forward can bear."""
    most_nodes, most_rows = min(MOST_NODES, MOST_LOGITS // width), len(continuations)
    if not reader.reads_trees:
        most_rows = MOST_LOGITS // (width * longest)
    branch = Branch()
    possible = [number for number, tokens in enumerate(continuations) if max(tokens, default=0) < width]
    for number in sorted(possible, key=lambda each: tuple(continuations[each])):
        tokens = continuations[number]
        if branch.ends and (len(branch.tree) + len(tokens) > most_nodes or len(branch.ends) >= most_rows):
            yield branch
            branch = Branch()
        branch.add(number, tokens)
    if branch.ends:
        yield branch


def rows_after(reader: Reader, tree: DraftTree) -> torch.Tensor:
    """The logits after each node of a tree that follows the text, which is left as it is."""
    if reader.reads_trees:
        logits = reader.read_trees([[]], [0], [tree])
        reader.keep([[]])
        return logits
    paths = TreeRows([[]], [tree])
    lengths = [len(row) for row in paths.rows]
    logits = reader.taken([0] * len(lengths)).read(paths.rows, lengths)
    begins = [sum(lengths[:row]) for row in range(len(lengths))]
    return logits[[begins[row] + at for row, at in paths.places([0])]]


def logs_of(branch: Branch, logits: torch.Tensor, stops: torch.Tensor) -> list[float]:
    """Of each continuation of a branch; row 0 is after the text, row i + 1 after node i."""
    tree = branch.tree
    totals = torch.logsumexp(logits, dim=1)
    wrong = torch.nonzero(~torch.isfinite(totals))[:, 0].tolist()
    if wrong:
        raise no_distribution(len(tree.path(wrong[0] - 1)), logits[wrong[0]].numpy())
    parents = torch.tensor(tree.parents, dtype=torch.long) + 1
    taken = logits[parents, torch.tensor(tree.tokens, dtype=torch.long)] - totals[parents]
    ends = (torch.logsumexp(logits[:, stops], dim=1) - totals).tolist()
    logs = [0.0]
    for parent, own in zip(tree.parents, taken.tolist(), strict=True):
        logs.append(logs[parent + 1] + own)
    return [logs[node + 1] + ends[node + 1] for node in branch.ends]
