"""A grammar with a stack, byte by byte, on a stack of which only the upper end is known.

A **thread** is (control, local): a control is a state with its border, `local` are the symbols that were pushed since the stack was
last known to be what it was. Where a thread has to look below them it has a **need**: what it will do with the symbol that is
revealed there. Needs are

    RETURN border              a frame ends: go on in the state that the symbol stands for; below all others the text ends
    SHIFT terminal border      an LR parser shifts a terminal in the LR state that the symbol stands for, after its reductions
    SKIP border                a terminal that the parser ignores: the lexer begins again
    REDUCE n nonterminal ...   n more symbols are popped, then the nonterminal is pushed on the next
    DROP n border              the parser has accepted: n more symbols are popped, then a frame ends

The rules of a grammar are asked of masks/machines/stack/program.py, so this reads what the machine reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.layout.stack import CALL, END, ENTER, LEX, LINE, POP
from grammarlm.masks.machines.stack.numbers import ACCEPTED

if TYPE_CHECKING:
    from grammarlm.masks.machines.stack.program import StackProgram

RETURN, SHIFT, SKIP, REDUCE, DROP = range(5)
ROOT = 0
DEAD = -1
Need = tuple[Any, ...]
Local = tuple[int, ...]  # symbols, the top last
Thread = tuple[int, Local]


class Closure(NamedTuple):
    """What some threads can do next."""

    readers: tuple[Thread, ...]  # those that can read a byte
    needs: tuple[Need, ...]


class Bytewise:
    """Controls and symbols of one program, numbered as they are met; symbols from 1 on."""

    def __init__(self, program: StackProgram):
        self._program = program
        self._controls: dict[tuple[object, Term], int] = {}
        self._objects: list[tuple[Any, Term]] = []
        self._numbers: dict[object, int] = {}
        self.symbols: list[Any] = [None]
        self._rows: dict[int, np.ndarray] = {}
        self._border_rows: dict[Term, list[Term]] = {}
        self._expanded: dict[object, Any] = {}
        self._closures: dict[Thread, Closure] = {}
        self._candidates: dict[Need, list[int]] = {}
        self.columns = len(program.byte_sets.samples)

        self._find_symbols()

    def _find_symbols(self) -> None:
        """All symbols that calls and parsers push; a control for each state where a matcher may stand."""
        program = self._program
        self.control(ACCEPTED, ANYTHING)  # where a matcher stands when the text may end
        lr_states = 0 if program.lr is None else len(program.lr.lexers)
        for state in range(lr_states):
            self.symbol(state)
        seen: dict[Any, None] = {program.start_state: None}
        if program.lr is not None:
            seen.update(dict.fromkeys(program.lr.lexers))
        waiting = list(seen)
        while waiting:
            edges, moves, _ = self._expansion(waiting.pop())
            targets = [target for _, target in edges]
            for kind, operand, other in moves:
                if kind == CALL:
                    targets.append(operand)
                    self.control(operand, ANYTHING)
                    if other is not None:
                        targets.append(other)
                        self.symbol(other)
                        self.control(other, ANYTHING)
                elif kind == LINE:
                    raise UnsupportedFeature(
                        "a canvas over a grammar with indented blocks: they have no view for canvases yet"
                    )
            for target in targets:
                if target not in seen:
                    seen[target] = None
                    waiting.append(target)

    # ------------------------------------------------------------------ numbers

    def control(self, state: object, border: Term) -> int:
        key = state, border
        if key not in self._controls:
            self._controls[key] = len(self._objects)
            self._objects.append(key)
        return self._controls[key]

    def symbol(self, symbol: object) -> int:
        """Of a return state (an object) or an LR state (an int)."""
        if symbol not in self._numbers:
            self._numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
        return self._numbers[symbol]

    def forget_from(self, control: int) -> None:
        """Takes back the controls from this number on, of which nothing has been made."""
        for key in self._objects[control:]:
            del self._controls[key]
        del self._objects[control:]

    @property
    def controls(self) -> int:
        return len(self._objects)

    # ------------------------------------------------------------------ bytes

    def row(self, control: int) -> np.ndarray:
        """int64 [columns]: the control after a byte of each class, DEAD where it cannot be read."""
        known = self._rows.get(control)
        if known is None:
            state, border = self._objects[control]
            known = self._rows[control] = np.full(self.columns, DEAD)
            after = self._border_row(border)
            for bits, target in self._expansion(state)[0]:
                for column in self._program.byte_sets.classes_in(bits):
                    if after[column] is not NOTHING:
                        known[column] = self.control(target, after[column])
        return known

    def _border_row(self, border: Term) -> list[Term]:
        known = self._border_rows.get(border)
        if known is None:
            known = self._border_rows[border] = [border if border is ANYTHING else NOTHING] * self.columns
            if border is not ANYTHING:
                for bits, target in self._program.algebra.edges(border):
                    if self._program.is_alive(target):
                        for column in self._program.byte_sets.classes_in(bits):
                            known[column] = target
        return known

    def _expansion(self, state: Any) -> Any:
        if state not in self._expanded:
            self._program.clock.check()
            self._expanded[state] = ([], [], []) if state is ACCEPTED else self._program.expand(state)
        return self._expanded[state]

    # ------------------------------------------------------------------ moves

    def closure(self, threads: Iterable[Thread]) -> Closure:
        """The threads that can read a byte, and what must be known to go on otherwise."""
        found = [self._closure(thread) for thread in threads]
        if len(found) == 1:
            return found[0]
        readers = dict.fromkeys(reader for one in found for reader in one.readers)
        return Closure(tuple(readers), tuple(dict.fromkeys(need for one in found for need in one.needs)))

    def _closure(self, thread: Thread) -> Closure:
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
            state, border = self._objects[control]
            if state is ACCEPTED:
                self._leave(local, border, waiting, needs)
                continue
            edges, moves, _ = self._expansion(state)
            if edges:
                readers.append(thread)
            for kind, operand, other in moves:
                self._move(kind, operand, other, border, local, waiting, needs)
        return Closure(tuple(readers), tuple(dict.fromkeys(needs)))

    def _move(
        self, kind: int, operand: Any, other: Any, border: Term, local: Local, waiting: list[Thread], needs: list[Need]
    ) -> None:
        program = self._program
        if kind == CALL:
            under = local if other is None else (*local, self.symbol(other))
            waiting.append((self.control(operand, border), under))
        elif kind == ENTER:
            assert program.lr is not None
            waiting.append((self.control(program.lr.lexers[operand], border), (*local, self.symbol(operand))))
        elif kind == END:
            assert program.lr is not None
            self._shift(local, len(program.lr.ignored), border, waiting, needs)
        else:
            assert kind in (POP, LEX), "blocks of lines have no view"
            rest = program.algebra.both((border, other))
            if rest is NOTHING or not program.is_alive(rest):
                return
            if kind == POP:
                self._leave(local, rest, waiting, needs)
            elif program.lr is not None and program.lr.ignored[operand]:
                self._skip(local, rest, waiting, needs)
            else:
                self._shift(local, operand, rest, waiting, needs)

    def _leave(self, local: Local, border: Term, waiting: list[Thread], needs: list[Need]) -> None:
        """A frame ends."""
        if not local:
            needs.append((RETURN, border))
        elif not isinstance(state := self.symbols[local[-1]], int):
            waiting.append((self.control(state, border), local[:-1]))

    def _skip(self, local: Local, border: Term, waiting: list[Thread], needs: list[Need]) -> None:
        if not local:
            needs.append((SKIP, border))
        else:
            assert self._program.lr is not None
            lexer = self._program.lr.lexers[self.symbols[local[-1]]]
            waiting.append((self.control(lexer, border), local))

    def _shift(self, local: Local, terminal: int, border: Term, waiting: list[Thread], needs: list[Need]) -> None:
        """Reductions, then the shift of a terminal; the end of text is the terminal after all others."""
        lr = self._program.lr
        assert lr is not None
        while local:
            what = int(lr.action[self.symbols[local[-1]], terminal])
            if what == 0:
                return
            if what > 0 and terminal == len(lr.ignored):
                self._drop(local, 2, border, waiting, needs)
                return
            if what > 0:
                waiting.append((self.control(lr.lexers[what - 1], border), (*local, self.symbol(what - 1))))
                return
            length, nonterminal = lr.rule[-what - 1].tolist()
            if len(local) <= length:
                needs.append((REDUCE, length - len(local), nonterminal, terminal, border))
                return
            local = local[: len(local) - length]
            local = (*local, self.symbol(int(lr.goto[self.symbols[local[-1]], nonterminal])))
        needs.append((SHIFT, terminal, border))

    def _drop(self, local: Local, count: int, border: Term, waiting: list[Thread], needs: list[Need]) -> None:
        if len(local) < count:
            needs.append((DROP, count - len(local), border))
        else:
            self._leave(local[: len(local) - count], border, waiting, needs)

    # ------------------------------------------------------------------ symbols that are revealed

    def candidates(self, need: Need) -> list[int]:
        """The symbols after which something may follow."""
        known = self._candidates.get(need)
        if known is None:
            lr, numbered = self._program.lr, list(enumerate(self.symbols))[1:]
            if need[0] == RETURN:
                known = [number for number, symbol in numbered if not isinstance(symbol, int)]
            else:
                states = [(number, symbol) for number, symbol in numbered if isinstance(symbol, int)]
                if need[0] == SHIFT and lr is not None:
                    states = [(number, symbol) for number, symbol in states if lr.action[symbol, need[1]]]
                elif need[0] == REDUCE and need[1] == 0 and lr is not None:
                    states = [(number, symbol) for number, symbol in states if lr.goto[symbol, need[2]] >= 0]
                known = [number for number, _ in states]
            self._candidates[need] = known
        return known

    def revealed(self, need: Need, symbol: int) -> Closure:
        """What follows where the symbol is what was needed; it is popped, and what stays of it is pushed again."""
        waiting: list[Thread] = []
        needs: list[Need] = []
        kind, *given = need
        below = self.symbols[symbol]
        lr = self._program.lr
        if kind == RETURN:
            if not isinstance(below, int):
                waiting.append((self.control(below, given[0]), ()))
        elif not isinstance(below, int) or lr is None:
            pass  # no LR state: nothing goes on
        elif kind == SHIFT:
            self._shift((symbol,), given[0], given[1], waiting, needs)
        elif kind == SKIP:
            self._skip((symbol,), given[0], waiting, needs)
        elif kind == DROP:
            needs.append((DROP, given[0] - 1, given[1]) if given[0] > 1 else (RETURN, given[1]))
        elif given[0] > 0:
            needs.append((REDUCE, given[0] - 1, *given[1:]))
        elif (after := int(lr.goto[below, given[1]])) >= 0:
            self._shift((symbol, self.symbol(after)), given[2], given[3], waiting, needs)
        return self._closed(waiting, needs)

    def ends(self, need: Need) -> bool:
        """May the text end where nothing is below?"""
        return need[0] == RETURN and need[1].nullable
