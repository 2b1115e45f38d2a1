"""Is a language non-empty? Checked for every state before it is entered, so that there are no dead ends."""

from __future__ import annotations

from collections import deque

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term
from grammarlm.masks.runtime.limits import Clock, Limits


class Liveness:
    """Which terms are not empty, memoised."""

    def __init__(self, algebra: Algebra, limits: Limits, clock: Clock):
        self.algebra, self.limits, self.clock = algebra, limits, clock
        self._alive: dict[Term, bool] = {}

    def forget(self) -> None:
        self._alive.clear()

    def is_alive(self, term: Term) -> bool:
        """Is there a text in the language? Breadth-first search; the result is cached for all terms on the path, or for
        all searched."""
        if term.sure or term.nullable or term in self._alive:
            return term.sure or term.nullable or self._alive[term]
        came_from: dict[Term, Term | None] = {term: None}
        queue = deque([term])
        found = None
        while queue and found is None:
            here = queue.popleft()
            self.clock.check()
            for _, target in self.algebra.edges(here):
                if target in came_from or self._alive.get(target) is False:
                    continue
                came_from[target] = here
                if target.nullable or target.sure or self._alive.get(target):
                    found = target
                    break
                queue.append(target)
            if len(came_from) > self.limits.max_states:
                raise LimitExceeded(
                    f"whether a text exists is not decided after {self.limits.max_states} states; "
                    "simplify intersections and look-aheads, or raise limits.max_states"
                )
        if found is None:
            self._alive.update(dict.fromkeys(came_from, False))
            return False
        while found is not None:
            self._alive[found] = True
            found = came_from[found]
        return True
