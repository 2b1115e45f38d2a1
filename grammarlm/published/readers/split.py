"""A model read in two halves: what its first layers have read ahead is not read by them again.

    reader = SplitReader(model, prompts, at=2)
    logits = reader.ahead([[5], []])              # the first two layers read on, and the model's output guesses after them
    logits = reader.read([[5, 8], [7]], [2, 1])   # they read 8 and 7 alone; the other layers read 5, 8 and 7

Each half is a reader with a cache of its own: the first one's texts are ahead of the second one's by what has been drafted. The
second one reads states instead of ids, and keeps those of its whole texts, for caches that count slots and are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.draft_tree import DraftTree

from .model_layers import after_layer, before_layer, layers_of, with_layers

Adapter = Callable[[torch.Tensor], torch.Tensor]
NEEDED = "layers that read ahead need a transformers model with a list of layers and a key-value cache"

ALONE = "what is read ahead belongs to this batch: its texts neither join others nor are taken out"


class Half(CachedReader):
    """Without a cache there are no halves: what one has read is not given to the other again."""

    def _go_without(self, why: str) -> None:
        raise ValueError(f"{NEEDED}: {why}")

    def _call(self, ids: torch.Tensor) -> torch.Tensor:
        raise ValueError(NEEDED)


class FirstHalf(Half):
    """Reader of the first layers. `states` are those after them; logits are the output's on what the adapter makes of them."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], at: int, adapter: Adapter | None):
        found = layers_of(model)
        if found is None:
            raise ValueError(NEEDED)
        way, layers = found
        self._last: list[torch.Tensor] = []

        def passed(states: torch.Tensor) -> torch.Tensor:
            self._last[:] = [states.detach()]
            return states if adapter is None else adapter(states)

        chosen = {**dict(enumerate(layers)), at - 1: after_layer(layers[at - 1], passed)}
        super().__init__(with_layers(model, way, chosen, range(at)), prompts, 0, "dynamic")

    @contextmanager
    def _caught_states(self) -> Iterator[list[torch.Tensor]]:
        self._last.clear()
        yield self._last


