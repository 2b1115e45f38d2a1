"""What a parallel schedule drafts while the target reads: of each row a tree that begins with the chain that the target reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from time import perf_counter

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import goes_on
from grammarlm.decoding.speculative.shapes import children

THREAD = "grammarlm-draft-ahead"
Likely = Callable[[Sequence[tuple[DraftBuilder, int]]], "list[Candidates] | None"]


@dataclass
class Round:
    """Seconds of perf_counter, and what came of it."""

    began: float
    drafting: tuple[float, float] = (0.0, 0.0)
    reading: tuple[float, float] = (0.0, 0.0)
    drafted: int = 0  # tokens that were drafted ahead
    taken: int = 0  # of these, tokens that the next drafts began with, or that were drawn


class Ahead(Thread):
    """Drafts `ahead` tokens after the next one from the end of each chain, the next one in so many branches: by `likely`, or where
    that is None the draft."""

    def __init__(
        self, growths: Sequence[DraftBuilder], drafter: NodeDrafter, ahead: int, branches: int, likely: Likely
    ):
        super().__init__(name=THREAD, daemon=True)
        self._drafter, self._ahead, self._branches, self._likely = drafter, ahead, branches, likely
        self.trace, self.errors = Round(perf_counter()), list[Exception]()
        chains = {growth.row: growth.tree.without_asides.tokens for growth in growths if growth.tree.drafted}
        self.growths: dict[Row, DraftBuilder] = {}  # the same chains, with room for more
        for row, chain in chains.items():
            room = min(row.spec.settings.max_tokens - row.count, len(chain) + 2 + ahead) - 1
            self.growths[row] = longer = DraftBuilder(row, room, growths[0].shape)
            longer.most = len(chain) + branches * (1 + ahead)
            longer.add_run(chain)

    def run(self) -> None:
        began, size = perf_counter(), sum(len(growth.tree) for growth in self.growths.values())
        try:
            self._draft()
        except Exception as error:
            self.errors.append(error)
        self.trace.drafting = began, perf_counter()
        self.trace.drafted = sum(len(growth.tree) for growth in self.growths.values()) - size

    def _draft(self) -> None:
        tips = [(growth, growth.tip) for growth in self.growths.values()]
        for step in range(1 + self._ahead):
            tips = [(growth, node) for growth, node in tips if growth.depth(node) < growth.room]
            if not tips:
                return
            width = 1 if step else self._branches
            found = (None if step else self._likely(tips)) or self._drafter.after(tips, width)
            tips = [
                (growth, child)
                for (growth, node), candidates in zip(tips, found, strict=True)
                for child in children(growth, node, candidates, width)
                if not step or goes_on(growth, child, candidates)  # the first one is the target's
            ]

    def begin(self, growth: DraftBuilder) -> None:
        """Begins a chain with what was drafted for its row, where the text has gone the same way."""
        ahead = self.growths.get(growth.row)
        if ahead is None:
            return
        said = growth.ids[ahead.begins :]
        *_, node = [ROOT, *ahead.tree.nodes_of(said)]
        if ahead.depth(node) < len(said):
            return
        while (child := next(ahead.tree.children(node), None)) is not None:
            if node in ahead.tree.drawn:
                growth.tree.drawn[growth.tip] = ahead.tree.drawn[node]
            if growth.add(ahead.tree.tokens[child], growth.tip) is None:
                break
            node, self.trace.taken = child, self.trace.taken + 1
            if node in ahead.chances:
                growth.chances[growth.tip] = ahead.chances[node]
