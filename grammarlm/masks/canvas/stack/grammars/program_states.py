"""The states of a program and the symbols of its stack, numbered, before anything is known of a text.

The rules of a grammar are asked of masks/machines/stack/program.py, so this reads what the machine reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.layout.stack import CALL, LEX, LINE
from grammarlm.masks.machines.stack.numbers import ACCEPTED

from .borders import DEAD
from .lexers import Lexemes
from .needs import BELOW, LOOK, REDUCE, SHIFT, Local, Move
from .network import Network, NoNetwork
from .parser import FIRST, Parser

if TYPE_CHECKING:
    from grammarlm.grammars.lark.tables import LrTables
    from grammarlm.masks.machines.stack.program import StackProgram

UNDECIDED = -1  # in place of a terminal
LEXER = -1  # in place of a state: that before a lexeme, by the LR state on top then


class ProgramStates:
    """All states and symbols of one program, symbols from 1 on; what is known of each state whatever the border and the stack."""

    def __init__(self, program: StackProgram):
        self.program = program
        self.columns = len(program.byte_sets.samples)
        self.parser: Parser | Network | None = None
        if program.lr is not None:
            self.lexemes_in = Lexemes(program, program.lr)
            self.parser = parser_of(program.lr, self.lexemes_in, program.clock.check)
        self.states: list[Any] = []
        self._state_numbers: dict[object, int] = {}
        self.symbols: list[Any] = [None]  # return states (objects) and LR states (ints)
        self._symbol_numbers: dict[object, int] = {}
        self.expanded: list[Any] = []  # of each state its edges and moves
        self._find_states()
        self.rows = self._rows()
        self.returns = [(n, state) for n in range(1, len(self.symbols)) if (state := self.return_state(n)) is not None]
        self.lexers: dict[
            int, int
        ] = {}  # by state before a lexeme: the LR states, as a set of symbols, in which it begins
        for on_top, lexer in self.parser.lexers.items() if self.parser else ():
            state = self.state(lexer)
            self.lexers[state] = self.lexers.get(state, 0) | 1 << FIRST + on_top
        self._states_after: dict[tuple[bool, int], tuple[int, ...]] = {}
        self.lexemes = [self._lexeme(state) for state in self.states]
        # After a lexeme, where it has been shifted or is ignored and one lexer only may come: the state before the next lexeme.
        self.next = [self._next_of(number) for number in range(len(self.states))]

    def _find_states(self) -> None:
        """All states; all symbols that calls and parsers push."""
        program = self.program
        self.state(ACCEPTED)
        for state in range(self.parser.states if self.parser else 0):
            self.symbol(state)
        self.state(program.start_state)
        for lexer in self.parser.lexers.values() if self.parser else ():
            self.state(lexer)
        while len(self.expanded) < len(self.states):
            program.clock.check()
            state = self.states[len(self.expanded)]
            edges, moves, _ = ([], [], []) if state is ACCEPTED else program.expand(state)
            self.expanded.append((edges, moves))
            for _, target in edges:
                self.state(target)
            for kind, operand, other in moves:
                if kind == CALL:
                    self.state(operand)
                    if other is not None:
                        self.symbol(other)
                        self.state(other)
                elif kind == LINE:
                    raise UnsupportedFeature(
                        "a canvas over a grammar with indented blocks: they have no view for canvases yet"
                    )
            if len(self.states) > program.limits.max_states:
                raise LimitExceeded("a canvas: the grammar needs more states than limits.max_states; simplify it")

    def state(self, state: object) -> int:
        number = self._state_numbers.get(state)
        if number is None:
            number = self._state_numbers[state] = len(self.states)
            self.states.append(state)
        return number

    def symbol(self, symbol: object) -> int:
        """Of a return state (an object) or an LR state (an int)."""
        number = self._symbol_numbers.get(symbol)
        if number is None:
            number = self._symbol_numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
        return number

    def stacks(self, stack: Iterable[object]) -> list[Local]:
        """The symbols of a matcher's stack, the top last. LR states stand together, from one in which texts begin on."""
        found: list[Local] = [()]
        for is_lr, some in itertools.groupby(stack, lambda symbol: isinstance(symbol, int)):
            symbols = list(some)
            if is_lr:
                assert self.parser is not None
                states = [symbol for symbol in symbols if isinstance(symbol, int)]
                found = [after for below in found for after in self.parser.stacks(below, states)]
            else:
                found = [(*below, *map(self.symbol, symbols)) for below in found]
        return found

    def _rows(self) -> np.ndarray:
        """int32 [states, columns]: the state after a byte of each class, DEAD where it cannot be read."""
        rows = np.full((len(self.states), self.columns), DEAD, np.int32)
        for number, (edges, _) in enumerate(self.expanded):
            for bits, target in edges:
                rows[number, list(self.program.byte_sets.classes_in(bits))] = self._state_numbers[target]
        return rows

    def _lexeme(self, state: object) -> int:
        """The terminal that a lexeme will be, whatever follows, if it is shifted by an LR parser; UNDECIDED otherwise."""
        if not isinstance(state, LexerState) or state.start or not state.lexer.shifts or len(state.terminals) != 1:
            return UNDECIDED
        terminal = next(iter(state.terminals)) + state.lexer.offset
        return UNDECIDED if self.parser is None or self.parser.is_ignored(terminal) else terminal

    def _next_of(self, number: int) -> int:
        ends = [operand for kind, operand, _ in self.expanded[number][1] if kind == LEX]
        if (
            not ends
            or self.parser is None
            or (self.lexemes[number] == UNDECIDED and not all(map(self.parser.is_ignored, ends)))
        ):
            return DEAD
        states = self.states_after((LOOK, self.lexemes[number]), LEXER)
        return states[0] if len(states) == 1 else DEAD

    def lexer_state(self, symbol: int) -> int:
        """The state before a lexeme, an LR state on top."""
        assert self.parser is not None
        return self.state(self.parser.lexers[self.symbols[symbol]])

    def states_after(self, move: Move, into: int) -> tuple[int, ...]:
        """The states that may read on after a move."""
        if into != LEXER:
            return (into,)
        terminal = move[3] if move[0] == REDUCE else move[1] if move[0] in (SHIFT, LOOK, BELOW) else -1
        key = move[0] in (SHIFT, LOOK, REDUCE, BELOW), terminal
        known = self._states_after.get(key)
        if known is None:
            ends = not key[0] or (self.parser is not None and terminal == self.parser.end)
            found = dict.fromkeys(state for _, state in self.returns) if ends else {}
            if key[0] and terminal < 0:
                found.update(dict.fromkeys(self.lexers))
            elif key[0] and self.parser is not None and terminal != self.parser.end:
                found.update(dict.fromkeys(map(self.lexer_state, self.parser.shifted_to(terminal))))
            known = self._states_after[key] = tuple(found)
        return known

    def return_state(self, symbol: int) -> int | None:
        """The state that a symbol stands for, None for LR states."""
        state = self.symbols[symbol]
        return None if isinstance(state, int) else self.state(state)


def parser_of(lr: LrTables, lexemes: Lexemes, check: Callable[[], None]) -> Parser | Network:
    """The parser's tables themselves are read where they say more than its rules."""
    try:
        return Network(lr, lexemes, check)
    except NoNetwork:
        return Parser(lr, lexemes)
