"""A draft tree of one answer while it is drafted, held to the answer's grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.errors import LimitExceeded
from grammarlm.masks.draft_tree import MaskTree
from grammarlm.masks.mask_array import allocate_mask

LOWEST = -np.inf
NODES = 24  # of a tree that is no longer chain than that


BY_RANKS = "by ranks"  # a tree of the caller's
Path = tuple[int, ...]  # to a node: the ranks of the tokens on the way, among the candidates of the node above each
# Of a text, tokens that may follow it, the draft's chance of each, and the draft model's last hidden state there (None where it has
# none): how probable it is that each is drawn.
Accepts = Callable[[list[int], Sequence[int], Sequence[float], Any], Sequence[float]]


@dataclass(frozen=True)
class Shape:
    """What trees are wanted."""

    tree: str = "chain"  # a name of TREES, or BY_RANKS
    paths: Sequence[Path] = ()  # all of a tree by ranks, shorter ones first
    length: int = 0
    draws: str = "coupled"  # with the target's own noise; "iid", "distinct": with other noise
    stop: float | None = None  # a path ends where the chance that some token of it is refused is above this
    above: float = 0.0  # a path ends where a token has no more than this probability
    widths: Sequence[int] | None = None  # children of the best node at each depth of a tree; None: those of its name
    accepts: Accepts | None = None  # how probable tokens are to be drawn; None: as the draft itself says


class DraftBuilder:
    """What a drafter sees of an answer, and adds its tokens to. A token that the grammar forbids is not added."""

    def __init__(self, row: Row, room: int, shape: Shape):
        self.row, self.ids, self.shape = row, row.ids, shape
        self.begins = len(row.ids)  # the place of the first token
        self.room = room  # the most tokens on a path
        self.most = max(room, NODES, len(shape.paths))  # nodes
        self.tree = DraftTree()
        self.depths: list[int] = []
        self.drafters: list[int] = []  # which member of a list of drafters proposed the node
        self.drafter = 0
        # Of the path to a node, where paths end by it: as the draft itself says, or `shape.accepts`.
        self.chances: dict[int, float] = {}
        self.others: list[tuple[int, Sequence[int]]] = []  # chains that other members of a list would have drafted
        self._masks = None if row.grammar.matcher is None else MaskTree(row.grammar.matcher)
        self._stop_ids = row.spec.vocab.stop_ids
        self.width = min(row.spec.vocab.size, row.width or row.spec.vocab.size)

    def depth(self, node: int) -> int:
        """How many tokens lead to the node."""
        return 0 if node == ROOT else self.depths[node]

    def add(self, token: int, parent: int = ROOT) -> int | None:
        """The node of a token; None where it may not come there, ends the text, or is too far away. One that is there is found."""
        known = self.tree.child(parent, token)
        if known is not None:
            return known
        if self.depth(parent) >= self.room or len(self.tree) >= self.most:
            return None
        if token in self._stop_ids or not 0 <= token < self.width:
            return None
        if self._masks is not None and self._masks.add(token, parent) is None:
            return None
        self.depths.append(self.depth(parent) + 1)
        self.drafters.append(self.drafter)
        return self.tree.add(token, parent)

    def may_add(self, token: int, parent: int) -> bool:
        """Would `add` make or find a node?"""
        before = len(self.tree)
        found = self.add(token, parent) is not None
        self.cut(before)
        return found

    def add_run(self, tokens: Iterable[int], parent: int = ROOT) -> int:
        """Adds tokens one after another, up to the first that may not come; the last node."""
        for token in tokens:
            node = self.add(token, parent)
            if node is None:
                break
            parent = node
        return parent

    @property
    def tip(self) -> int:
        """The last node of a chain."""
        return len(self.tree) - 1 if self.tree else ROOT

    def widen(self, length: int) -> None:
        """Makes room for so many tokens at least."""
        self.room, self.most = max(self.room, length), max(self.most, length)

    def cut(self, length: int) -> None:
        """Leaves the first nodes only."""
        for each in (self.tree.tokens, self.tree.parents, self.depths, self.drafters):
            del each[length:]
        for node in [node for node in self.tree.drawn if node >= length]:
            del self.tree.drawn[node]
        if self._masks is not None:
            self._masks.keep(length)

    def masked(self, logits: np.ndarray, node: int) -> np.ndarray | None:
        """A copy of a draft model's logits after the node with -inf for what may not come; None where nothing may."""
        kept = np.array(logits, np.float32)
        kept[self.width :] = LOWEST
        if self._masks is not None:
            mask = allocate_mask(1, self.row.spec.vocab.size)
            try:
                if self._masks.fill(mask, 0, node):
                    apply_mask_(torch.from_numpy(kept)[None], mask)
            except LimitExceeded:
                return None
        kept[[stop for stop in self._stop_ids if stop < len(kept)]] = LOWEST
        return kept if np.isfinite(kept).any() else None
