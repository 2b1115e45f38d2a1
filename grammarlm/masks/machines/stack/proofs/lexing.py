"""What a lexer can read next under a border: products of lexer states and borders, explored by byte.

A **position** is the beginning of a lexeme, or a place inside one: a lexer state, and the border that the rest must
satisfy.
"""

from __future__ import annotations

from collections.abc import Callable

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.masks.runtime.limits import Clock, Limits

Commits = frozenset[tuple[int, Term]]  # terminals, each with the border left after it
UNDECIDED = (
    "whether what is begun can be finished is not decided within the limits: {}; "
    "simplify the grammar or raise limits.max_states"
)


class Lexing:
    """Lexemes at positions, memoised."""

    def __init__(
        self, algebra: Algebra, is_alive: Callable[[Term], bool], ignored: list[bool], limits: Limits, clock: Clock
    ):
        self.algebra, self.is_alive, self.ignored, self.limits, self.clock = algebra, is_alive, ignored, limits, clock
        self._commits: dict[tuple[LexerState, Term], Commits] = {}
        self._next: dict[tuple[LexerState, LexerState, Term], tuple[Commits, frozenset[Term]]] = {}
        self._large: dict[LexerState, bool] = {}

    def forget(self) -> None:
        self._commits.clear()
        self._next.clear()

    def commits(self, state: LexerState, border: Term) -> Commits:
        """Each lexeme that can come of the state, ignored ones too, with the border after it."""
        known = self._commits.get((state, border))
        if known is not None:
            return known
        answer = self._commits[state, border] = self._find_commits(state, border)
        return answer

    def is_large(self, state: LexerState) -> bool:
        known = self._large.get(state)
        if known is None:
            terminals = state.lexer.terminals
            known = self._large[state] = any(terminals[terminal].pattern.is_large for terminal in state.terminals)
        return known

    def _find_commits(self, state: LexerState, border: Term) -> Commits:
        found: set[tuple[int, Term]] = set()
        queue, seen = [(state, border)], {(state, border)}
        for here in queue:
            self.clock.tick()
            known = self._commits.get(here)
            if known is not None:
                found |= known
                continue
            at, rest = here
            for terminal, demanded in at.commits:
                left = self.algebra.both((rest, demanded))
                if left is not NOTHING and self.is_alive(left):
                    found.add((terminal + at.lexer.offset, left))
            for step in self.steps(at, rest):
                if step not in seen:
                    seen.add(step)
                    queue.append(step)
            if len(seen) > self.limits.max_states:
                raise UnsupportedFeature(UNDECIDED.format("a lexeme has too many states"))
        return frozenset(found)

    def steps(self, state: LexerState, border: Term) -> list[tuple[LexerState, Term]]:
        """The positions after one byte."""
        if border is ANYTHING:
            return [(target, ANYTHING) for _, target in state.edges]
        out = []
        for bits, target in state.edges:
            for more, left in self.algebra.edges(border):
                if bits & more and self.is_alive(left):
                    out.append((target, left))
        return out

    def start_in(self, context: LexerState) -> LexerState:
        """The state in which lexemes begin where the parser's context has this start state."""
        return context

    def next(self, state: LexerState, start: LexerState, border: Term) -> tuple[Commits, frozenset[Term]]:
        """(the next lexemes that are not ignored, the borders under which the text may end), after any ignored ones.

        `start` is where lexemes begin in this context, and where the lexer stands after an ignored one.
        """
        key = state, start, border
        known = self._next.get(key)
        if known is None:
            read: set[tuple[int, Term]] = set()
            queue, seen = [(state, border)], {(state, border)}
            for here in queue:
                self.clock.tick()
                for terminal, left in self.commits(*here):
                    if not self.ignored[terminal]:
                        read.add((terminal, left))
                    elif (start, left) not in seen:
                        seen.add((start, left))
                        queue.append((start, left))
                if len(seen) > self.limits.max_states:
                    raise UnsupportedFeature(UNDECIDED.format("borders are too many"))
            ends = frozenset(left for at, left in seen if at is start)
            known = self._next[key] = frozenset(read), ends
        return known


class AnyLexeme:
    """In place of `Lexing`: any terminal may come next, and the text may end, so that only a parser's tables are in the way."""

    def __init__(self, algebra: Algebra, ignored: list[bool]):
        self.algebra = algebra
        terminals = (terminal for terminal, skipped in enumerate(ignored) if not skipped)
        self._next = frozenset((terminal, ANYTHING) for terminal in terminals), frozenset([ANYTHING])
        self._start: LexerState | None = None

    def start_in(self, context: LexerState) -> LexerState:
        self._start = self._start or context  # contexts do not differ
        return self._start

    def next(self, state: LexerState, start: LexerState, border: Term) -> tuple[Commits, frozenset[Term]]:
        return self._next
