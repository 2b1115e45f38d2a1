"""Positions that a model reads beside its texts and that are no part of them: ephemeral ones.

    reader = EphemeralReader(open_reader(model, prompts, room), Ephemeral(ids=[7, 8]), model)
    reader.read(chunks, scored)              # the same logits as without
    reader.after[0]                          # [scored, 2, hidden]: what the model made of 7 and of 8 after each scored id

After each id that is scored, and after each node of a draft tree, come `count` positions of which each sees the text up to
there and those before it. They are nodes of the tree that the reader reads, and of no tree that anybody else knows: no text
sees them, they are never kept, so that texts, matchers and caches do not change. What they hold is ids (ConFu), or states of
one's own that enter a layer in their place: at the first layer embeddings that were trained (PPD), at a later one a function of
the state there of the id that they come after (Hidden Transfer).

Only readers that read trees by a mask can do this. The first forward reads the prompts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.reader import Reader

from .model_layers import layers_of, on_entry

ALONE = "what is read beside texts belongs to this batch: its texts neither join others nor are taken out"
Enter = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Ephemeral:
    """Ids to be read after each scored one; or `count` positions of which `enter(states [n, hidden])` gives what enters `layer`.

    The result is [n, count, hidden], a row for each id that positions come after; `states` are of these ids, before that layer.
    """

    ids: Sequence[int] = ()
    enter: Enter | None = None
    count: int = 0
    layer: int = 0

    @property
    def tokens(self) -> list[int]:
        return list(self.ids) or [0] * self.count


class EphemeralReader:
    """A reader that also reads ephemeral positions; `after` has what the last read made of them."""

    def __init__(self, reader: Reader, ephemeral: Ephemeral, model: Any):
        found = layers_of(model)
        if found is None:
            raise ValueError("ephemeral positions need a transformers model with a list of layers")
        self._reader, self._ephemeral = reader, ephemeral
        self._layer = found[1][ephemeral.layer]
        self._has_read = False
        reader.keeps_states = self.keeps_states = True
        self.beginnings: list[list[int]] = reader.beginnings
        self.states: list[torch.Tensor] | None = None
        self.after: list[torch.Tensor] | None = None  # of each text [scored ids and nodes, count, hidden]

    @property
    def width(self) -> int | None:
        return self._reader.width

    @property
    def unequal_is_cheap(self) -> bool:
        return self._reader.unequal_is_cheap

    @property
    def rollback_is_cheap(self) -> bool:
        return self._reader.rollback_is_cheap

    @property
    def reads_trees(self) -> bool:
        return False  # no ephemeral positions around these

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        if not self._has_read:
            self._has_read = True
            logits = self._reader.read(chunks, scored)
            self.states = self._reader.states
            return logits
        cuts = [len(chunk) - count + 1 if count else len(chunk) for chunk, count in zip(chunks, scored, strict=True)]
        chains = [DraftTree.chain(chunk[cut:]) for chunk, cut in zip(chunks, cuts, strict=True)]
        bases = [chunk[:cut] for chunk, cut in zip(chunks, cuts, strict=True)]
        logits = self.read_trees(bases, [min(1, count) for count in scored], chains)
        self.keep([range(len(chain)) for chain in chains])
        return logits

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        if not self._reader.reads_trees:
            raise ValueError(
                "ephemeral positions need a model whose attention reads trees by a mask; this one's does not"
            )
        counts = [min(1, count) + len(tree) for count, tree in zip(scored, trees, strict=True)]
        read = [with_positions(tree, count, self._ephemeral.tokens) for tree, count in zip(trees, scored, strict=True)]
        with self._entering(counts):
            logits = self._reader.read_trees(chunks, scored, read)
        first, kept = 0, list[int]()
        for count, tree, longer in zip(scored, trees, read, strict=True):
            kept += range(first, first + count + len(tree))
            first += count + len(longer)
        self._take(counts)
        return logits[torch.tensor(kept, dtype=torch.long)]

    def _take(self, counts: Sequence[int]) -> None:
        """Parts the states of the texts from those of the ephemeral positions."""
        count, states = len(self._ephemeral.tokens), self._reader.states
        assert states is not None
        own = [len(row) - at * count for row, at in zip(states, counts, strict=True)]
        self.states = [row[:end] for row, end in zip(states, own, strict=True)]
        self.after = [row[end:].unflatten(0, (-1, count)) for row, end in zip(states, own, strict=True)]

    @contextmanager
    def _entering(self, counts: Sequence[int]) -> Iterator[None]:
        """Gives the ephemeral positions their states where they enter the layer."""
        enter, count = self._ephemeral.enter, len(self._ephemeral.tokens)
        if enter is None:
            yield
            return

        # A row ends with the last id of its chunk, the nodes of its tree, and the positions that come after each of these.
        def entering(states: torch.Tensor) -> torch.Tensor:
            states = states.clone()
            for row, own in enumerate(counts):
                first = states.shape[1] - own * count
                if own:
                    entered = enter(states[row, first - own : first])
                    states[row, first:] = entered.reshape(own * count, -1).to(states.dtype)
            return states

        hook = on_entry(self._layer, entering)
        try:
            yield
        finally:
            hook.remove()

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        self._reader.keep(paths)

    def select(self, texts: Sequence[int]) -> None:
        self._reader.select(texts)

    def taken(self, texts: Sequence[int]) -> Reader:
        raise ValueError(ALONE)

    def join(self, other: Any) -> None:
        raise ValueError(ALONE)

    def rollback(self, counts: Sequence[int]) -> None:
        self._reader.rollback(counts)


def with_positions(tree: DraftTree, scored: int, tokens: Sequence[int]) -> DraftTree:
    """The tree, and after the text and each of its nodes a chain of ephemeral ids."""
    read = DraftTree(list(tree.tokens), list(tree.parents))
    for owner in range(ROOT, len(tree)):
        if owner == ROOT and not scored:
            continue
        node = owner
        for token in tokens:
            node = read.add(token, node)
    return read