class SecondHalf(Half):
    """Reader of the other layers, for which ids only hold places. `given` are the states of what it reads next, a tree's last."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], at: int):
        found = layers_of(model)
        if found is None:
            raise ValueError(NEEDED)
        way, layers = found
        self._entering = torch.empty(0)
        chosen = {**dict(enumerate(layers)), at: before_layer(layers[at], lambda states: self._entering)}
        super().__init__(with_layers(model, way, chosen, range(at, len(layers))), prompts, 0, "dynamic")
        self.given: list[torch.Tensor] = []
        self._known: list[torch.Tensor] = []  # of all ids of the texts
        self._nodes: list[torch.Tensor] = []

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        self._take([0] * len(chunks))
        return super().read(chunks, scored)

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        self._take([len(tree) for tree in trees])
        return super().read_trees(chunks, scored, trees)

    def _take(self, nodes: Sequence[int]) -> None:
        parts = [given.split([len(given) - count, count]) for given, count in zip(self.given, nodes, strict=True)]
        known = self._known or [given[:0] for given in self.given]
        self._known = [torch.cat((before, text)) for before, (text, _) in zip(known, parts, strict=True)]
        self._nodes = [own for _, own in parts]

    def _inputs(self, ids: list[list[int]], pads: list[int]) -> dict[str, torch.Tensor]:
        rows = []
        for known, nodes, pad, row in zip(self._known, self._nodes, pads, ids, strict=True):
            states = torch.cat((known, nodes))
            own = states[len(states) - (len(row) - pad) :]
            rows.append(torch.cat((own.new_zeros(pad, own.shape[1]), own)))
        self._entering = torch.stack(rows)
        return super()._inputs(ids, pads)

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        super().keep(paths)
        triples = zip(self._known, self._nodes, paths, strict=True)
        self._known = [torch.cat((known, nodes[list(path)])) for known, nodes, path in triples]

    def select(self, texts: Sequence[int]) -> None:
        super().select(texts)
        self._known = [self._known[text] for text in texts]

    def rollback(self, counts: Sequence[int]) -> None:
        super().rollback(counts)
        self._known = [known[: len(known) - count] for known, count in zip(self._known, counts, strict=True)]


class SplitReader:
    """Both halves as one reader, with drafts that the first one reads ahead."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], at: int, adapter: Adapter | None = None):
        self._first, self._second = FirstHalf(model, prompts, at, adapter), SecondHalf(model, prompts, at)
        self.beginnings = self._first.beginnings
        self.keeps_states = False
        self.states: list[torch.Tensor] | None = None
        self.ids_ahead: list[list[int]] = [[] for _ in prompts]  # that the first half has read ahead of each text
        self._states: list[torch.Tensor | None] = [None] * len(prompts)  # and their states

    @property
    def width(self) -> int | None:
        return self._first.width

    @property
    def unequal_is_cheap(self) -> bool:
        return self._first.unequal_is_cheap

    @property
    def rollback_is_cheap(self) -> bool:
        return self._first.rollback_is_cheap

    @property
    def reads_trees(self) -> bool:
        return False  # nothing else may be read around these

    # ------------------------------------------------------------------ ahead

    def ahead(self, ids: Sequence[Sequence[int]]) -> dict[int, torch.Tensor]:
        """Makes `ids[i]` what the first half has read ahead of text i; the logits after the last id of each that was not."""
        counts = [shared(known, wanted) for known, wanted in zip(self.ids_ahead, ids, strict=True)]
        self._take_back([len(known) - count for known, count in zip(self.ids_ahead, counts, strict=True)])
        rest = [list(wanted[count:]) for wanted, count in zip(ids, counts, strict=True)]
        if not any(rest):
            return {}
        logits = self._first.read(rest, [min(1, len(chunk)) for chunk in rest])
        self._add(rest)
        return dict(zip([at for at, chunk in enumerate(rest) if chunk], logits, strict=True))

    def ahead_trees(self, trees: Sequence[DraftTree]) -> list[torch.Tensor]:
        """Of each text the logits after the nodes of a tree that comes after what has been read ahead; they are not kept."""
        self._check_trees()
        logits = self._first.read_trees([[] for _ in trees], [0] * len(trees), trees)
        self._first.keep([[] for _ in trees])
        return list(logits.split([len(tree) for tree in trees]))

    def _check_trees(self) -> None:
        if not self._first.reads_trees:
            raise ValueError("trees of layers that read ahead need a model whose attention reads trees by a mask")

    def _add(self, chunks: Sequence[Sequence[int]]) -> None:
        for at, (chunk, states) in enumerate(zip(chunks, self._states_of(chunks), strict=True)):
            known = self._states[at]
            self.ids_ahead[at] += chunk
            self._states[at] = states if known is None else torch.cat((known, states))

    def _states_of(self, chunks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Of what the first half has just read; it may have read whole texts again."""
        if self._first.states is None:
            raise ValueError(NEEDED)
        return [row[len(row) - len(chunk) :] for row, chunk in zip(self._first.states, chunks, strict=True)]

    def _take_back(self, counts: Sequence[int]) -> None:
        if any(counts):
            self._first.rollback(counts)
        for at, count in enumerate(counts):
            states = self._states[at]
            self.ids_ahead[at] = self.ids_ahead[at][: len(self.ids_ahead[at]) - count]
            self._states[at] = None if states is None else states[: len(self.ids_ahead[at])]

    def _drop_ahead(self) -> None:
        self.ids_ahead = [[] for _ in self.ids_ahead]
        self._states = [None] * len(self.ids_ahead)

    # ------------------------------------------------------------------ a reader

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        self._read_up_to(chunks)
        self._second.given = self._given()
        self._drop_ahead()
        return self._passed_on(lambda: self._second.read(chunks, scored))

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        self._check_trees()
        self._read_up_to(chunks)
        given = self._given()
        self._first.read_trees([[] for _ in trees], [0] * len(trees), trees)
        nodes = self._states_of([tree.tokens for tree in trees])
        self._second.given = [torch.cat(pair) for pair in zip(given, nodes, strict=True)]
        self._drop_ahead()
        return self._passed_on(lambda: self._second.read_trees(chunks, scored, trees))

    def _read_up_to(self, chunks: Sequence[Sequence[int]]) -> None:
        """The first half's texts go on with these chunks, and no further."""
        self.ahead(chunks)
        self._take_back([len(ids) - len(chunk) for ids, chunk in zip(self.ids_ahead, chunks, strict=True)])

    def _given(self) -> list[torch.Tensor]:
        like = next(states for states in self._states if states is not None)
        return [like[:0] if states is None else states for states in self._states]

    def _passed_on(self, read: Callable[[], torch.Tensor]) -> torch.Tensor:
        self._second.keeps_states = self.keeps_states
        logits = read()
        self.states = self._second.states
        return logits

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        self._first.keep(paths)
        self._second.keep(paths)

    def select(self, texts: Sequence[int]) -> None:
        self._first.select(texts)
        self._second.select(texts)
        self.ids_ahead = [list(self.ids_ahead[text]) for text in texts]
        self._states = [self._states[text] for text in texts]

    def taken(self, texts: Sequence[int]) -> SplitReader:
        raise ValueError(ALONE)

    def join(self, other: Any) -> None:
        raise ValueError(ALONE)

    def rollback(self, counts: Sequence[int]) -> None:
        self._take_back([len(ids) for ids in self.ids_ahead])
        self._first.rollback(counts)
        self._second.rollback(counts)


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    """How many ids both begin with."""
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return count
