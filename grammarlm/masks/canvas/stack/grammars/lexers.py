"""Fewer lexers: those of LR states that may be read with one and the same, since no text tells them apart.

A contextual lexer tries the terminals that an LR state accepts. With a few more it does the same as long as none of these matches
where one of its own does: such a terminal is found only where the lexer by itself finds nothing, and then the parser refuses it. So
lexers are joined where each keeps that; a language stays what it is, but what remains of a token is the same after many terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from grammarlm.grammars.lark.lexer import LexerStart, LexerState
from grammarlm.grammars.regular.terms import Term

if TYPE_CHECKING:
    from grammarlm.grammars.lark.tables import LrTables
    from grammarlm.masks.machines.stack.program import StackProgram

MOST_STEPS = 20_000  # of two terminals side by side; with more they count as matching together


class Lexemes:
    """Before a lexeme only two kinds of LR states are on top: those in which texts begin, and those that a terminal leads to."""

    def __init__(self, program: StackProgram, lr: LrTables):
        self._program = program
        shifts = lr.action[:, : len(lr.ignored)]
        reached = [int(state) - 1 for state in set(shifts[shifts > 0].tolist())]
        begins = [state for state, items in enumerate(lr.items) if any(not item.read for item in items)]
        self._stands_for = joined_lexers(program, (lr.lexers[state] for state in sorted({*reached, *begins})))
        self.of = {state: self._stands_for[lr.lexers[state]] for state in sorted({*reached, *begins})}
        self._standing: dict[LexerStart, dict[LexerState, LexerState]] = {}  # by the one that stands for others

    def standing(self, state: LexerState, on_top: int) -> LexerState:
        """Where the lexer that stands for another is while that is in a state of its own; `on_top`: the LR state in which it began.

        Texts that lead one lexer to the same state may lead the other to several. Any does: what a lexeme can still become in
        the first, it can in each of these, and what it can become besides the parser refuses. But two lexers may share a state and
        others stand for them: then that of the LR state on top is where tokens lead to, and no stack is new there.
        """
        stands = self.of[on_top]
        known = self._standing.get(stands)
        if known is None:
            known = self._standing[stands] = {}
            for lexer, joined in self._stands_for.items():
                if joined is stands:
                    known[lexer] = joined
            waiting: list[tuple[LexerState, LexerState]] = list(known.items())
            for one, other in waiting:
                self._program.clock.check()
                for bits, after in one.edges:
                    for others, target in other.edges:
                        if bits & others and after not in known:
                            known[after] = target
                            waiting.append((after, target))
        return known[state]


def joined_lexers(program: StackProgram, lexers: Iterable[LexerStart]) -> dict[LexerStart, LexerStart]:
    """By lexer, the one that stands for it."""
    found: dict[LexerStart, LexerStart] = {}
    groups: dict[tuple[object, int | None], list[LexerStart]] = {}
    for lexer in dict.fromkeys(lexers):
        groups.setdefault((lexer.lexer, lexer.before), []).append(lexer)
    for group in groups.values():
        found.update(_joined(program, group))
    return found


def _joined(program: StackProgram, group: list[LexerStart]) -> dict[LexerStart, LexerStart]:
    order = _common_order(group)
    if order is None or any(lexer.column is not None for lexer in group):
        return {lexer: lexer for lexer in group}
    together = Together(program, group[0])
    clusters: list[list[LexerStart]] = []
    for lexer in sorted(group, key=lambda one: (-len(one.terminals), sorted(one.terminals))):
        for cluster in clusters:
            if _fits([*cluster, lexer], together.match):
                cluster.append(lexer)
                break
        else:
            clusters.append([lexer])
    found = {}
    for cluster in clusters:
        ordered = sorted({terminal for one in cluster for terminal in one.ordered}, key=order.__getitem__)
        keywords = dict.fromkeys(pair for one in cluster for pair in one.keywords)
        stands = cluster[0].lexer.start(ordered, keywords, cluster[0].before)
        found.update(dict.fromkeys(cluster, stands))
    return found


def _common_order(group: Sequence[LexerStart]) -> dict[int, int] | None:
    """The place of each terminal in an order that all lexers keep; None where there is none."""
    after: dict[int, set[int]] = {}
    for lexer in group:
        for terminal in lexer.ordered:
            after.setdefault(terminal, set())
        for first, second in zip(lexer.ordered, lexer.ordered[1:], strict=False):
            after[first].add(second)
    waits = dict.fromkeys(after, 0)
    for seconds in after.values():
        for second in seconds:
            waits[second] += 1
    ready = [terminal for terminal, count in waits.items() if not count]
    for terminal in ready:
        for second in sorted(after[terminal]):
            waits[second] -= 1
            if not waits[second]:
                ready.append(second)
    return {terminal: at for at, terminal in enumerate(ready)} if len(ready) == len(after) else None


def _fits(cluster: Sequence[LexerStart], match: Callable[[int, int], bool]) -> bool:
    """Does no lexer get a terminal that matches where one of its own does?"""
    every = frozenset[int]().union(*(lexer.terminals for lexer in cluster))
    return not any(match(more, own) for lexer in cluster for more in every - lexer.terminals for own in lexer.terminals)


class Together:
    """Which terminals match at the beginning of one text, each for itself?"""

    def __init__(self, program: StackProgram, like: LexerStart):
        self._program, self._algebra = program, program.algebra
        self._lexer, self._before = like.lexer, like.before
        self._known: dict[tuple[int, int], bool] = {}
        self._first: dict[int, int] = {}

    def match(self, one: int, other: int) -> bool:
        key = min(one, other), max(one, other)
        known = self._known.get(key)
        if known is None:
            known = bool(self._first_bytes(one) & self._first_bytes(other)) and self._search(*key)
            self._known[key] = known
        return known

    def _start(self, terminal: int) -> LexerStart:
        return self._lexer.start([terminal], [], self._before)

    def _first_bytes(self, terminal: int) -> int:
        known = self._first.get(terminal)
        if known is None:
            known = 0
            for bits, _ in self._start(terminal).edges:
                known |= bits
            self._first[terminal] = known
        return known

    def _search(self, one: int, other: int) -> bool:
        """Side by side; where one has matched, what its border leaves of the text goes on beside the other."""
        begin = self._start(one), self._start(other)
        seen: set[tuple[object, object]] = {begin}
        waiting: list[tuple[LexerState, LexerState | Term]] = [begin]
        while waiting:
            self._program.clock.check()
            a, b = waiting.pop()
            if len(seen) > MOST_STEPS:
                return True
            after: list[tuple[LexerState, LexerState | Term]] = []
            if isinstance(b, LexerState):
                after += [(b, border) for _, border in a.commits if self._program.is_alive(border)]
                after += [(a, border) for _, border in b.commits if self._program.is_alive(border)]
            elif any(self._program.is_alive(self._algebra.both((b, border))) for _, border in a.commits):
                return True
            edges = b.edges if isinstance(b, LexerState) else self._algebra.edges(b)
            for bits, target in a.edges:
                for others, rest in edges:
                    if bits & others and (isinstance(rest, LexerState) or self._program.is_alive(rest)):
                        after.append((target, rest))
            for pair in after:
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
        return False
