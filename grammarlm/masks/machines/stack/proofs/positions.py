"""Where samples.py proves nothing: positions from which every terminal of the context can come next, again and again.

A position is a context (the lexer of an LR state, and whether the text may end there) and a border. It is **safe** if
each terminal of its context can be read there so that all contexts after that terminal are safe under the border it
leaves, and if the text can end there where the parser allows it. The set of safe positions is a greatest fixpoint:
positions that fail are removed until none does. In a safe position whatever the parser can go on with can be written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.terms import ANYTHING, Term
from grammarlm.masks.runtime.limits import Clock

from .lexing import Lexing

MOST = 5_000  # positions; with more, each thread is decided in liveness.py


class Context(NamedTuple):
    lexer: LexerState
    ends: bool


Position = tuple[Context, Term]


class SafePositions:
    """The positions that texts were found to reach, and which of them are safe.

    Those are all positions, unless a terminal is so large that its states cannot all be visited (`are_all` is False):
    then a position may offer more than was found, which makes no safe position unsafe, and a position that was not
    found is explored when it is asked about.
    """

    def __init__(self, lr: LrTables, lexing: Lexing, clock: Clock):
        self.lexing, self.clock = lexing, clock
        self._ignored = lr.ignored
        ends = lr.action[:, -1] != 0
        contexts = [Context(lexer, bool(end)) for lexer, end in zip(lr.lexers, ends, strict=True)]
        self._contexts = {context: state for state, context in enumerate(contexts)}  # each with one of its states
        asked = (lr.action[:, :-1] != 0) & (lr.ignored == 0)
        self._terminals = {context: np.flatnonzero(asked[state]).tolist() for context, state in self._contexts.items()}
        self._following: dict[int, set[Context]] = {}
        states, terminals = np.nonzero(lr.action[:, :-1] > 0)
        for terminal, after in zip(terminals.tolist(), lr.action[states, terminals].tolist(), strict=True):
            self._following.setdefault(terminal, set()).add(contexts[after - 1])
        self.are_all = True
        self._safe: set[Position] = set()
        self._seen: set[Position] = set()
        self._borders: set[Term] = set()
        self._doubtful: set[Term] = set()
        self.is_found = self._look_at((contexts[lr.start], ANYTHING))

    @property
    def are_all_safe(self) -> bool:
        return self.are_all and not self._doubtful

    def trusts_anywhere(self, border: Term) -> bool:
        if not self.are_all:
            return all(self._is_safe(context, border) for context in self._contexts)
        return border in self._borders and border not in self._doubtful

    def trusts_at(self, lexer: LexerState, border: Term) -> bool:
        """Is the position safe, whatever LR state asks this lexer?"""
        both = [context for context in (Context(lexer, False), Context(lexer, True)) if context in self._contexts]
        if not self.are_all:
            return bool(both) and all(self._is_safe(context, border) for context in both)
        here = {(context, border) for context in both} & self._seen
        return bool(here) and here <= self._safe

    def trusts_after(self, terminal: int, border: Term) -> bool:
        return all(self._is_safe(context, border) for context in self._following.get(terminal, ()))

    def _is_safe(self, context: Context, border: Term) -> bool:
        position = context, border
        if position not in self._seen and not self.are_all:
            self._look_at(position)
        return position in self._safe

    def _look_at(self, first: Position) -> bool:
        """Explores what a position leads to, and finds the safe ones. False where there are more than MOST positions."""
        lexing, ignored = self.lexing, self._ignored
        queue, found = [first], {first}
        offers: dict[Position, dict[int, set[Term]]] = {}
        users: dict[Position, list[Position]] = {}
        may_end = {}
        for position in queue:
            self.clock.tick()
            context, border = position
            self.are_all = self.are_all and not lexing.is_large(context.lexer)
            following: list[Position] = []
            for terminal, left in lexing.some_commits(context.lexer, border):
                if ignored[terminal]:
                    following.append((context, left))
            read, ends = lexing.next(context.lexer, context.lexer, border, some=True)
            may_end[position] = any(left.nullable for left in ends)
            offers[position] = {t: set() for t in self._terminals[context]}
            for terminal, left in read:
                if terminal not in offers[position]:
                    continue
                offers[position][terminal].add(left)
                for other in self._following.get(terminal, ()):
                    users.setdefault((other, left), []).append(position)
                    following.append((other, left))
            new = [one for one in dict.fromkeys(following) if one not in found and one not in self._seen]
            found.update(new)
            queue += new
            if len(queue) > MOST:
                self._seen.add(first)  # and not safe
                return False
        safe = found | self._safe
        waiting = list(found)
        while waiting:
            self.clock.tick()
            position = waiting.pop()
            if position not in safe:
                continue
            good = (may_end[position] or not position[0].ends) and all(
                any(all((other, left) in safe for other in self._following.get(t, ())) for left in offered)
                for t, offered in offers[position].items()
            )
            if not good:
                safe.discard(position)
                waiting += users.get(position, ())
        self._safe = safe
        self._seen |= found
        self._borders.update(border for _, border in found)
        self._doubtful.update(border for _, border in found - safe)
        return True


def find_safe_positions(lr: LrTables, lexing: Lexing, clock: Clock) -> SafePositions | None:
    """None where there are too many positions."""
    positions = SafePositions(lr, lexing, clock)
    return positions if positions.is_found else None
