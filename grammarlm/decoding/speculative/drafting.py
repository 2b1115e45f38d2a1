"""Drafts for one batch: what the loop asks, and what drafters are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from grammarlm.decoding.loop.forced_draft import forced_draft
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree

from .acceptance import Rule
from .cost import EXPLORES, Cost
from .drafters.combined import Combined
from .drafters.drafter import Drafter
from .draws import Shape
from .growth import Growth
from .shapes import grow


class Drafting:
    """One batch's drafts; the drafter outlives it."""

    def __init__(
        self, drafter: Drafter, shape: Shape, rule: Rule, room: Callable[[Row], int], cost: Cost, saves: bool = False
    ):
        """`saves`: drafts only what pays by the cost of a forward."""
        self._drafter, self._shape, self._rule, self._room = drafter, shape, rule, room
        self._cost, self._saves, self._has_read, self._round = cost, saves, False, 0
        self._known: dict[Row, int] = {}  # how many ids of a row the drafter has been told
        self._growths: dict[Row, Growth] = {}

    def propose(self, rows: Sequence[Row]) -> list[DraftTree]:
        for row in rows:
            self._tell(row)
            row.rule = self._rule.choose
        growths = {row: Growth(row, self._room(row)) for row in rows}
        # Whole prompts are read without a mask for trees, which would be as large as their square.
        shape = self._shape if self._has_read else replace(self._shape, name="chain")
        grow(shape, self._drafter, [growth for growth in growths.values() if growth.room > 0])
        if self._saves and isinstance(self._drafter, Combined):
            self._cut(growths, self._drafter)
        for row, growth in growths.items():
            if not growth.tree and not self._saves:  # "auto" has a drafter for what the grammar forces
                growth.tree = DraftTree.chain(forced_draft(row))
        self._growths = growths
        return [growths[row].tree for row in rows]

    def _cut(self, growths: dict[Row, Growth], drafter: Combined) -> None:
        """Leaves of each chain what pays."""
        self._round += 1
        least = self._cost.least(len(growths))
        for growth in growths.values():
            if growth.tree:
                rate, chance, length = drafter.rate(growth.drafters[0]), 1.0, 0
                while length < len(growth.tree) and (chance := chance * rate) >= least:
                    length += 1
                growth.cut(length or int(self._round % EXPLORES == 0))

    def _tell(self, row: Row) -> None:
        """What has been drawn since the last proposal."""
        known = self._known.get(row, 0)
        if len(row.ids) > known:
            self._drafter.learn(row, row.ids[known:])
            self._known[row] = len(row.ids)
        growth = self._growths.pop(row, None)
        tree = DraftTree() if growth is None else growth.tree
        nodes = drawn_nodes(tree, row.ids[known:])
        self._drafter.drawn(row, tree, nodes)
        if growth is not None and isinstance(self._drafter, Combined):
            self._count(growth, self._drafter, set(nodes))

    def _count(self, growth: Growth, drafter: Combined, path: set[int]) -> None:
        """Who proposed what has been drawn."""
        for number in set(growth.drafters):
            own = {at for at, who in enumerate(growth.drafters) if who == number}
            missed = any(growth.tree.parents[at] in path | {ROOT} for at in own - path)
            drafter.count(number, len(own & path) + missed, len(own & path))

    @property
    def needs_states(self) -> bool:
        return self._drafter.needs_states

    def observe(
        self,
        rows: Sequence[Row],
        logits: torch.Tensor,
        scored: Sequence[int],
        states: Sequence[torch.Tensor] | None,
        seconds: float,
    ) -> None:
        widths = [len(row.unread.tree) + 1 for row in rows]
        if self._has_read:  # the first forward reads the prompts
            self._cost.note(len(rows) * max(widths), seconds)
        self._has_read = True
        table, first = logits.numpy(), 0
        for at, (row, count) in enumerate(zip(rows, scored, strict=True)):
            tree = row.unread.tree
            before = [*row.ids[len(row.ids) - count :], *tree.tokens]
            self._drafter.observe(row, tree, before, table[first : first + len(before)])
            first += len(before)
            if states is not None and self.needs_states:
                self._drafter.observe_states(row, tree, states[at])

    def drop(self, row: Row) -> None:
        self._tell(row)
        self._drafter.drop(row)
        self._known.pop(row, None)


def drawn_nodes(tree: DraftTree, tokens: Sequence[int]) -> list[int]:
    """The nodes that these tokens of the answer are."""
    nodes: list[int] = []
    for token in tokens:
        child = tree.child(nodes[-1] if nodes else ROOT, token)
        if child is None:
            break
        nodes.append(child)
    return nodes
