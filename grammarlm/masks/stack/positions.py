"""Where the samples prove nothing: positions from which every terminal of the context can come next, again and again.

A position is a context (the lexer of an LR state, and whether the text may end there) and a border. It is **safe** if each terminal
of its context can be read there so that all contexts behind that terminal are safe under the border it leaves, and if the text can
end there where the parser would let it. The greatest set of safe positions is what remains when the others are taken out, round
after round. In a safe position whatever the parser can go on with can be written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...grammars.lark_tables import LrTables
from ...grammars.lexer import LexerState
from ...grammars.terms import ANYTHING, Term
from ..limits import Clock
from .lexing import Lexing

MOST = 5_000  # positions; a grammar with more is decided where it is walked


class Context(NamedTuple):
    lexer: LexerState
    ends: bool


Position = tuple[Context, Term]


class SafePositions:
    """The positions that a text can come to, and which of them are safe."""

    def __init__(self, seen: set[Position], safe: set[Position], behind: dict[int, set[Context]]):
        self._seen, self._safe, self._behind = seen, safe, behind
        self._borders = {border for _, border in seen}
        self._doubtful = {border for _, border in seen - safe}

    @property
    def are_all_safe(self) -> bool:
        return not self._doubtful

    def trusts_anywhere(self, border: Term) -> bool:
        return border in self._borders and border not in self._doubtful

    def trusts_at(self, lexer: LexerState, border: Term) -> bool:
        """Is the position safe, whatever LR state asks this lexer?"""
        here = {(Context(lexer, False), border), (Context(lexer, True), border)} & self._seen
        return bool(here) and here <= self._safe

    def trusts_behind(self, terminal: int, border: Term) -> bool:
        return all((context, border) in self._safe for context in self._behind.get(terminal, ()))


def find_safe_positions(lr: LrTables, lexing: Lexing, clock: Clock) -> SafePositions | None:
    """None where there are too many positions."""
    contexts = [Context(lexer, bool(ends)) for lexer, ends in zip(lr.lexers, lr.action[:, -1] != 0, strict=True)]
    terminals = {
        context: [t for t in np.flatnonzero(row[:-1]).tolist() if not lr.ignored[t]]
        for context, row in zip(contexts, lr.action, strict=True)
    }
    behind: dict[int, set[Context]] = {}
    for row in lr.action.tolist():
        for terminal, what in enumerate(row[:-1]):
            if what > 0:
                behind.setdefault(terminal, set()).add(contexts[what - 1])
    first = contexts[lr.start], ANYTHING
    queue: list[Position] = [first]
    seen = {first}
    offers: dict[Position, dict[int, set[Term]]] = {}
    users: dict[Position, list[Position]] = {}
    may_end = {}
    for position in queue:
        clock.tick()
        context, border = position
        for terminal, left in lexing.commits(context.lexer, border):
            if lr.ignored[terminal] and (context, left) not in seen:
                seen.add((context, left))
                queue.append((context, left))
        read, ends = lexing.next(context.lexer, context.lexer, border)
        may_end[position] = any(left.nullable for left in ends)
        offers[position] = {t: set() for t in terminals[context]}
        for terminal, left in read:
            if terminal not in offers[position]:
                continue
            offers[position][terminal].add(left)
            for other in behind.get(terminal, ()):
                users.setdefault((other, left), []).append(position)
                if (other, left) not in seen:
                    seen.add((other, left))
                    queue.append((other, left))
        if len(queue) > MOST:
            return None
    safe = set(seen)
    waiting = list(seen)
    while waiting:
        clock.tick()
        position = waiting.pop()
        if position not in safe:
            continue
        good = (may_end[position] or not position[0].ends) and all(
            any(all((other, left) in safe for other in behind.get(t, ())) for left in offered)
            for t, offered in offers[position].items()
        )
        if not good:
            safe.discard(position)
            waiting += users.get(position, ())
    return SafePositions(seen, safe, behind)
