"""The rules of an LR grammar as automata that call each other.

Recursion at the left or right end of rules is a loop, and rules that are not recursive are put where they are used; what is left
are **procedures**, which are called in the middle of rules. So the levels of expressions, of which an LR parser reduces each, are a
loop over operands and operators. A letter is a terminal with the lexer that comes after it, or the call of a procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from grammarlm.grammars.cfg.components import components

from .automata import Automaton, Drawing, Letter

LARGE = 8  # states
MORE = 16  # states that a copy may add
Symbols = tuple[int, ...]  # a terminal is its number, nonterminal n is ~n


class Read(NamedTuple):
    """A letter: a terminal, and the number of the lexer after it."""

    terminal: int
    lexer: int


class Called(NamedTuple):
    """A letter: a text of a nonterminal."""

    nonterminal: int


Place = tuple[int, Symbols, int]  # of a symbol: the rule's nonterminal and body, and where it stands there


@dataclass
class Procedures:
    """The automata of the nonterminals that texts begin with, and of those that are called."""

    bodies: Mapping[int, Sequence[Symbols]]  # by nonterminal
    lexer_after: Callable[[int, Symbols, int], int]  # of a nonterminal's rule, when its first symbols have been read
    check: Callable[[], None]
    of: dict[int, Automaton] = field(default_factory=dict)  # by nonterminal: all that have one

    def __post_init__(self) -> None:
        self._called: set[Place] = set()
        self._nullable = self._find_nullable()
        self._find_calls()
        for group in components(self._graph(), self.check):
            self._solve(group)

    def _find_nullable(self) -> set[int]:
        """The nonterminals with an empty text."""
        found, size = set[int](), -1
        while size != (size := len(found)):
            self.check()
            found |= {n for n, bodies in self.bodies.items() if any(all(~s in found for s in body) for body in bodies)}
        return found

    def _places(self) -> list[Place]:
        return [
            (nonterminal, body, at)
            for nonterminal, bodies in self.bodies.items()
            for body in bodies
            for at, symbol in enumerate(body)
            if symbol < 0
        ]

    def _graph(self) -> dict[int, list[int]]:
        """By nonterminal those that are put into its rules."""
        graph: dict[int, list[int]] = {nonterminal: [] for nonterminal in self.bodies}
        for place in self._places():
            if place not in self._called:
                graph[place[0]].append(~place[1][place[2]])
        return graph

    def _find_calls(self) -> None:
        """The places of calls: recursion that is neither at the left nor at the right end of rules, or at both."""
        while True:
            of = {n: number for number, group in enumerate(components(self._graph(), self.check)) for n in group}
            inside = [
                place
                for place in self._places()
                if place not in self._called and of[place[0]] == of[~place[1][place[2]]]
            ]
            more = {place for place in inside if 0 < place[2] < len(place[1]) - 1}
            if not more:
                left = {of[n] for n, body, at in inside if at == 0 and len(body) > 1}
                more = {(n, body, at) for n, body, at in inside if of[n] in left and at > 0}
            if not more:
                return
            self._called |= more

    def _solve(self, group: Sequence[int]) -> None:
        """The automata of nonterminals that begin, or end, with each other.

        Where a large one stands in several places with something else after each, copies of it would be most of the states: it is
        called there, and wherever else, if it is called in the middle of some rule. In levels of expressions copies become one.
        """
        own = set(group)
        procedures = {~body[at] for _, body, at in self._called}
        self._called |= {
            place
            for place in self._places()
            if place not in self._called
            and place[0] in own
            and (other := ~place[1][place[2]]) in procedures
            and other not in own
            and len(self.of[other].edges) > LARGE
        }
        self._draw_group(group, own)
        inner = {
            ~body[at]
            for n, body, at in self._places()
            if n in own and ~body[at] not in own and (n, body, at) not in self._called
        }
        large = {n for n in inner if len(self.of[n].edges) > LARGE}
        most = max((len(self.of[n].edges) for n in inner), default=0)
        is_level = any(len(body) == 1 or ~body[0] in own for n in group for body in self.bodies[n] if body)
        if large and (not is_level or max(len(self.of[n].edges) for n in group) > most + MORE):
            self._called |= {place for place in self._places() if place[0] in own and ~place[1][place[2]] in large}
            self._draw_group(group, own)

    def _draw_group(self, group: Sequence[int], own: set[int]) -> None:
        is_left = any(
            body and ~body[0] in own and len(body) > 1 and (nonterminal, body, 0) not in self._called
            for nonterminal in group
            for body in self.bodies[nonterminal]
        )
        drawing = Drawing(_lexer_of, self.check)
        common = drawing.state()
        each = {nonterminal: drawing.state() for nonterminal in group}
        for nonterminal in group:
            for body in self.bodies[nonterminal]:
                here, target = (common, each[nonterminal]) if is_left else (each[nonterminal], common)
                for at, symbol in enumerate(body):
                    is_own = symbol < 0 and ~symbol in own and (nonterminal, body, at) not in self._called
                    if is_own and is_left:
                        here = each[~symbol]
                    elif is_own:
                        target = each[~symbol]
                    else:
                        here = self._draw(drawing, here, nonterminal, body, at)
                drawing.empty(here, target)
        for nonterminal in group:
            first, last = (common, each[nonterminal]) if is_left else (each[nonterminal], common)
            self.of[nonterminal] = drawing.automaton(first, last)

    def _draw(self, drawing: Drawing, here: int, nonterminal: int, body: Symbols, at: int) -> int:
        symbol = body[at]
        if symbol >= 0:
            return drawing.letter(here, Read(symbol, self.lexer_after(nonterminal, body, at + 1)))
        if (nonterminal, body, at) in self._called:
            after = drawing.letter(here, Called(~symbol))
            if ~symbol in self._nullable:  # a call reads something
                drawing.empty(here, after)
            return after
        return drawing.copy(here, self.of[~symbol])


def _lexer_of(letter: Letter) -> int:
    return letter.lexer if isinstance(letter, Read) else -1
