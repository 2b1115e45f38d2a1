"""What a parallel schedule drafts while the target reads: of each row a tree that begins with the chain that the target reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Thread
from time import perf_counter

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import Shape, goes_on
from grammarlm.decoding.speculative.shapes import children

Tips = list[tuple[DraftBuilder, int]]
Likely = Callable[[Tips], "list[Candidates] | None"]


@dataclass
class Round:
    """Seconds of perf_counter, and what came of it."""

    began: float
    drafting: tuple[float, float] = (0.0, 0.0)
    reading: tuple[float, float] = (0.0, 0.0)
    drafted: int = 0  # tokens that were drafted ahead
    taken: int = 0  # of these, tokens that the next drafts began with, or that were drawn


@dataclass
class Ahead:
    """What one thread drafts."""

    growths: dict[Row, DraftBuilder]
    lengths: dict[Row, int]  # ids of the text
    trace: Round
    thread: Thread = field(default_factory=Thread)
    errors: list[Exception] = field(default_factory=list)

    @classmethod
    def of(cls, growths: Sequence[DraftBuilder], ahead: int, branches: int, trace: Round) -> Ahead:
        """The same chains, all of its own, with room for so many tokens after the next one."""
        further: dict[Row, DraftBuilder] = {}
        for growth in growths:
            left, chain = growth.row.spec.settings.max_tokens - growth.row.count - 1, growth.tree.without_asides.tokens
            if chain:
                longer = further[growth.row] = DraftBuilder(growth.row, min(left, len(chain) + 1 + ahead))
                longer.most = len(chain) + branches * (1 + ahead)
                longer.add_run(chain)
        return cls(further, {row: len(row.ids) for row in further}, trace)

    def draft(self, shape: Shape, drafter: NodeDrafter, steps: int, branches: int, likely: Likely) -> None:
        """So many tokens from the end of each chain, the first in so many branches: by `likely`, or where it is None the draft."""
        began, size = perf_counter(), sum(len(growth.tree) for growth in self.growths.values())
        try:
            tips = [(growth, growth.tip) for growth in self.growths.values()]
            for step in range(steps):
                tips = [(growth, node) for growth, node in tips if growth.depth(node) < growth.room]
                if not tips:
                    break
                width = 1 if step else branches
                found = (None if step else likely(tips)) or drafter.after(tips, width)
                tips = [
                    (g, child)
                    for (g, node), candidates in zip(tips, found, strict=True)
                    for child in children(shape, g, node, candidates, width)
                    if not step or goes_on(shape, g, child, candidates)  # the first one is the target's
                ]
        except Exception as error:
            self.errors.append(error)
        self.trace.drafting = began, perf_counter()
        self.trace.drafted = sum(len(growth.tree) for growth in self.growths.values()) - size

    def begin(self, growth: DraftBuilder) -> None:
        """Begins a chain with what was drafted for its row, where the text has gone the same way."""
        ahead, node = self.growths.get(growth.row), ROOT
        if ahead is None:
            return
        for token in growth.ids[self.lengths[growth.row] :]:
            child = ahead.tree.child(node, token)
            if child is None:
                return
            node = child
        while (child := next(ahead.tree.children(node), None)) is not None:
            if node in ahead.tree.drawn:
                growth.tree.drawn[growth.tip] = ahead.tree.drawn[node]
            if growth.add(ahead.tree.tokens[child], growth.tip) is None:
                break
            node, self.trace.taken = child, self.trace.taken + 1
            if node in ahead.chances:
                growth.chances[growth.tip] = ahead.chances[node]
