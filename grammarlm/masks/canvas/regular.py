"""The view of the regular machine: all states that bytes lead to, what tokens do to them, and a table whose only stack is empty."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json_canvas import NONE
from grammarlm.layout.table import DEAD
from grammarlm.masks.protocol import FINISHED

from .classes import TokenClasses
from .stack.grid import StackGrid
from .stack.table import StackTable
from .tables.automaton import ByteAutomaton
from .tables.table import FIRST_CONTROL
from .tables.unrolled import Tokens, unrolled

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.regular.epoch import RegularEpoch
    from grammarlm.masks.matcher import Matcher


class RegularView:
    """The states that texts can lead to."""

    def __init__(self, automaton: Automaton, begins: Any = None):
        """`begins`: a term besides that of a text's beginning, where a matcher stands that has read bytes that no token spells."""
        program = automaton.program
        self._automaton = automaton
        with automaton.lock:
            program.clock.begin_call()
            self._numbers, table, accepting = collected(
                automaton, [program.start, *([] if begins is None else [begins])]
            )
            class_of = program.byte_sets.class_of
        self._first = self._numbers[program.start]
        self.classes, self.table = table_of(automaton, table, class_of, accepting)

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> StackGrid:
        if after is None:
            start = FIRST_CONTROL + self._first
        elif after.is_finished:
            start = FINISHED
        else:
            epoch, state = after._head[1:3]
            term = epoch.terms[state]
            if term not in self._numbers:
                return RegularView(self._automaton, term).grid(length, after, room, check)
            start = FIRST_CONTROL + self._numbers[term]
        return StackGrid(self.table, self.classes, length, [(start, ())], room, check)


def table_of(
    automaton: Automaton, table: np.ndarray, class_of: np.ndarray, accepting: np.ndarray
) -> tuple[TokenClasses, StackTable]:
    """Classes of tokens and what they do, where bytes of a class lead from states to states, int32 [S, C], or NONE."""
    states = np.arange(len(table), dtype=np.int32)
    machine = ByteAutomaton(table, class_of, [], accepting, states, states[:0])
    found = unrolled(automaton, None, machine, [], Tokens(automaton.program.vocab, None))
    return found.classes, replace(found.table, one_way=True)


def collected(automaton: Automaton, begins: list[Any]) -> tuple[dict[Hashable, int], np.ndarray, np.ndarray]:
    """The number of each term that bytes lead to from some terms, int32 [S, C] the number after a byte of each class, NONE where
    there is none, and which accept."""
    try:
        return _walk(automaton, begins)
    except LimitExceeded:
        if not automaton.epoch.is_full:
            raise
        return _walk(automaton, begins)  # in an epoch of its own


def _walk(automaton: Automaton, begins: list[Any]) -> tuple[dict[Hashable, int], np.ndarray, np.ndarray]:
    found: dict[int, int] = {}
    for term in begins:
        epoch, state = automaton.renew(term)
        found.setdefault(state, len(found))
    waiting = list(found)
    regular: RegularEpoch = epoch  # type: ignore[assignment]
    for state in waiting:
        regular.expand(state)
        for target in np.unique(regular.tables.next[state]).tolist():
            if target != DEAD and target not in found:
                found[target] = len(found)
                waiting.append(target)
    states = list(found)
    renumber = np.full(len(regular.tables.next), NONE, np.int32)
    renumber[states] = np.arange(len(states))
    accepting = np.array([regular.accepting[state] for state in states])
    return {regular.terms[s]: n for s, n in found.items()}, renumber[regular.tables.next[states]], accepting
