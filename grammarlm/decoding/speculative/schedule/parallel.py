"""Drafting while the target reads (PEARL), for several tokens that it may draw (Mirror-SD).

While the target reads a chain another thread goes on from its end: first with the token that the target may draw there, then with a
few more. Where the whole chain and that token are drawn, the next chain is there already; else what was drafted ahead is forgotten.
After a chain that was not drawn to its end the next one has a single token, so that the target reads while the rest is drafted.

With `branches` above 1 the thread goes on from several tokens that may come at the end of the chain: those that the draft finds
likeliest, or, with `layers`, those that the target's first layers do, as soon as these have read (glimpse.py). Each thread has its
own trees and matchers; what it drafts is held to the grammar as all drafts are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.drafters.several import Several
from grammarlm.decoding.speculative.draws import goes_on
from grammarlm.decoding.speculative.growth import Growth
from grammarlm.decoding.speculative.shapes import children

from .glimpse import Glimpse
from .schedule import Schedule

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.drafters.drafter import Drafter, Target
    from grammarlm.decoding.speculative.draws import Shape

TRACED = 1000  # rounds
THREAD = "grammarlm-draft-ahead"


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
    """What one thread drafts: of each row a tree that begins with the chain that the target reads."""

    growths: dict[Row, Growth]
    lengths: dict[Row, int]  # ids of the text
    trace: Round
    thread: Thread = field(default_factory=Thread)
    errors: list[Exception] = field(default_factory=list)


class Parallel(Schedule):
    """`ahead`: tokens that are drafted after the one that the target draws; `branches`: how many such tokens are tried, by what
    the target's first `layers` layers say, or by the draft.

    `trace` has the last rounds.
    """

    needs_chain = True

    def __init__(self, ahead: int = 4, branches: int = 1, layers: int | None = None):
        check_integer("ahead", ahead, 1)
        check_integer("branches", branches, 1)
        check_integer("layers", layers, 1, optional=True)
        self.ahead, self.branches = ahead, branches
        self._glimpse = None if layers is None else Glimpse(layers)
        self._rows: list[Row] = []  # of this round
        self.trace: deque[Round] = deque(maxlen=TRACED)
        self._running: Ahead | None = None
        self._ready: Ahead | None = None
        self._sizes: dict[Row, tuple[int, int]] = {}  # ids of the text, nodes of the last chain

    def begin(self, target: Target, drafter: Drafter) -> None:
        if not isinstance(drafter, NodeDrafter) or isinstance(drafter, Several) or drafter.drafts_by_reader:
            raise ValueError("a parallel schedule needs one drafter that goes on token by token, such as a draft model")
        self._join()  # of a call that came to no end
        if self._glimpse is not None:
            self._glimpse.begin(target.model)
        self._ready = None
        self._sizes.clear()

    def rooms(self, rows: Sequence[Row], rooms: Sequence[int]) -> Sequence[int]:
        return [min(room, 1) if self._was_cut(row) else room for row, room in zip(rows, rooms, strict=True)]

    def _was_cut(self, row: Row) -> bool:
        ids, nodes = self._sizes.get(row, (0, 0))
        return nodes > 0 and len(row.ids) <= ids + nodes

    def begin_round(self, rows: Sequence[Row], growths: Sequence[Growth]) -> None:
        """Chains begin with what was drafted ahead, where that has come."""
        self._rows = list(rows)
        ready, self._ready = self._ready, None
        if ready is not None:
            for growth in growths:
                ready.trace.taken += take(growth, ready)

    def drafted(self, shape: Shape, drafter: Drafter, growths: Sequence[Growth]) -> None:
        assert isinstance(drafter, NodeDrafter)
        self._sizes |= {growth.row: (len(growth.ids), growth.tree.drafted) for growth in growths}
        now = perf_counter()
        chains = [growth for growth in growths if growth.tree.without_asides]
        further = {growth.row: self._longer(growth) for growth in chains}
        run = Ahead(further, {row: len(row.ids) for row in further}, Round(now))
        run.thread = Thread(target=self._draft, args=(run, shape, drafter), name=THREAD, daemon=True)
        self._running = run
        if self._glimpse is not None:
            self._glimpse.watch(THREAD)
        run.thread.start()

    def _longer(self, growth: Growth) -> Growth:
        """The same chain, with room for more; all of its own."""
        left = growth.row.spec.settings.max_tokens - growth.row.count - 1
        chain = growth.tree.without_asides.tokens
        longer = Growth(growth.row, min(left, len(chain) + 1 + self.ahead))
        longer.most = len(chain) + self.branches * (1 + self.ahead)
        longer.add_run(chain)
        return longer

    def _draft(self, run: Ahead, shape: Shape, drafter: NodeDrafter) -> None:
        began, size = perf_counter(), sum(len(growth.tree) for growth in run.growths.values())
        try:
            tips = [(growth, growth.tip) for growth in run.growths.values()]
            for step in range(1 + self.ahead):
                tips = [(growth, node) for growth, node in tips if growth.depth(node) < growth.room]
                if not tips:
                    break
                width = 1 if step else self.branches
                found = (None if step else self._likely(tips)) or drafter.after(tips, width)
                pairs = zip(tips, found, strict=True)
                tips = [
                    (g, child)
                    for (g, node), candidates in pairs
                    for child in children(shape, g, node, candidates, width)
                    if not step or goes_on(shape, g, child, candidates)  # the first one is the target's
                ]
        except Exception as error:
            run.errors.append(error)
        run.trace.drafting = began, perf_counter()
        run.trace.drafted = sum(len(growth.tree) for growth in run.growths.values()) - size

    def _likely(self, tips: Sequence[tuple[Growth, int]]) -> list[Candidates] | None:
        """What the target's first layers say may come; None where they say nothing: the draft is asked."""
        logits = None if self._glimpse is None else self._glimpse.wait()
        if logits is None or len(logits) != len(self._rows):  # rows that have nothing more to choose are read, too
            return None
        found = []
        for growth, node in tips:
            masked = growth.masked(logits[self._rows.index(growth.row)], node)
            found.append(Candidates((), ()) if masked is None else Candidates((), (), masked))
        return found

    def read(self) -> None:
        """Raises what the drafter has raised in its thread; what it has drafted before is of use all the same."""
        run = self._join()
        self._ready = run or self._ready
        if run is not None and run.errors:
            raise run.errors[0]

    def _join(self) -> Ahead | None:
        run, self._running = self._running, None
        if run is None:
            return None
        run.trace.reading = run.trace.began, perf_counter()
        if self._glimpse is not None:
            self._glimpse.stop()
        run.thread.join()
        self.trace.append(run.trace)
        return run

    def drop(self, row: Row) -> None:
        self._sizes.pop(row, None)
        if self._ready is not None:
            self._ready.growths.pop(row, None)
            self._ready.lengths.pop(row, None)


def take(growth: Growth, ready: Ahead) -> int:
    """Begins a chain with what was drafted ahead for this row, where the text has gone the same way; how many tokens."""
    ahead = ready.growths.get(growth.row)
    if ahead is None:
        return 0
    node = ROOT
    for token in growth.ids[ready.lengths[growth.row] :]:
        child = ahead.tree.child(node, token)
        if child is None:
            return 0
        node = child
    taken = 0
    while (child := next(ahead.tree.children(node), None)) is not None:
        if node in ahead.tree.drawn:
            growth.tree.drawn[growth.tip] = ahead.tree.drawn[node]
        if growth.add(ahead.tree.tokens[child], growth.tip) is None:
            break
        node, taken = child, taken + 1
        if node in ahead.chances:
            growth.chances[growth.tip] = ahead.chances[node]
    return taken
