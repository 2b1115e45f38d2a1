"""An LR parser's language read by automata that call each other (procedures.py), instead of by its tables.

The symbols of the stack are their states: on top that which the last terminal led to, below it where each call returns to. A
terminal is shifted by replacing the state on top; where that may end its procedure, it is popped, and the terminal is shifted in
the state below. A call whose procedure may end at once after it is left with the caller, so a state below never ends its
procedure: what remains of a token looks at two symbols at most, and knows no reductions, of which a grammar with many levels of
expressions has as many as levels for each remainder.

Calls are made as soon as a state is reached, each besides staying there: so a shift says what it leads to, and not from where.

A text has one way through, as it has one derivation: the tables must have been made without a conflict.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.components import components
from grammarlm.grammars.lark.lexer import LexerStart
from grammarlm.grammars.lark.tables import WHOLE, Item, LrTables

from .automata import Letter, alike
from .lexers import Lexemes
from .needs import BELOW, DROP, RETURN, Local, Move
from .parser import FIRST, Plan, Result, may_follow
from .procedures import Called, Procedures, Read, Symbols

Ways = tuple[Local, ...]
MOST_STACKS = 4096
MANY_STATES = 64  # from here on a call is made only where the terminal after it is shifted


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
        after = self._after

        def lexer_after(nonterminal: int, body: Symbols, read: int) -> int:
            """A rule that no text needs has no state: then any lexer will do."""
            return after.get(Item(nonterminal, read, body[read:]), 0)

        self._procedures = Procedures(dict(self._bodies), lexer_after, check)
        self._number_states(lexemes)
        self._refuse_circles()
        self._ways: dict[tuple[int, int, bool], Ways] = {}
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

    def _number_states(self, lexemes: Lexemes) -> None:
        """All states of the procedures that may be called; those that calls return to once more, where they may end, too."""
        edges: list[dict[Letter, int]] = []
        final: list[bool] = []
        labels: list[int] = []
        first: dict[int, int] = {}
        waiting = list(dict.fromkeys(self._starts.values()))
        for nonterminal in waiting:
            automaton = self._procedures.of[nonterminal]
            at = first[nonterminal] = len(edges)
            edges += [{letter: at + after for letter, after in here.items()} for here in automaton.edges]
            final += automaton.final
            labels += [-1 if lexer is None else int(lexer) for lexer in automaton.labels]  # type: ignore[call-overload]
            called = [letter.nonterminal for here in automaton.edges for letter in here if isinstance(letter, Called)]
            waiting += [other for other in dict.fromkeys(called) if other not in waiting]
        # What remains of one procedure may be what remains of another.
        of = alike(edges, final, labels, self._check)
        chosen = list({group: state for state, group in reversed(list(enumerate(of)))}.values())
        chosen.sort()
        place = {of[state]: at for at, state in enumerate(chosen)}
        self.final, self._lexer_of = [final[state] for state in chosen], [labels[state] for state in chosen]
        moved = [[(letter, place[of[after]]) for letter, after in edges[state].items()] for state in chosen]
        self._edges = [[(letter, after) for letter, after in here if isinstance(letter, Read)] for here in moved]
        # The procedure called, the state after.
        self._calls = [
            [(letter.nonterminal, after) for letter, after in here if isinstance(letter, Called)] for here in moved
        ]
        first = {nonterminal: place[of[at]] for nonterminal, at in first.items()}
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
        self._begins: dict[tuple[int, int], int] = {}
        self.calls_late = len(self._edges) >= MANY_STATES
        for lexer in range(0 if self.calls_late else len(self._lexers)):
            for nonterminal, at in first.items():
                self._begins[nonterminal, lexer] = len(self._edges)
                self._copy(at, False, lexer)
        self.states = len(self._edges)
        self._whole = set(self._entrances.values())
        self._stands: dict[int, Ways] = {}

    def _refuse_circles(self) -> None:
        """A procedure that calls itself without reading: left recursion behind rules that read nothing."""
        graph = {n: [called for called, _ in self._calls[at]] for n, at in self._first.items()}
        for group in components(graph, self._check):
            if len(group) > 1 or group[0] in graph[group[0]]:
                raise NoNetwork

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
        found: list[Result] = [
            (None, below + way) for way in self.ways(top, terminal, self.calls_late or top in self._whole)
        ]
        if self.final[top]:
            if not below:
                found.append(((BELOW, terminal), ()))
            elif 0 <= below[-1] - FIRST < self.states:
                found += [(None, below[:-1] + way) for way in self.ways(below[-1] - FIRST, terminal, True)]
        return found

    def plan(self, move: Move) -> Plan:
        """As Parser.plan."""
        known = self._plans.get(move)
        if known is None:
            found: dict[Result, int] = {}
            states = self._returns.values() if move[0] == BELOW else range(self.states)
            for state in states:
                if move[0] == BELOW:
                    results: tuple[Result, ...] = tuple((None, way) for way in self.ways(state, move[1], True))
                else:
                    results = self.shifted((state + FIRST,), move[1])
                for after, pushed in results:
                    result: Result = ((RETURN,), ()) if after == (DROP, 0) else (after, pushed)
                    found[result] = found.get(result, 0) | 1 << state + FIRST
            known = self._plans[move] = tuple((*result, symbols, True) for result, symbols in found.items())
        return known

    def stands(self, state: int) -> Ways:
        """What may be on the stack in place of a state that a terminal has led to: itself, and the calls that it makes."""
        known = self._stands.get(state)
        if known is None:
            self._check()
            found: dict[Local, None] = {(state + FIRST,): None} if self._edges[state] or self.final[state] else {}
            for called, after in self._calls[state]:
                for way in self.stands(self._begins[called, self._lexer_of[state]]):
                    self._called(way, after, found)
            known = self._stands[state] = tuple(found)
        return known

    def _called(self, way: Local, after: int, found: dict[Local, None]) -> None:
        """Adds a call that returns to a state; one that may end there is left with the caller."""
        if self.final[after]:
            found[way] = None
        if after in self._returns:
            found[(self._returns[after] + FIRST, *way)] = None

    def ways(self, state: int, terminal: int, calls: bool) -> Ways:
        """What may replace a state when a terminal is shifted, in a procedure that it `calls`, or there only."""
        key = state, terminal, calls
        known = self._ways.get(key)
        if known is None:
            self._check()
            found: dict[Local, None] = {}
            for letter, after in self._edges[state]:
                if letter.terminal == terminal:
                    found.update(dict.fromkeys([(after + FIRST,)] if self.calls_late else self.stands(after)))
            for called, after in self._calls[state] if calls else ():
                for way in self.ways(self._first[called], terminal, True):
                    self._called(way, after, found)
            known = self._ways[key] = tuple(found)
        return known

    def shifted_to(self, terminal: int) -> list[int]:
        """The symbols of the states that a terminal leads to."""
        return sorted(
            {after + FIRST for edges in self._edges for letter, after in edges if letter.terminal == terminal}
        )

    # ------------------------------------------------------------------ stacks of the LR parser

    def stacks(self, below: Local, lr_states: Sequence[int]) -> Iterator[Local]:
        """What a stack of LR states, the first that of a text's beginning, is here, on other symbols.

        The shortest text of what has been read leads there: after it the parser has this very stack, since its last symbol is
        a terminal, or nothing has been read.
        """
        found = {(*below, self._entrances[lr_states[0]] + FIRST): None}
        for before, after in itertools.pairwise(lr_states):
            for terminal in self._read_between(before, after):
                self._check()
                ways = (self.shifted(stack, terminal) for stack in found)
                found = dict.fromkeys(stack for results in ways for move, stack in results if move is None)
                if len(found) > MOST_STACKS:
                    raise UnsupportedFeature("canvas(after=) a text that can be read in thousands of ways")
        yield from found

    def _read_between(self, before: int, after: int) -> Symbols:
        """A text of the symbol that leads from one LR state to the next."""
        shifts = (self._lr.action[before, : self.end] == after + 1).nonzero()[0]
        if len(shifts):
            return (int(shifts[0]),)
        return self._shortest[int((self._lr.goto[before] == after).nonzero()[0][0])]

    @cached_property
    def _shortest(self) -> dict[int, Symbols]:
        """By nonterminal: the terminals of a shortest text."""
        found: dict[int, Symbols] = {}
        changed = True
        while changed:
            changed = False
            for nonterminal, bodies in self._bodies.items():
                self._check()
                for body in bodies:
                    if all(symbol >= 0 or ~symbol in found for symbol in body):
                        pieces = ((symbol,) if symbol >= 0 else found[~symbol] for symbol in body)
                        text = tuple(itertools.chain.from_iterable(pieces))
                        if nonterminal not in found or len(text) < len(found[nonterminal]):
                            found[nonterminal], changed = text, True
        return found

    @cached_property
    def may_follow(self) -> list[set[int]]:
        """By terminal those that some text has after it."""
        return may_follow(self._lr)
