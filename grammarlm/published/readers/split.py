"""A model read in two halves: what its first layers have read ahead is not read by them again.

    reader = SplitReader(model, prompts, at=2)
    logits = reader.ahead([[5], []])              # the first two layers read on, and the model's output guesses after them
    logits = reader.read([[5, 8], [7]], [2, 1])   # they read 8 and 7 alone; the other layers read 5, 8 and 7

Each half is a reader with a cache of its own: the first one's texts are ahead of the second one's by what has been drafted. The
second one's ids are the numbers of the states that the first one has made, so that it is a reader like any other: it reads whole
texts again where it must, goes back, and reads trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.drafters.follower import shared

from .model_layers import after_layer, before_layer, layers_of, replaced, with_layers

Adapter = Callable[[torch.Tensor], torch.Tensor]
NEEDED = "layers that read ahead need a transformers model with a list of layers and a key-value cache"
ALONE = "what is read ahead belongs to this batch: its texts neither join others nor are taken out"


class Half(CachedReader):
    """Without a cache there are no halves: what one has read is not given to the other again."""

    def _go_without(self, why: str) -> None:
        raise ValueError(f"{NEEDED}: {why}")


class SplitReader:
    """Both halves as one reader, with drafts that the first one reads ahead; its logits are the output's on what the adapter makes
    of its states."""

    reads_trees = False  # nothing else may be read around these
    keeps_states = False
    states: list[torch.Tensor] | None = None

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], at: int, adapter: Adapter | None = None):
        found = layers_of(model)
        if found is None:
            raise ValueError(NEEDED)
        way, layers = found
        own = dict(enumerate(layers))

        def passed(states: torch.Tensor) -> torch.Tensor:
            self._passed = states.detach()
            return states if adapter is None else adapter(states)

        first = with_layers(model, way, {**own, at - 1: after_layer(own[at - 1], passed)}, range(at))
        known = model.get_input_embeddings()
        numbered = NumberedStates(known)
        entered = {**own, at: before_layer(own[at], lambda states: numbered.entering)}
        second = replaced(with_layers(model, way, entered, range(at, len(layers))), known, numbered)
        self._first, self._second = (Half(half, prompts, 0, "dynamic") for half in (first, second))
        self._numbered = numbered
        self.width, self.beginnings = self._first.width, self._first.beginnings
        self.ids_ahead: list[list[int]] = [[] for _ in prompts]  # that the first half has read ahead of each text
        self._numbers: list[list[int]] = [[] for _ in prompts]  # of their states

    @property
    def unequal_is_cheap(self) -> bool:
        return self._first.unequal_is_cheap

    @property
    def rollback_is_cheap(self) -> bool:
        return self._first.rollback_is_cheap

    # ------------------------------------------------------------------ ahead

    def ahead(self, ids: Sequence[Sequence[int]]) -> dict[int, torch.Tensor]:
        """Makes `ids[i]` what the first half has read ahead of text i; the logits after the last id of each that was not."""
        counts = [shared(known, wanted) for known, wanted in zip(self.ids_ahead, ids, strict=True)]
        self._take_back([len(known) - count for known, count in zip(self.ids_ahead, counts, strict=True)])
        rest = [list(wanted[count:]) for wanted, count in zip(ids, counts, strict=True)]
        if not any(rest):
            return {}
        logits = self._first.read(rest, [min(1, len(chunk)) for chunk in rest])
        for at, (chunk, numbers) in enumerate(zip(rest, self._numbers_of(rest), strict=True)):
            self.ids_ahead[at] += chunk
            self._numbers[at] += numbers
        return dict(zip([at for at, chunk in enumerate(rest) if chunk], logits, strict=True))

    def ahead_trees(self, trees: Sequence[DraftTree]) -> list[torch.Tensor]:
        """Of each text the logits after the nodes of a tree that comes after what has been read ahead; they are not kept."""
        logits = self._first_trees(trees)
        self._first.keep([[] for _ in trees])
        return list(logits.split([len(tree) for tree in trees]))

    def _first_trees(self, trees: Sequence[DraftTree]) -> torch.Tensor:
        if not self._first.reads_trees:
            raise ValueError("trees of layers that read ahead need a model whose attention reads trees by a mask")
        return self._first.read_trees([[] for _ in trees], [0] * len(trees), trees)

    def _numbers_of(self, chunks: Sequence[Sequence[int]]) -> list[list[int]]:
        """Of the states of what the first half has just read, which may have been more: whole texts again."""
        own = [row[len(row) - len(chunk) :] for row, chunk in zip(self._passed, chunks, strict=True)]
        return [self._numbered.add(states) for states in own]

    def _take_back(self, counts: Sequence[int]) -> None:
        if any(counts):
            self._first.rollback(counts)
        for ids, numbers, count in zip(self.ids_ahead, self._numbers, counts, strict=True):
            del ids[len(ids) - count :], numbers[len(numbers) - count :]

    # ------------------------------------------------------------------ a reader

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        numbers = self._numbers_up_to(chunks)
        logits = self._second.read(numbers, scored)
        self.states = self._second.states
        return logits

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        numbers = self._numbers_up_to(chunks)
        self._first_trees(trees)
        nodes = self._numbers_of([tree.tokens for tree in trees])
        read = [DraftTree(own, tree.parents) for own, tree in zip(nodes, trees, strict=True)]
        logits = self._second.read_trees(numbers, scored, read)
        self.states = self._second.states
        return logits

    def _numbers_up_to(self, chunks: Sequence[Sequence[int]]) -> list[list[int]]:
        """The first half's texts go on with these chunks, and no further; the states are the second one's from now on."""
        self.ahead(chunks)
        self._take_back([len(ids) - len(chunk) for ids, chunk in zip(self.ids_ahead, chunks, strict=True)])
        numbers = self._numbers
        self.ids_ahead, self._numbers = [[] for _ in chunks], [[] for _ in chunks]
        self._second.keeps_states = self.keeps_states
        return numbers

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        self._first.keep(paths)
        self._second.keep(paths)

    def select(self, texts: Sequence[int]) -> None:
        self._first.select(texts)
        self._second.select(texts)
        self.ids_ahead = [list(self.ids_ahead[text]) for text in texts]
        self._numbers = [list(self._numbers[text]) for text in texts]

    def taken(self, texts: Sequence[int]) -> SplitReader:
        raise ValueError(ALONE)

    def join(self, other: Any) -> None:
        raise ValueError(ALONE)

    def rollback(self, counts: Sequence[int]) -> None:
        self._take_back([len(ids) for ids in self.ids_ahead])
        self._first.rollback(counts)
        self._second.rollback(counts)


class NumberedStates(nn.Module):
    """In place of a model's input: its ids are numbers of states, which enter a layer further on; before it enters any id."""

    def __init__(self, known: nn.Module):
        super().__init__()
        self.known = known
        self.states: list[torch.Tensor] = []
        self.entering = torch.empty(0)

    def add(self, states: torch.Tensor) -> list[int]:
        """The numbers of more states [n, hidden]."""
        self.states += states
        return list(range(len(self.states) - len(states), len(self.states)))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        rows = [torch.stack([self.states[number] for number in row]) for row in ids.tolist()]
        self.entering = torch.stack(rows)
        entered: torch.Tensor = self.known(torch.zeros_like(ids))
        return entered
