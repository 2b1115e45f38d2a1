"""A grammar with a stack, byte by byte, on a stack of which only the upper end is known.

A **thread** is (control, local): a control is a state with its border, `local` are the symbols that were pushed since the stack was
last known to be what it was. Where a thread has to look below them it has a **need**: what it will do with the symbol that is
revealed there (needs.py), and the border that the rest of the text must satisfy.

A border is a set of **atoms**, terms that must all be satisfied; the empty set is satisfied by anything.

The rules of a grammar are asked of masks/machines/stack/program.py, so this reads what the machine reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import ANYTHING, Term
from grammarlm.layout.stack import CALL, END, ENTER, LEX, LINE, POP
from grammarlm.masks.machines.stack.numbers import ACCEPTED

from .lexers import Lexemes
from .needs import BELOW, DROP, LOOK, REDUCE, RETURN, SHIFT, Local, Move
from .network import Network, NoNetwork
from .parser import FIRST, Parser

if TYPE_CHECKING:
    from grammarlm.grammars.lark.tables import LrTables
    from grammarlm.masks.machines.stack.program import StackProgram
    from grammarlm.masks.machines.stack.program import Thread as ProgramThread

DEAD = -1
UNDECIDED = -1  # in place of a terminal
SATISFIED = -2  # of an atom: nothing is demanded any more
Border = frozenset[int]
FREE: Border = frozenset()
Thread = tuple[int, Local]
LEXER = -1  # in place of a state: that before a lexeme, by the LR state on top then


class Need(NamedTuple):
    """What is done with the symbols below, the state to go on in after a shift, and the border."""

    move: Move
    into: int
    border: Border


class Closure(NamedTuple):
    """What some threads can do next."""

    readers: tuple[Thread, ...]  # those that can read a byte
    needs: tuple[Need, ...]


class Bytewise:
    """States, atoms, controls and symbols of one program, numbered; symbols from 1 on. All states and atoms are known from the
    beginning, controls as they are met."""

    def __init__(self, program: StackProgram, begins: Iterable[ProgramThread] = ()):
        """`begins`: threads besides that of a text's beginning, where a matcher may stand."""
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
        self._atoms: list[Term] = []
        self._atom_numbers: dict[Term, int] = {}
        self._alive: dict[Border, bool] = {}
        self._controls: dict[tuple[int, Border], int] = {}
        self.controls: list[tuple[int, Border]] = []
        self._expanded: list[Any] = []
        self._closures: dict[Thread, Closure] = {}
        self._after_thread: dict[tuple[int, int], int] = {}
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
        self._next = [self._next_of(number) for number in range(len(self.states))]
        self.atom_rows = self._atom_rows([*program.start, *begins])

    def _find_states(self) -> None:
        """All states; all symbols that calls and parsers push."""
        program = self.program
        self.state(ACCEPTED)
        for state in range(self.parser.states if self.parser else 0):
            self.symbol(state)
        self.state(program.start_state)
        for lexer in self.parser.lexers.values() if self.parser else ():
            self.state(lexer)
        while len(self._expanded) < len(self.states):
            program.clock.check()
            state = self.states[len(self._expanded)]
            edges, moves, _ = ([], [], []) if state is ACCEPTED else program.expand(state)
            self._expanded.append((edges, moves))
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

    # ------------------------------------------------------------------ numbers

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

    def control(self, state: int, border: Border = FREE) -> int:
        number = self._controls.get((state, border))
        if number is None:
            number = self._controls[state, border] = len(self.controls)
            self.controls.append((state, border))
        return number

    def control_of(self, state: object, border: Term) -> int:
        """That of a thread of a matcher."""
        if isinstance(state, LexerState) and state.lexer.shifts:
            state = self.lexemes_in.standing(state)
        return self.control(self.state(state), self.joined(FREE, border))

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

    # ------------------------------------------------------------------ borders

    def joined(self, border: Border, term: Term) -> Border:
        """Both; the atom is numbered."""
        if term is ANYTHING:
            return border
        number = self._atom_numbers.get(term)
        if number is None:
            number = self._atom_numbers[term] = len(self._atoms)
            self._atoms.append(term)
        return border if number == SATISFIED else border | {number}

    def knows(self, border: Term) -> bool:
        return border is ANYTHING or border in self._atom_numbers

    def _both(self, border: Border, term: Term) -> Border | None:
        """None where no text satisfies both."""
        rest = self.joined(border, term)
        return rest if len(rest) < 2 or self.is_alive(rest) else None

    def is_alive(self, border: Border) -> bool:
        """Is there a text that satisfies all atoms? Those of one atom are dropped where they are made."""
        known = self._alive.get(border)
        if known is None:
            both = self.program.algebra.both(tuple(self._atoms[atom] for atom in border)) if border else ANYTHING
            known = self._alive[border] = self.program.is_alive(both)
        return known

    def may_end(self, border: Border) -> bool:
        return all(self._atoms[atom].nullable for atom in border)

    def _atom_rows(self, begins: list[ProgramThread]) -> np.ndarray:
        """int32 [atoms, columns]: the atom after a byte, SATISFIED or DEAD; all that follow from one another."""
        program = self.program
        for thread in begins:
            self.joined(FREE, thread.border)
        for _, moves in self._expanded:
            for kind, _, other in moves:
                if kind in (POP, LEX):
                    self.joined(FREE, other)
        rows: list[np.ndarray] = []
        while len(rows) < len(self._atoms):
            program.clock.check()
            row = np.full(self.columns, DEAD, np.int32)
            for bits, target in program.algebra.edges(self._atoms[len(rows)]):
                if program.is_alive(target):
                    after = next(iter(self.joined(FREE, target)), SATISFIED)
                    row[list(program.byte_sets.classes_in(bits))] = after
            rows.append(row)
            if len(rows) > program.limits.max_states:
                raise LimitExceeded(
                    "a canvas: the grammar's borders need more states than limits.max_states; simplify it"
                )
        return self._merged(np.array(rows, np.int32).reshape(-1, self.columns))

    def _merged(self, rows: np.ndarray) -> np.ndarray:
        """Rows in which atoms that the same texts satisfy are one: the first of them. Terms are not equal whenever they could be:
        after `wh` a name may end where no letter follows, and where not `ile` and then no letter follow."""
        count = len(rows)
        ends = [atom.nullable for atom in self._atoms]
        groups = np.array(
            [*ends, True, 2], np.int64
        )  # the last two: SATISFIED and DEAD, of whose rows each leads to itself
        whole = np.where(rows == SATISFIED, count, np.where(rows == DEAD, count + 1, rows))
        whole = np.concatenate([whole, np.full((1, self.columns), count), np.full((1, self.columns), count + 1)])
        size = 0
        while size != (size := len(np.unique(groups))):
            self.program.clock.check()
            _, groups = np.unique(np.column_stack([groups, groups[whole]]), axis=0, return_inverse=True)
            groups = groups.ravel()
        first: dict[int, int] = {int(groups[count]): SATISFIED, int(groups[count + 1]): DEAD}
        stands = np.array(
            [first.setdefault(group, atom) for atom, group in enumerate(groups[:count].tolist())], np.int64
        )
        for term, atom in self._atom_numbers.items():
            self._atom_numbers[term] = int(stands[atom])
        return np.where(rows >= 0, stands[np.maximum(rows, 0)] if count else rows, rows).astype(np.int32)

    def after_border(self, border: Border, column: int) -> Border | None:
        """The border after a byte; None where it cannot be satisfied any more."""
        if not border:
            return border
        after = {int(self.atom_rows[atom, column]) for atom in border}
        left = frozenset(after - {SATISFIED})
        return None if DEAD in after or (len(left) > 1 and not self.is_alive(left)) else left

    # ------------------------------------------------------------------ bytes

    def _rows(self) -> np.ndarray:
        """int32 [states, columns]: the state after a byte of each class, DEAD where it cannot be read."""
        rows = np.full((len(self.states), self.columns), DEAD, np.int32)
        for number, (edges, _) in enumerate(self._expanded):
            for bits, target in edges:
                rows[number, list(self.program.byte_sets.classes_in(bits))] = self._state_numbers[target]
        return rows

    def after(self, control: int, column: int) -> int:
        """The control after a byte, or DEAD."""
        key = control, column
        known = self._after_thread.get(key)
        if known is None:
            state, border = self.controls[control]
            target, left = int(self.rows[state, column]), self.after_border(border, column)
            known = self._after_thread[key] = DEAD if target == DEAD or left is None else self.control(target, left)
        return known

    def _lexeme(self, state: object) -> int:
        """The terminal that a lexeme will be, whatever follows, if it is shifted by an LR parser; UNDECIDED otherwise."""
        if not isinstance(state, LexerState) or state.start or not state.lexer.shifts or len(state.terminals) != 1:
            return UNDECIDED
        terminal = next(iter(state.terminals)) + state.lexer.offset
        return UNDECIDED if self.parser is None or self.parser.is_ignored(terminal) else terminal

    def _next_of(self, number: int) -> int:
        ends = [operand for kind, operand, _ in self._expanded[number][1] if kind == LEX]
        if (
            not ends
            or self.parser is None
            or (self.lexemes[number] == UNDECIDED and not all(map(self.parser.is_ignored, ends)))
        ):
            return DEAD
        states = self.states_after((LOOK, self.lexemes[number]), LEXER)
        return states[0] if len(states) == 1 else DEAD

    def has_shifted(self, before: int, control: int) -> bool:
        """Was the terminal of a lexeme decided before the byte that leads to a control?"""
        return self.lexemes[self.controls[before][0]] == self.lexemes[self.controls[control][0]]

    def entered(self, thread: Thread, has_shifted: bool = False) -> list[tuple[Thread | None, Need | None]]:
        """A thread after a byte, and what else it may be, or what it needs.

        Where a lexeme may end, both are followed: that it does, then its terminal is shifted there and then, and that it goes on.
        The border of the one is never satisfied where the other goes on. Where the byte has decided which terminal the
        lexeme will be, that is shifted at once, too.
        """
        control, local = thread
        state, border = self.controls[control]
        edges, moves = self._expanded[state]
        if self._next[state] != DEAD:  # a lexeme's end is no change: see `_move`
            is_new = self.lexemes[state] != UNDECIDED and not has_shifted
            return self.shifts(local, self.lexemes[state], state, border) if is_new else [(thread, None)]
        ends = [
            (what, rest)
            for kind, what, other in moves
            if kind == LEX and (rest := self._both(border, other)) is not None
        ]
        if not ends and self.lexemes[state] == UNDECIDED:
            return [(thread, None)]
        terminal = self.lexemes[state]
        if terminal != UNDECIDED and not has_shifted:
            found = self.shifts(local, terminal, state, border) if edges else []
            for _, rest in ends:
                found += self.shifts(local, terminal, LEXER, rest)
            return found
        found = [(thread, None)] if edges else []
        for operand, rest in ends:
            if terminal != UNDECIDED or (self.parser is not None and self.parser.is_ignored(operand)):
                found.append(self._looked(local, terminal, rest))
            else:
                found += self.shifts(local, operand, LEXER, rest)
        return found

    def _looked(self, local: Local, after: int, border: Border) -> tuple[Thread | None, Need | None]:
        """The next lexeme begins; the last terminal shifted, if it is known. Where one lexer only may come, nobody looks."""
        if local:
            return (self.lexer_of(local[-1], border), local), None
        need = Need((LOOK, after), LEXER, border)
        states = self.states_after(need.move, LEXER)
        return ((self.control(states[0], border), ()), None) if len(states) == 1 else (None, need)

    # ------------------------------------------------------------------ moves

    def closure(self, thread: Thread) -> Closure:
        """The threads that can read a byte, and what must be known to go on otherwise."""
        known = self._closures.get(thread)
        if known is None:
            known = self._closures[thread] = self._closed([thread], [])
        return known

    def _closed(self, waiting: list[Thread], needs: list[Need]) -> Closure:
        readers: list[Thread] = []
        seen: set[Thread] = set()
        while waiting:
            thread = waiting.pop()
            if thread in seen:
                continue
            seen.add(thread)
            control, local = thread
            state, border = self.controls[control]
            if self.states[state] is ACCEPTED:
                self._leave(local, border, waiting, needs)
                continue
            edges, moves = self._expanded[state]
            if edges:
                readers.append(thread)
            for kind, operand, other in moves:
                self._move(kind, operand, other, thread, waiting, needs)
        return Closure(tuple(readers), tuple(dict.fromkeys(needs)))

    def _move(
        self, kind: int, operand: Any, other: Any, thread: Thread, waiting: list[Thread], needs: list[Need]
    ) -> None:
        control, local = thread
        state, border = self.controls[control]
        if kind == CALL:
            under = local if other is None else (*local, self.symbol(other))
            waiting.append((self.control(self.state(operand), border), under))
        elif kind == ENTER:
            assert self.parser is not None
            begin = self.symbol(self.parser.entrance(operand))
            waiting.append((self.lexer_of(begin, border), (*local, begin)))
        elif kind == END:
            assert self.parser is not None
            self._shift(local, self.parser.end, border, waiting, needs)
        else:
            assert kind in (POP, LEX), "blocks of lines have no view"
            if (rest := self._both(border, other)) is not None:
                if kind == POP:
                    self._leave(local, rest, waiting, needs)
                elif self._next[state] != DEAD:  # elsewhere, where a lexeme ends: see `entered`
                    waiting.append((self.control(self._next[state], rest), local))

    def _leave(self, local: Local, border: Border, waiting: list[Thread], needs: list[Need]) -> None:
        _noted(self._left(local, border), waiting, needs)

    def _left(self, local: Local, border: Border) -> list[tuple[Thread | None, Need | None]]:
        """A frame ends."""
        if not local:
            return [(None, Need((RETURN,), LEXER, border))]
        state = self.return_state(local[-1])
        return [] if state is None else [((self.control(state, border), local[:-1]), None)]

    def _shift(self, local: Local, terminal: int, border: Border, waiting: list[Thread], needs: list[Need]) -> None:
        _noted(self.shifts(local, terminal, LEXER, border), waiting, needs)

    def shifts(self, local: Local, terminal: int, into: int, border: Border) -> list[tuple[Thread | None, Need | None]]:
        """Reductions and the shift of a terminal: the thread after them, or what it needs; nothing where it cannot be shifted."""
        if not local:
            return [(None, Need((SHIFT, terminal), into, border))]
        assert self.parser is not None
        found: list[tuple[Thread | None, Need | None]] = []
        for move, known in self.parser.shifted(local, terminal):
            if move is None:
                control = self.lexer_of(known[-1], border) if into == LEXER else self.control(into, border)
                found.append(((control, known), None))
            elif move == (DROP, 0):
                found += self._left(known, border)
            else:
                found.append((None, Need(move, into, border)))
        return found

    # ------------------------------------------------------------------ symbols

    def lexer_of(self, symbol: int, border: Border) -> int:
        """The control before a lexeme, an LR state on top."""
        return self.control(self.lexer_state(symbol), border)

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


def _noted(found: list[tuple[Thread | None, Need | None]], waiting: list[Thread], needs: list[Need]) -> None:
    waiting += [thread for thread, _ in found if thread is not None]
    needs += [need for _, need in found if need is not None]


def parser_of(lr: LrTables, lexemes: Lexemes, check: Callable[[], None]) -> Parser | Network:
    """The parser's tables themselves are read where they say more than its rules."""
    try:
        return Network(lr, lexemes, check)
    except NoNetwork:
        return Parser(lr, lexemes)
