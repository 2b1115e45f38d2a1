"""The shortest values of nodes. Nodes contain each other, so a worklist of all those met runs until none gets shorter
(a fixpoint)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .reader import Reader


class Values:
    """The shortest values of one program's nodes. `shortest(node)`: of the shortest values known of what the node contains."""

    def __init__(self, reader: Reader, shortest: Callable[[int], bytes | None]):
        self._reader, self._shortest = reader, shortest
        self._values: dict[int, bytes] = {}  # the shortest known, by node
        self._settled: set[int] = set()
        self._solving: int | None = None
        self._users: dict[int, set[int]] = {}
        self._queue: deque[int] = deque()
        self._waiting: set[int] = set()  # what is in it

    def value(self, node: int) -> bytes | None:
        """The shortest text known of a node's values."""
        if node not in self._settled:
            if self._solving is None:
                self._solve(node)
            else:
                if node not in self._users:
                    self._users[node] = set()
                    self._queue.append(node)
                    self._waiting.add(node)
                self._users[node].add(self._solving)
        return self._values.get(node)

    @property
    def are_final(self) -> bool:
        """Can no value that was asked for get shorter? Else what is made of values is not kept."""
        return self._solving is None

    def _solve(self, root: int) -> None:
        self._queue, self._waiting, self._users = deque([root]), {root}, {root: set()}
        try:
            while self._queue:
                self._reader.program.clock.check()
                node = self._solving = self._queue.pop()
                self._waiting.discard(node)
                found, known = self._shortest(node), self._values.get(node)
                if found is None or (known is not None and self._reader.measure(known) <= self._reader.measure(found)):
                    continue
                self._values[node] = found
                users = self._users[node] - self._waiting
                self._waiting |= users
                self._queue.extendleft(users)  # after all that waits: they may use much of that, too
            self._settled.update(self._users)
        finally:
            self._solving = None
