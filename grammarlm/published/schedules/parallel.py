"""PEARL (Parallel Speculative Decoding with Adaptive Draft Length): another thread drafts while the target reads a chain.

It goes on from the chain's end. Where the whole chain and the token after it are drawn, the next chain is there already; else it is
forgotten, and the next chain has a single token, so that the target reads while the rest is drafted. With `branches` several tokens
that may come after the chain are tried: those that the draft finds likeliest, or, with `layers`, Mirror-SD's (glimpse.py). All
drafts are held to the grammar. It costs a thread, and drafts that nobody reads. Of no use where target and draft share a processor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Thread
from time import perf_counter

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, Drafter, NodeDrafter, Target
from grammarlm.decoding.speculative.drafters.several import Several
from grammarlm.decoding.speculative.draws import Shape
from grammarlm.decoding.speculative.schedule import Schedule

from .ahead import Ahead, Round, Tips
from .glimpse import Glimpse

THREAD = "grammarlm-draft-ahead"


class Parallel(Schedule):
    """`ahead`: tokens drafted after the one that the target draws; `branches`: how many such tokens are tried, by what the target's
    first `layers` layers say, or by the draft. `trace` has the last rounds."""

    needs_chain = True

    def __init__(self, ahead: int = 4, branches: int = 1, layers: int | None = None):
        check_integer("ahead", ahead, 1)
        check_integer("branches", branches, 1)
        check_integer("layers", layers, 1, optional=True)
        self.ahead, self.branches = ahead, branches
        self._glimpse = None if layers is None else Glimpse(layers)
        self._rows: list[Row] = []  # of this round
        self.trace: deque[Round] = deque(maxlen=1000)
        self._running: Ahead | None = None
        self._ready: Ahead | None = None
        self._sizes: dict[Row, tuple[int, int]] = {}  # ids of the text, nodes of the last chain

    def begin(self, target: Target, drafter: Drafter) -> None:
        if not isinstance(drafter, NodeDrafter) or isinstance(drafter, Several) or drafter.drafts_by_reader:
            raise ValueError("a parallel schedule needs one drafter that goes on token by token, such as a draft model")
        self._join()  # of a call that came to no end
        if self._glimpse is not None:
            self._glimpse.begin(target.model)
        self._ready, self._sizes = None, {}

    def rooms(self, rows: Sequence[Row], rooms: Sequence[int]) -> Sequence[int]:
        return [min(room, 1) if self._was_cut(row) else room for row, room in zip(rows, rooms, strict=True)]

    def _was_cut(self, row: Row) -> bool:
        ids, nodes = self._sizes.get(row, (0, 0))
        return nodes > 0 and len(row.ids) <= ids + nodes

    def begin_round(self, rows: Sequence[Row], growths: Sequence[DraftBuilder]) -> None:
        """Chains begin with what was drafted ahead, where that has come."""
        self._rows = list(rows)
        ready, self._ready = self._ready, None
        for growth in growths:
            if ready is not None:
                ready.begin(growth)

    def drafted(self, shape: Shape, drafter: Drafter, growths: Sequence[DraftBuilder]) -> None:
        self._sizes |= {growth.row: (len(growth.ids), growth.tree.drafted) for growth in growths}
        began = Round(perf_counter())
        run = Ahead.of(growths, self.ahead, self.branches, began)
        given = shape, drafter, 1 + self.ahead, self.branches, self._likely
        run.thread = Thread(target=run.draft, args=given, name=THREAD, daemon=True)
        self._running = run
        if self._glimpse is not None:
            self._glimpse.watch(THREAD)
        run.thread.start()

    def _likely(self, tips: Tips) -> list[Candidates] | None:
        return None if self._glimpse is None else self._glimpse.likely(tips, self._rows)

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
