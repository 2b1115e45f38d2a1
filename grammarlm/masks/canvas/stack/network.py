"""An LR parser's language read by automata that call each other (procedures.py), instead of by its tables.

The symbols of the stack are their states: on top that which the last terminal led to, below it where each call returns to. A
terminal is shifted by replacing the state on top; where that may end its procedure, it is popped, and the terminal is shifted in
the state below. A call whose procedure may end at once after it is left with the caller, so a state below never ends its
procedure: what remains of a token looks at two symbols at most, and knows no reductions, of which a grammar with many levels of
expressions has as many as levels for each remainder.

A text has one way through, as it has one derivation: the tables must have been made without a conflict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from grammarlm.grammars.lark.lexer import LexerStart
from grammarlm.grammars.lark.tables import WHOLE, Item, LrTables

from .lexers import Lexemes
from .needs import BELOW, DROP, RETURN, SHIFT, Local, Move
from .parser import FIRST, Plan, Result, may_follow
from .procedures import Called, Procedures, Read, Symbols

Ways = tuple[Local, ...]


class NoNetwork(Exception):
    """The parser's tables say more than its rules."""


class Network:
    """States are symbols here, from FIRST on."""

    def __init__(self, lr: LrTables, lexemes: Lexemes, check: Callable[[], None]):
        if lr.shift_won or lr.lost:
            raise NoNetwork
        self.end = len(lr.ignored)
        self._lr, self._check = lr, check
        self._ignored = lr.ignored.tolist()
        self._lexers = list(dict.fromkeys(lexemes.of.values()))
        self._starts = {
            state: ~items[0].rest[0]
            for state, items in enumerate(lr.items)
            if len(items) == 1 and items[0].origin == WHOLE and items[0].read == 0
        }
        self._bodies: dict[int, list[Symbols]] = defaultdict(list)
        for nonterminal, body in lr.expansions:
            self._bodies[nonterminal].append(body)
        self._after = self._lexers_after(lexemes)
        self._procedures = Procedures(dict(self._bodies), self._lexer_after, check)
        self._number_states(lexemes)
        self._ways: dict[tuple[int, int], Ways] = {}
        self._shifted: dict[tuple[Local, int], tuple[Result, ...]] = {}
        self._plans: dict[Move, Plan] = {}

    def _lexers_after(self, lexemes: Lexemes) -> dict[Item, int]:
        found: dict[Item, int] = {}
        number = {lexer: at for at, lexer in enumerate(self._lexers)}
        for state, lexer in lexemes.of.items():
            for item in self._lr.items[state]:
                if item.read and found.setdefault(item, number[lexer]) != number[lexer]:
                    raise NoNetwork
        return found

    def _lexer_after(self, nonterminal: int, body: Symbols, read: int) -> int:
        """A rule that no text needs has no state: then any lexer will do."""
        return self._after.get(Item(nonterminal, read, body[read:]), 0)

    def _number_states(self, lexemes: Lexemes) -> None:
        """All states of the procedures that may be called; those that calls return to once more, where they may end, too."""
        self._edges: list[list[tuple[Read, int]]] = []
        self._calls: list[list[tuple[int, int]]] = []  # the procedure called, the state after
        self.final: list[bool] = []
        self._lexer_of: list[int] = []
        first: dict[int, int] = {}
        waiting = list(dict.fromkeys(self._starts.values()))
        for nonterminal in waiting:
            automaton = self._procedures.of[nonterminal]
            first[nonterminal] = len(self._edges)
            for edges, final, lexer in zip(automaton.edges, automaton.final, automaton.labels, strict=True):
                at = first[nonterminal]
                self._edges.append([(letter, at + after) for letter, after in edges.items() if isinstance(letter, Read)])
                called = [(letter.nonterminal, at + after) for letter, after in edges.items() if isinstance(letter, Called)]
                self._calls.append(called)
                waiting += [other for other, _ in called if other not in first and other not in waiting]
                self.final.append(final)
                self._lexer_of.append(-1 if lexer is None else int(lexer))  # type: ignore[call-overload]
        self._first = first
        self._entrances: dict[int, int] = {}
        for state, nonterminal in self._starts.items():
            self._entrances[state] = len(self._edges)
            at = first[nonterminal]
            self._copy(at, self.final[at], self._lexers.index(lexemes.of[state]))
        self._returns: dict[int, int] = {}
        for after in sorted({after for called in self._calls for _, after in called}):
            if not self.final[after]:
                self._returns[after] = after
            elif self._edges[after] or self._calls[after]:
                self._returns[after] = len(self._edges)
                self._copy(after, False, -1)
        self.states = len(self._edges)

    def _copy(self, state: int, final: bool, lexer: int) -> None:
        self._edges.append(self._edges[state])
        self._calls.append(self._calls[state])
        self.final.append(final)
        self._lexer_of.append(lexer)

    # ------------------------------------------------------------------ what a parser says

    def is_ignored(self, terminal: int) -> bool:
        return bool(self._ignored[terminal])

    def entrance(self, lr_state: int) -> int:
        return self._entrances[lr_state]

    @cached_property
    def lexers(self) -> dict[int, LexerStart]:
        """The lexers of the states that a lexeme begins in."""
        return {state: self._lexers[lexer] for state, lexer in enumerate(self._lexer_of) if lexer >= 0}

    def shifted(self, local: Local, terminal: int) -> tuple[Result, ...]:
        """As Parser.shifted."""
        key = local, terminal
        known = self._shifted.get(key)
        if known is None:
            known = self._shifted[key] = tuple(self._shift(local, terminal))
        return known

    def _shift(self, local: Local, terminal: int) -> list[Result]:
        top, below = local[-1] - FIRST, local[:-1]
        if terminal == self.end:
            return [((DROP, 0), below)] if self.final[top] else []
        found: list[Result] = [(None, below + way) for way in self.ways(top, terminal)]
        if self.final[top]:
            if not below:
                found.append(((BELOW, terminal), ()))
            elif 0 <= below[-1] - FIRST < self.states:
                found += [(None, below[:-1] + way) for way in self.ways(below[-1] - FIRST, terminal)]
        return found

    def plan(self, move: Move) -> Plan:
        """As Parser.plan."""
        known = self._plans.get(move)
        if known is None:
            found: dict[Result, int] = {}
            states = self._returns.values() if move[0] == BELOW else range(self.states)
            for state in states:
                results = self.shifted((state + FIRST,), move[1])
                for after, pushed in results:
                    result: Result = ((RETURN,), ()) if after == (DROP, 0) else (after, pushed)
                    found[result] = found.get(result, 0) | 1 << state + FIRST
            known = self._plans[move] = tuple((*result, symbols, True) for result, symbols in found.items())
        return known

    def ways(self, state: int, terminal: int) -> Ways:
        """What may replace a state when a terminal is shifted in its procedure."""
        key = state, terminal
        known = self._ways.get(key)
        if known is None:
            self._check()
            known = self._ways[key] = tuple(self._found_ways(state, terminal, ()))
        return known

    def _found_ways(self, state: int, terminal: int, above: tuple[int, ...]) -> dict[Local, None]:
        """`above`: the procedures that have been called without reading."""
        found: dict[Local, None] = {}
        for letter, after in self._edges[state]:
            if letter.terminal == terminal:
                found[after + FIRST,] = None
        for called, after in self._calls[state]:
            if called in above:
                raise NoNetwork  # left recursion behind rules that read nothing
            for way in self._found_ways(self._first[called], terminal, (*above, called)):
                if self.final[after]:
                    found[way] = None
                if after in self._returns:
                    found[self._returns[after] + FIRST, *way] = None
        return found

    def shifted_to(self, terminal: int) -> list[int]:
        """The symbols of the states that a terminal leads to."""
        return sorted(
            {after + FIRST for edges in self._edges for letter, after in edges if letter.terminal == terminal}
        )

    @cached_property
    def may_follow(self) -> list[set[int]]:
        """By terminal those that some text has after it."""
        return may_follow(self._lr)
