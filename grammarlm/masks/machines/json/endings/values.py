"""The shortest values of nodes. Nodes contain each other, so a worklist of all those met runs until none gets shorter
(a fixpoint)."""

from __future__ import annotations

from collections.abc import Callable

from .reader import Reader


class Values:
    """The shortest values of one program's nodes. `shortest(node)`: of the shortest values known of what the node contains."""

    def __init__(self, reader: Reader, shortest: Callable[[int], bytes | None]):
        self._reader, self._shortest = reader, shortest
        self._values: dict[int, bytes] = {}  # the shortest known, by node
        self._settled: set[int] = set()
        self._solving: int | None = None
        self._users: dict[int, set[int]] = {}  # of the nodes met, those whose values contain theirs
        self._fresh: list[int] = []  # met, and not yet looked at

    def value(self, node: int) -> bytes | None:
        """The shortest text known of a node's values."""
        if node not in self._settled:
            if self._solving is None:
                self._solve(node)
            else:
                if node not in self._users:
                    self._users[node] = set()
                    self._fresh.append(node)
                self._users[node].add(self._solving)
        return self._values.get(node)

    @property
    def are_final(self) -> bool:
        """Can no value that was asked for get shorter? Else what is made of values is not kept."""
        return self._solving is None

    def _solve(self, root: int) -> None:
        self._users, self._fresh = {root: set()}, [root]
        again = dict[
            int, None
        ]()  # users of what has got shorter: after all that is fresh, since they may use much of that, too
        try:
            while self._fresh or again:
                self._reader.program.clock.check()
                node = self._solving = self._fresh.pop() if self._fresh else next(iter(again))
                again.pop(node, None)
                found, known = self._shortest(node), self._values.get(node)
                if found is None or (known is not None and self._reader.measure(known) <= self._reader.measure(found)):
                    continue
                self._values[node] = found
                again.update(dict.fromkeys(self._users[node]))
            self._settled.update(self._users)
        finally:
            self._solving = None
