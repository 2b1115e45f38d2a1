"""Proofs that no text ends from a config, where a border meets indented blocks: see proofs/passing.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import ANYTHING
from grammarlm.layout.stack import ACCEPT, Field
from grammarlm.layout.stack_calls import NEXT_LINE, SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammarlm.masks.machines.stack.arena import StackArena
    from grammarlm.masks.machines.stack.numbers import StackNumbers
    from grammarlm.masks.machines.stack.program import StackProgram
    from grammarlm.masks.machines.stack.states import StateMaker


class Refutation:
    """The proofs of one epoch's configs; used under the automaton's lock."""

    def __init__(
        self,
        program: StackProgram,
        arena: StackArena,
        numbers: StackNumbers,
        maker: StateMaker,
        widths: Callable[[int], list[int]],
    ):
        """`widths`: of a stack's open blocks, outer ones first."""
        self._program, self._arena, self._numbers, self._maker, self._widths = program, arena, numbers, maker, widths
        self.forget()

    def forget(self) -> None:
        self._may: dict[tuple[int, int, int], bool] = {}
        self._known: dict = {}  # by stack and outcome (proofs/liveness.py)

    def refutes(self, config: int) -> bool:
        """Is it proved that no text ends from here?"""
        return not any(self._may_end(*thread) for thread in self._arena.threads_of(config))

    def _may_end(self, q: int, s: int, b: int) -> bool:
        key = q, s, b
        if key not in self._may:
            self._may[key] = q <= ACCEPT or self._comes_to_end(self._numbers.objects[q], s, b)
        return self._may[key]

    def _comes_to_end(self, state: object, s: int, b: int) -> bool:
        if not isinstance(state, LexerState) or not state.lexer.shifts:
            return True
        parser, look = self._program.passing.parser, self._maker.look
        stacks = {s} if state.start else self._after(state, s, b)
        return any(parser.alive_on(state, ANYTHING, stack, look, self._known) for stack in stacks)

    def _after(self, state: LexerState, s: int, b: int) -> set[int]:
        """The stacks after the lexeme at hand."""
        lr = self._program.lr
        assert lr is not None
        ends = self._program.passing.ends(state, self._numbers.border_terms[b])
        found = {s if lr.ignored[terminal] else self._maker.made(SHIFT, s, terminal) for terminal in ends.terminals}
        if ends.columns or ends.has_any_column:
            if int(self._arena.array(Field.S_BRACKETS)[s]) > 0:
                return found | {s}
            widths = self._widths(s)
            deeper = widths[-1] + 1 if ends.has_any_column else max(ends.columns)
            columns = {column for column in widths if ends.has_any_column or column in ends.columns} | {deeper}
            found |= {self._maker.made(NEXT_LINE, s, column) for column in columns}
        return found - {0}
