"""PEARL (Parallel Speculative Decoding with Adaptive Draft Length): another thread drafts while the target reads a chain.

It goes on from the chain's end. Where the whole chain and the token after it are drawn, the next chain is there already; else it is
forgotten, and the next chain has a single token, so that the target reads while the rest is drafted. With `branches` several tokens
that may come after the chain are tried: those that the draft finds likeliest, or, with `layers`, Mirror-SD's (glimpse.py). All
drafts are held to the grammar. It costs a thread, and drafts that nobody reads. Of no use where target and draft share a processor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Drafter, NodeDrafter, Target
from grammarlm.decoding.speculative.drafters.several import Several
from grammarlm.decoding.speculative.schedule import Schedule

from .ahead import Ahead, Round
from .glimpse import Glimpse


class Parallel(Schedule):
    """`ahead`: tokens drafted after the one that the target draws; `branches`: how many such tokens are tried, by what the target's
    first `layers` layers say, or by the draft. `trace` has the last rounds."""

    needs_chain = True

    def __init__(self, ahead: int = 4, branches: int = 1, layers: int | None = None):
        check_integer("ahead", ahead, 1)
        check_integer("branches", branches, 1)
        check_integer("layers", layers, 1, optional=True)
        self.ahead, self.branches, self._glimpse = ahead, branches, Glimpse(layers)
        self._rows: Sequence[Row] = ()  # of this round
        self.trace: deque[Round] = deque(maxlen=1000)
        self._running: Ahead | None = None
        self._ready: Ahead | None = None
        self._ends = self.by_row()  # ids of the text with the last chain; 0 where there was none

    def begin(self, target: Target, drafter: Drafter) -> None:
        if not isinstance(drafter, NodeDrafter) or isinstance(drafter, Several) or drafter.has_reader:
            raise ValueError("a parallel schedule needs one drafter that goes on token by token, such as a draft model")
        with suppress(Exception):  # of a call that came to no end
            self.read()
        self._glimpse.begin(target.model)
        self._ready = None

    def rooms(self, rows: Sequence[Row], rooms: Sequence[int]) -> Sequence[int]:
        """One where the last chain was cut."""
        are_cut = [len(row.ids) <= self._ends.get(row, 0) for row in rows]
        return [min(room, 1) if is_cut else room for is_cut, room in zip(are_cut, rooms, strict=True)]

    def begin_round(self, rows: Sequence[Row], growths: Sequence[DraftBuilder]) -> None:
        """Chains begin with what was drafted ahead, where that has come."""
        self._rows = rows
        ready, self._ready = self._ready, None
        if ready is not None:
            for growth in growths:
                ready.begin(growth)
            ready.growths.clear()  # whoever remembers the thread keeps no drafts

    def drafted(self, drafter: Drafter, growths: Sequence[DraftBuilder]) -> None:
        assert isinstance(drafter, NodeDrafter)
        for growth in growths:
            self._ends[growth.row] = len(growth.ids) + growth.tree.drafted if growth.tree else 0
        self._running = Ahead(growths, drafter, self.ahead, self.branches, self._glimpse.likely)
        self._glimpse.watch(self._running, self._rows)
        self._running.start()

    def read(self) -> None:
        """Raises what the drafter has raised in its thread; what it has drafted before is of use all the same."""
        run, self._running = self._running, None
        if run is None:
            return
        run.trace.reading = run.trace.began, perf_counter()
        self._glimpse.stop()
        run.join()
        self.trace.append(run.trace)
        self._ready = run
        for error in run.errors:
            raise error

    def drop(self, row: Row) -> None:
        super().drop(row)
        if self._ready is not None:
            self._ready.growths.pop(row, None)
