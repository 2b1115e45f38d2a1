"""Reader of a model whose memory of a text is one state: linear recurrences, state-space models.

A state cannot be cut at the end as a cache can. So a draft, chain or tree, is read from the state before it, which stays; the
tokens of it that were drawn are read once more, together with those of the next read, so that a tree costs no state for each of its
branches (STree). Where more is taken back the reader goes on from the state before what it read last; a rollback beyond that
begins again.

The model reads trees itself: a linear recurrence needs only, for each node, the product of the transitions from each node above
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Protocol, runtime_checkable

import torch

from .callable import CallableReader
from .draft_tree import DraftTree


@runtime_checkable
class RecurrentModel(Protocol):
    """What a model offers that is read by its state."""

    vocab_size: int

    def start(self, count: int) -> torch.Tensor:
        """The states [count, ..] of empty texts."""

    def read(self, states: torch.Tensor, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows [B, T, ..] after each of the ids [B, T], and the states after the first `lengths` of them; the rest are pads."""

    def read_trees(self, states: torch.Tensor, ids: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        """Rows [B, N, ..] after each node of a tree of ids [B, N]; `parents` [B, N] are earlier nodes, or -1: the state."""

    def output(self, rows: torch.Tensor) -> torch.Tensor:
        """Logits [n, V] of rows [n, ..] of what was read, on the CPU."""


class RecurrentReader(CallableReader):
    """Its trees are read without a mask, and no state of them is kept."""

    def __init__(self, model: RecurrentModel, prompts: Sequence[Sequence[int]]):
        super().__init__(model, prompts)
        self.width, count = model.vocab_size, len(prompts)
        self._states = self._before = model.start(count)  # after what has been read, and before the last read
        self._last: list[list[int]] = [[] for _ in prompts]  # what the last read has read
        self._pending: list[list[int]] = [[] for _ in prompts]  # ids of the texts that are not in the states

    @property
    def nbytes(self) -> int:
        return self._states.nbytes + self._before.nbytes

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        """Of each chunk the ids after the first scored one may be drafts: they are read as trees are, and stay to be read."""
        tails = [
            chunk[len(chunk) - count + 1 :] if count > 1 else [] for chunk, count in zip(chunks, scored, strict=True)
        ]
        if not any(tails):
            return self._advance(chunks, scored)
        sure = [chunk[: len(chunk) - len(tail)] for chunk, tail in zip(chunks, tails, strict=True)]
        chains = [DraftTree.chain(list(tail)) for tail in tails]
        logits = self.read_trees(sure, [min(1, count) for count in scored], chains)
        self.keep([range(len(chain)) for chain in chains])
        return logits

    def _advance(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        rows = [[*pending, *chunk] for pending, chunk in zip(self._pending, chunks, strict=True)]
        width = max(map(len, rows))
        if not width:
            return torch.empty(0, self._model.vocab_size)
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], dtype=torch.long)
        self._before = self._states
        with torch.no_grad():
            after, self._states = self._model.read(self._before, ids, torch.tensor([len(row) for row in rows]))
        self._last, self._pending = rows, [[] for _ in rows]
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        return self._output(
            [each[len(row) - count : len(row)] for each, row, count in zip(after, rows, scored, strict=True)]
        )

    def _output(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            logits: torch.Tensor = self._model.output(torch.cat(list(rows))).float()
        return logits

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        logits = self._advance(chunks, scored)
        self._trees, width = list(trees), max(map(len, trees))
        if not width:
            return logits
        ids = torch.tensor([tree.tokens + [0] * (width - len(tree)) for tree in trees])
        parents = torch.tensor([tree.parents + [-1] * (width - len(tree)) for tree in trees])
        with torch.no_grad():
            after = self._model.read_trees(self._states, ids, parents)
        nodes = self._output([rows[: len(tree)] for rows, tree in zip(after, trees, strict=True)])
        parts = zip(logits.split(list(scored)), nodes.split(list(map(len, trees))), strict=True)
        return torch.cat([part for pair in parts for part in pair])

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        super().keep(paths)
        for pending, tree, path in zip(self._pending, self._trees, paths, strict=True):
            pending.extend(tree.tokens[node] for node in path)

    def select(self, texts: Sequence[int]) -> None:
        super().select(texts)
        places = torch.tensor(list(texts), dtype=torch.long)
        self._states, self._before = self._states[places], self._before[places]
        self._last, self._pending = ([list(ids[text]) for text in texts] for ids in (self._last, self._pending))

    def taken(self, texts: Sequence[int]) -> RecurrentReader:
        other = copy(self)
        other.select(texts)
        return other

    def join(self, other: CallableReader) -> None:
        assert isinstance(other, RecurrentReader)
        super().join(other)
        self._states = torch.cat([self._states, other._states])
        self._before = torch.cat([self._before, other._before])
        self._last += other._last
        self._pending += other._pending

    def rollback(self, counts: Sequence[int]) -> None:
        self._states, self._before = self._states.clone(), self._before.clone()
        for at, count in enumerate(counts):
            text, pending = self._texts[at], self._pending[at]
            left = count - len(pending)
            del text[len(text) - count :]
            if left <= 0:
                del pending[len(pending) - count :]
                continue
            if left <= len(self._last[at]):
                self._states[at] = self._before[at]
                self._pending[at] = self._last[at][: len(self._last[at]) - left]
            else:
                self._states[at] = self._model.start(1)[0]
                self._pending[at] = list(text)
            self._last[at] = []
