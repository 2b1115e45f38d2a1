"""Which lexemes a border lets pass: for proofs that a text with indented blocks cannot be ended.

That a text can be ended is shown by an end, which is read (ends/completion.py). That it cannot is shown of more texts than there
are: after the lexeme at hand any terminal may come that has a lexeme which the border lets pass *somewhere*, blocks open and close
wherever the parser likes, and the text may end under any border. Where even so the parser comes to no end, there is none.

    from x      without "import": no lexeme of IMPORT passes, and the parser needs one
    if x        without ":" likewise
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import NOTHING, Term
from grammarlm.masks.machines.stack.language import StackLanguage

from .lexing import AnyLexeme
from .liveness import StackLiveness

MOST_BORDERS = 1000  # where a border leads to more, every terminal passes
MOST_POSITIONS = 5000  # likewise where more are looked at


class Ends(NamedTuple):
    """What a lexeme can become: other terminals; ends of a line, before these columns, or any."""

    terminals: frozenset[int]
    columns: frozenset[int]
    has_any_column: bool


class Passing:
    """What passes the border of one program, and what the parser can do with it."""

    def __init__(self, program: StackLanguage):
        self.program = program
        self._lexing = program.trust.lexing  # type: ignore[attr-defined]
        self._ends: dict[tuple[LexerState, Term], Ends] = {}

    def forget(self) -> None:
        self._ends.clear()

    def ends(self, state: LexerState, border: Term) -> Ends:
        """What the lexeme at hand can become; perhaps more, where that takes a long search."""
        key = state, border
        known = self._ends.get(key)
        if known is None:
            known = self._ends[key] = self._find_ends(state, border)
        return known

    def _find_ends(self, state: LexerState, border: Term) -> Ends:
        newline, wanted = state.lexer.newline, set(state.terminals)
        columns: set[int] = set()
        for terminal, column in self._commits([(state, border)]):
            if terminal != newline:
                wanted.discard(terminal)
            elif column:
                columns.add(column)
            else:  # spaces lead to any
                wanted.discard(terminal)
            if not wanted:
                break
        else:
            wanted = wanted if self._is_complete else set()
        found = frozenset(terminal + state.lexer.offset for terminal in state.terminals - wanted - {newline})
        return Ends(found, frozenset(columns), newline in state.terminals - wanted)

    @cached_property
    def parser(self) -> StackLiveness:
        """Of each stack: can it come to its end by terminals that pass?"""
        lr = self.program.lr
        assert lr is not None
        barred = [bool(ignored) for ignored in lr.ignored]
        for parser in self.program.parsers:
            if parser.tables is not None:
                for terminal in range(len(parser.lexer.terminals)):
                    number = parser.lexer.offset + terminal
                    barred[number] = barred[number] or not self._passes(parser.lexer.start([terminal], []), number)
        return StackLiveness(self.program, AnyLexeme(self.program.algebra, barred), None)

    def _passes(self, start: LexerState, number: int) -> bool:
        """Has the terminal a lexeme that the border lets pass somewhere? `start`: the lexer before it, with no other terminal."""
        assert self.program.lr is not None
        newline, opens, closes = self.program.lr.blocks or (None, None, None)
        (terminal,) = start.terminals
        if self._borders is None or number == closes or start.lexer.terminals[terminal].looks_back:
            return True
        if number == opens:
            assert newline is not None
            line_end = start.lexer.start([newline - start.lexer.offset], [])
            commits = self._commits((line_end, border) for border in self._borders)
            return any((column or 0) > 0 for _, column in commits) or not self._is_complete
        commits = self._commits((start, border) for border in self._borders)
        return any(True for _ in commits) or not self._is_complete

    @cached_property
    def _borders(self) -> list[Term] | None:
        """All that the border leads to."""
        found = dict.fromkeys(thread.border for thread in self.program.start)
        queue = list(found)
        for border in queue:
            self.program.clock.tick()
            for _, target in self.program.algebra.edges(border):
                if target not in found and self.program.is_alive(target):
                    found[target] = None
                    queue.append(target)
            if len(queue) > MOST_BORDERS:
                return None
        return queue

    def _commits(self, positions: Iterable[tuple[LexerState, Term]]) -> Iterator[tuple[int, int | None]]:
        """The terminals that end at these positions and after them, with the columns of next lines; `_is_complete`: all of them."""
        program = self.program
        self._is_complete = True
        queue = list(positions)
        seen = set(queue)
        for state, border in queue:
            program.clock.tick()
            for terminal, demanded in state.commits:
                left = program.algebra.both((border, demanded))
                if left is not NOTHING and program.is_alive(left):
                    yield terminal, state.column
            for step in self._lexing.steps(state, border):
                if step not in seen:
                    seen.add(step)
                    queue.append(step)
            if len(seen) > MOST_POSITIONS:
                self._is_complete = False
                return
