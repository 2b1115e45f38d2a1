"""How few tokens end a text: what may follow the right edge of a row.

`closing(point, symbol)` says, for a machine at a point with a symbol on top, by how many tokens at least that symbol is popped,
for each point that is reached by popping it. Stop ids cost nothing, so after the edge "within `room` tokens" and "in `room`
positions, filled up with stop ids" are the same. The least solution of these equations (Bellman):

    closing(final c, s)     min over edges c -> p of  1 + closing(p, s)           0 + for the stop ids
    closing(push (t, p), s) min over q of  closing(p, t)[q] + closing(q, s)
    closing(micro m, s)     {after: 0} for each rule (m, s, after); closing(after, s) where s stays
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.protocol import FINISHED

from .symbols import ROOT, on_top, stays

if TYPE_CHECKING:
    from .pushdown import PushdownTable

END = -1  # in place of a point: the row has ended, in FINISHED with nothing on the stack
Costs = dict[int, int]  # point reached by the pop -> tokens
MOST = 2_000_000


def offer_costs(known: Costs, costs: Costs, more: int, room: int) -> None:
    """Lowers known costs."""
    for after, tokens in costs.items():
        if tokens + more <= room and tokens + more < known.get(after, room + 1):
            known[after] = tokens + more


class Closings:
    """The costs of closing frames up to `room` tokens, found on demand."""

    def __init__(self, table: PushdownTable, room: int, check: Callable[[], None]):
        self._table, self._room, self._check = table, room, check
        self._known: dict[tuple[int, int], Costs] = {}
        self._users: dict[tuple[int, int], set[tuple[int, int]]] = {}

    def of(self, point: int, symbol: int) -> Costs:
        """Tokens by the point reached, for those within `room`."""
        key = point, symbol
        if key not in self._known:
            self._solve(key)
        return self._known[key]

    def _solve(self, key: tuple[int, int]) -> None:
        """Adds an unknown and all that it needs; computes until nothing changes."""
        waiting = {key: None}
        self._known[key] = {}
        while waiting:
            self._check()
            here = next(iter(waiting))
            del waiting[here]
            found = self._combined(here, waiting)
            if found != self._known[here]:
                self._known[here] = found
                waiting.update(dict.fromkeys(self._users.get(here, ())))
            if len(self._known) > MOST:
                raise LimitExceeded("a canvas: the ends of the text have too many cases; simplify the grammar")

    def _combined(self, key: tuple[int, int], waiting: dict[tuple[int, int], None]) -> Costs:
        point, symbol = key
        table, found = self._table, Costs()

        def use(other: int, top: int) -> Costs:
            needed = other, top
            if needed not in self._known:
                self._known[needed] = {}
                waiting[needed] = None
            self._users.setdefault(needed, set()).add(key)
            return self._known[needed]

        def offer(costs: Costs, more: int) -> None:
            for after, cost in costs.items():
                if cost + more <= self._room and cost + more < found.get(after, self._room + 1):
                    found[after] = cost + more

        def through(after: int, way: tuple[int, ...]) -> Costs:
            """What pops all symbols of a way."""
            reached: Costs = {after: 0}
            for top in reversed(way):
                below: Costs = {}
                for other, cost in reached.items():
                    offer_costs(below, use(other, top), cost, self._room)
                reached = below
            return reached

        if point >= table.first_micro:
            for popped, after in table.rules_of.get(point, ()):
                if popped >= table.symbols:
                    for group in table.operations[popped - table.symbols]:
                        for way in group.ways if symbol in group.symbols else ():
                            offer(through(after, way), 0)
                elif stays(popped) and on_top(popped) == symbol:
                    offer(use(after, symbol), 0)
                elif popped == symbol:
                    offer({after: 0}, 0)
        elif point >= table.controls:
            pushed, after = table.pushes[point - table.controls]
            for reached, cost in list(use(after, pushed).items()):
                offer(use(reached, symbol), cost)
        elif point == FINISHED:
            if symbol == ROOT:
                found[END] = 0
        else:
            for edge in table.edges_from[point]:
                only_stop = table.edge_classes[edge] == (STOP,)
                if only_stop or self._room:
                    offer(use(table.edges[edge][1], symbol), 0 if only_stop else 1)
                if not only_stop and STOP in table.edge_classes[edge]:
                    offer(use(table.edges[edge][1], symbol), 0)
        return found
