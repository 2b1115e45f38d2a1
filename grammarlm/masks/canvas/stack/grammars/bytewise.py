"""A grammar with a stack, byte by byte, on a stack of which only the upper end is known.

A **thread** is (control, local): a control is a state with its border, `local` are the symbols that were pushed since the stack was
last known to be what it was. Where a thread has to look below them it has a **need**: what it will do with the symbol that is
revealed there (needs.py), and the border that the rest of the text must satisfy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from grammarlm.grammars.lark.lexer import LexerStart, LexerState
from grammarlm.grammars.regular.terms import Term
from grammarlm.layout.stack import CALL, END, ENTER, LEX, POP
from grammarlm.masks.machines.stack.numbers import ACCEPTED

from .borders import DEAD, FREE, Border, Borders
from .needs import DROP, LOOK, RETURN, SHIFT, Local, Move
from .program_states import LEXER, UNDECIDED, ProgramStates

if TYPE_CHECKING:
    from grammarlm.masks.machines.stack.program import StackProgram
    from grammarlm.masks.machines.stack.program import Thread as ProgramThread

Thread = tuple[int, Local]


class Need(NamedTuple):
    """What is done with the symbols below, the state to go on in after a shift, and the border."""

    move: Move
    into: int
    border: Border


class Closure(NamedTuple):
    """What some threads can do next."""

    readers: tuple[Thread, ...]  # those that can read a byte
    needs: tuple[Need, ...]


class Bytewise(ProgramStates):
    """Threads, byte by byte. All states, symbols and borders are known from the beginning, controls as they are met."""

    def __init__(self, program: StackProgram, begins: Iterable[ProgramThread] = ()):
        """`begins`: threads besides that of a text's beginning, where a matcher may stand."""
        super().__init__(program)
        ends = [other for _, moves in self.expanded for kind, _, other in moves if kind in (POP, LEX)]
        self.borders = Borders(program, [*(thread.border for thread in (*program.start, *begins)), *ends])
        self._controls: dict[tuple[int, Border], int] = {}
        self.controls: list[tuple[int, Border]] = []
        self._closures: dict[Thread, Closure] = {}
        self._after_thread: dict[tuple[int, int], int] = {}

    # ------------------------------------------------------------------ controls

    def control(self, state: int, border: Border = FREE) -> int:
        number = self._controls.get((state, border))
        if number is None:
            number = self._controls[state, border] = len(self.controls)
            self.controls.append((state, border))
        return number

    def control_of(self, state: object, border: Term, stack: Sequence[object]) -> int:
        """That of a thread of a matcher; `stack`: its own, the top first."""
        if isinstance(state, LexerState) and state.lexer.shifts:
            on_top = stack[0]
            assert isinstance(on_top, int)
            state = self.lexemes_in.standing(state, on_top)
        return self.control(self.state(state), self.borders.joined(FREE, border))

    @property
    def accepted(self) -> int:
        """The control of a text that may only end."""
        return self.control(self.state(ACCEPTED))

    def between_tokens(self) -> list[int]:
        """The controls in which a matcher may stand and no token ends: that of a text which may only end, without a parser where
        rules and their parts begin, and, where one lexer reads all, those between two lexemes. In larger grammars tokens come to
        most of these."""
        found, lexers = [self.accepted], [s for s in self.states if isinstance(s, LexerStart)]
        if self.parser is not None and len(lexers) == 1:
            ends = [other for _, moves in self.expanded for kind, _, other in moves if kind == LEX]
            borders = dict.fromkeys([FREE, *(self.borders.both(FREE, end) for end in ends)])
            found += [self.control(self.state(lexers[0]), border) for border in borders if border is not None]
        if self.parser is None:
            found += [self.control(state) for state, (edges, _) in enumerate(self.expanded) if edges]
        return found

    # ------------------------------------------------------------------ bytes

    def after(self, control: int, column: int) -> int:
        """The control after a byte, or DEAD."""
        key = control, column
        known = self._after_thread.get(key)
        if known is None:
            state, border = self.controls[control]
            target, left = int(self.rows[state, column]), self.borders.after(border, column)
            known = self._after_thread[key] = DEAD if target == DEAD or left is None else self.control(target, left)
        return known

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
        edges, moves = self.expanded[state]
        if self.next[state] != DEAD:  # a lexeme's end is no change: see `_move`
            is_new = self.lexemes[state] != UNDECIDED and not has_shifted
            return self.shifts(local, self.lexemes[state], state, border) if is_new else [(thread, None)]
        ends = [
            (what, rest)
            for kind, what, other in moves
            if kind == LEX and (rest := self.borders.both(border, other)) is not None
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
            edges, moves = self.expanded[state]
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
            if (rest := self.borders.both(border, other)) is not None:
                if kind == POP:
                    self._leave(local, rest, waiting, needs)
                elif self.next[state] != DEAD:  # elsewhere, where a lexeme ends: see `entered`
                    waiting.append((self.control(self.next[state], rest), local))

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


def _noted(found: list[tuple[Thread | None, Need | None]], waiting: list[Thread], needs: list[Need]) -> None:
    waiting += [thread for thread, _ in found if thread is not None]
    needs += [need for _, need in found if need is not None]
