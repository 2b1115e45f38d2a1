"""Explicit automaton of a language: for queries that a single walk does not answer.

The states are the derivatives of a term, computed once. A transition that begins a character counts one, one within a character
zero. So the states with a completion of k + 1 characters are the predecessors of those with one of k: one sequence of state sets
answers "which lengths" for every state at once. State sets are bit sets (integers).
"""

from __future__ import annotations

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import FOREVER, Term

from .lengths import CONTINUATION, interval

Edge = tuple[int, int]  # bytes as a 256-bit integer, state


class Explorations:
    """Terms with all the states that they reach, each made once. (An object of its own, so that none refers to its owner.)"""

    def __init__(self, algebra: Algebra, most_states: int):
        self._algebra, self._most = algebra, most_states
        self._known: dict[Term, Explored] = {}

    def of(self, term: Term) -> Explored:
        known = self._known.get(term)
        if known is None:
            known = Explored(self._algebra, term, self._most)
            for state in known.terms:
                self._known.setdefault(state, known)
        return known


class Explored:
    def __init__(self, algebra: Algebra, root: Term, most_states: int):
        self._tick = algebra.tick
        self.terms: list[Term] = [root]
        self.index: dict[Term, int] = {root: 0}
        self.edges: list[list[Edge]] = []
        while len(self.edges) < len(self.terms):
            found = []
            for bits, target in algebra.edges(self.terms[len(self.edges)]):
                state = self.index.get(target)
                if state is None:
                    state = self.index[target] = len(self.terms)
                    self.terms.append(target)
                found.append((bits, state))
            self.edges.append(found)
            if len(self.terms) > most_states:
                raise over_the_limit(most_states)
        self.accepting = sum(1 << state for state, term in enumerate(self.terms) if term.nullable)
        self._before = [0] * len(self.terms)  # predecessors by a byte that begins a character
        self._within = [0] * len(self.terms)  # ... by one that continues one
        for state, edges in enumerate(self.edges):
            for bits, after in edges:
                if bits & CONTINUATION:
                    self._within[after] |= 1 << state
                if bits & ~CONTINUATION:
                    self._before[after] |= 1 << state
        self._levels = [self._closed(self.accepting)]  # [k]: the states with a completion of k characters
        self._period = 0  # once known: the next level would equal the one `_period` before the end, so levels repeat
        self._seen: dict[int, int] = {self._levels[0]: 0}
        self.live = self._reaching(self.accepting)

    def _closed(self, states: int) -> int:
        """Adds the states within a character that end in one of them."""
        new = states
        while new:
            new = _union(self._within, new) & ~states
            states |= new
        return states

    def _reaching(self, states: int) -> int:
        new = states
        while new:
            new = (_union(self._before, new) | _union(self._within, new)) & ~states
            states |= new
        return states

    def level(self, count: int) -> int:
        """The states with a completion of `count` characters."""
        levels = self._levels
        while not self._period and len(levels) <= count:
            self._tick()
            states = self._closed(_union(self._before, levels[-1]))
            first = self._seen.setdefault(states, len(levels))
            if first < len(levels):
                self._period = len(levels) - first
            else:
                levels.append(states)
        if count < len(levels):
            return levels[count]
        first = len(levels) - self._period
        return levels[first + (count - first) % self._period]

    def lengths(self, term: Term, most: int) -> int:
        """Bit k: a completion of k characters exists; bit most + 1: a longer one."""
        bit = 1 << self.index[term]
        found = 0
        for count in range(most + 1):
            states = self.level(count)
            if self._period == 1 and count >= len(self._levels):  # from here on all or none
                return found | interval(count, FOREVER, most) if states & bit else found
            if states & bit:
                found |= 1 << count
        # Removing a cycle from a longer completion shortens it by at most the number of states.
        beyond = range(most + 1, most + 1 + len(self.terms))
        return found | 1 << (most + 1) if any(self.level(count) & bit for count in beyond) else found

    def bounds(self, term: Term) -> tuple[int, float] | None:
        """The lengths of the shortest and the longest completion; None where there is none."""
        bit = 1 << self.index[term]
        if not self.live & bit:
            return None
        # A shortest completion is shorter than this; so is a longest one, unless it has a cycle.
        states = len(self.terms)
        low = next(count for count in range(states) if self.level(count) & bit)
        if any(self.level(count) & bit for count in range(states, 2 * states)):
            return low, FOREVER
        return low, next(count for count in range(states, -1, -1) if self.level(count) & bit)


def _union(sets: list[int], states: int) -> int:
    found = 0
    while states:
        bit = states & -states
        found |= sets[bit.bit_length() - 1]
        states ^= bit
    return found


def over_the_limit(most_states: int) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"this combination of patterns, formats and lengths has more than {most_states} states; "
        f"use fewer or simpler patterns on one string"
    )
