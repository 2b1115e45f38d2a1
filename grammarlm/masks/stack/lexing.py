"""What a lexer can make of the text behind a border: lexer states beside borders, all bytes tried.

A **position** is where a lexeme begins, or somewhere inside one: a lexer state, and the border that the rest must satisfy.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import UnsupportedFeature
from ...grammars.lexer import LexerState
from ...grammars.regular import Algebra
from ...grammars.terms import ANYTHING, NOTHING, Term
from ..limits import Clock, Limits

Commits = frozenset[tuple[int, Term]]  # terminals, each with what it leaves of the border
UNDECIDED = (
    "whether what is begun can be finished is not decided within the limits: {}; "
    "simplify the grammar or raise limits.max_states"
)
ENOUGH, AT_MOST = 500, 2_000  # states of a large lexeme: in a row that show nothing new, and in all


class Lexing:
    """Lexemes at positions, remembered."""

    def __init__(
        self, algebra: Algebra, is_alive: Callable[[Term], bool], ignored: list[bool], limits: Limits, clock: Clock
    ):
        self.algebra, self.is_alive, self.ignored, self.limits, self.clock = algebra, is_alive, ignored, limits, clock
        self._commits: dict[tuple[LexerState, Term], Commits] = {}
        self._next: dict[tuple[LexerState, LexerState, Term], tuple[Commits, frozenset[Term]]] = {}
        self._some: dict[tuple[LexerState, Term], Commits] = {}  # of large terminals
        self._large: dict[LexerState, bool] = {}

    def forget(self) -> None:
        self._commits.clear()
        self._next.clear()
        self._some.clear()

    def commits(self, state: LexerState, border: Term) -> Commits:
        """Each lexeme that can come of the state, ignored ones too, with the border behind it."""
        known = self._commits.get((state, border))
        if known is not None:
            return known
        answer = self._commits[state, border] = self._find_commits(state, border, False)
        return answer

    def some_commits(self, state: LexerState, border: Term) -> Commits:
        """The same, perhaps not all of them where a terminal is so large that its states cannot all be visited."""
        if not self.is_large(state):
            return self.commits(state, border)
        known = self._some.get((state, border))
        if known is None:
            known = self._some[state, border] = self._find_commits(state, border, True)
        return known

    def is_large(self, state: LexerState) -> bool:
        known = self._large.get(state)
        if known is None:
            terminals = state.lexer.terminals
            known = self._large[state] = any(terminals[terminal].pattern.is_large for terminal in state.terminals)
        return known

    def _find_commits(self, state: LexerState, border: Term, is_partial: bool) -> Commits:
        """Breadth first. `is_partial`: once each terminal has one, the search ends where it finds little."""
        found: set[tuple[int, Term]] = set()
        queue, seen = [(state, border)], {(state, border)}
        wanted, last = set(state.terminals), 0
        for number, here in enumerate(queue):
            self.clock.tick()
            known = self._commits.get(here)
            before = len(found)
            if known is not None:
                found |= known
                wanted.difference_update(terminal - state.lexer.offset for terminal, _ in known)
                continue
            at, rest = here
            for terminal, demanded in at.commits:
                left = self.algebra.both((rest, demanded))
                if left is not NOTHING and self.is_alive(left):
                    found.add((terminal + at.lexer.offset, left))
                    wanted.discard(terminal)
            last = number if len(found) > before else last
            if is_partial and not wanted and (number - last >= ENOUGH or number >= AT_MOST):
                break
            for step in self.steps(at, rest):
                if step not in seen:
                    seen.add(step)
                    queue.append(step)
            if len(seen) > self.limits.max_states:
                raise UnsupportedFeature(UNDECIDED.format("a lexeme has too many states"))
        return frozenset(found)

    def steps(self, state: LexerState, border: Term) -> list[tuple[LexerState, Term]]:
        """What one byte makes of both."""
        if border is ANYTHING:
            return [(target, ANYTHING) for _, target in state.edges]
        out = []
        for bits, target in state.edges:
            for more, left in self.algebra.edges(border):
                if bits & more and self.is_alive(left):
                    out.append((target, left))
        return out

    def next(
        self, state: LexerState, start: LexerState, border: Term, some: bool = False
    ) -> tuple[Commits, frozenset[Term]]:
        """(the next lexemes that are not ignored, the borders under which the text may end), ignored ones read before.

        `start` is where lexemes begin in this context; behind something ignored that is where the lexer stands. `some`: perhaps
        not all, as in some_commits.
        """
        key = state, start, border
        known = self._next.get(key)
        if known is None:
            commits = self.some_commits if some else self.commits
            read: set[tuple[int, Term]] = set()
            queue, seen = [(state, border)], {(state, border)}
            for here in queue:
                self.clock.tick()
                for terminal, left in commits(*here):
                    if not self.ignored[terminal]:
                        read.add((terminal, left))
                    elif (start, left) not in seen:
                        seen.add((start, left))
                        queue.append((start, left))
                if len(seen) > self.limits.max_states:
                    raise UnsupportedFeature(UNDECIDED.format("borders are too many"))
            ends = frozenset(left for at, left in seen if at is start)
            known = frozenset(read), ends
            if not some:
                self._next[key] = known
        return known
