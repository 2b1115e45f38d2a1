"""The view of verbatim quotes: the states of the suffix automaton as a table of bytes, where they are not too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json_canvas import NONE
from grammarlm.layout.substring import FIRST as FIRST_STATE
from grammarlm.masks.machines.regular.program import RegularProgram
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Limits

from .protocol import View
from .regular import RegularView, table_of
from .stack.grid import StackGrid
from .tables.table import FIRST_CONTROL

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.substring.suffixes import Suffixes
    from grammarlm.masks.matcher import Matcher


def view_of_quotes(automaton: Automaton) -> View:
    """A vocabulary that lacks some of the document's bytes has left it to the regular machine."""
    if isinstance(automaton.program, RegularProgram):
        return cast(View, RegularView(automaton))
    return cast(View, SubstringView(automaton))


class SubstringView:
    """The states that pieces lead to."""

    def __init__(self, automaton: Automaton):
        program = automaton.program
        suffixes: Suffixes = program.suffixes
        reached = _reached(suffixes, program.limits)
        self._number = np.full(len(suffixes.left), NONE, np.int32)
        self._number[reached] = np.arange(len(reached))
        self._start = int(self._number[suffixes.start])
        accepting = suffixes.left[reached] == 0
        self.classes, self.table = table_of(automaton, *self._table(suffixes, reached), accepting)

    def _table(self, suffixes: Suffixes, reached: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after each of the document's bytes; one column more is for all others."""
        used = np.unique(suffixes.byte)
        class_of = np.zeros(256, np.uint8)
        class_of[used] = np.arange(len(used)) + 1
        table = np.full((len(reached), len(used) + 1), NONE, np.int32)
        counts = np.diff(suffixes.edges)
        is_reached = np.repeat(self._number[: len(counts)] >= 0, counts)
        rows = np.repeat(self._number, counts)[is_reached]
        table[rows, class_of[suffixes.byte[is_reached]]] = self._number[suffixes.target[is_reached]]
        return table, class_of

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> StackGrid:
        start = FIRST_CONTROL + self._start
        if after is not None:
            state: int = after._head[2]
            start = FINISHED if state == FINISHED else FIRST_CONTROL + int(self._number[state - FIRST_STATE])
        return StackGrid(self.table, self.classes, length, [(start, ())], room, check)


def _reached(suffixes: Suffixes, limits: Limits) -> np.ndarray:
    """The states that pieces lead to: not those of texts that begin within a character, or a word."""
    is_reached = np.zeros(len(suffixes.left), bool)
    is_reached[suffixes.start] = True
    waiting = np.array([suffixes.start])
    while len(waiting):
        firsts, ends = suffixes.edges[waiting], suffixes.edges[waiting + 1]
        after = np.unique(np.concatenate([suffixes.target[a:b] for a, b in zip(firsts, ends, strict=True)]))
        waiting = after[~is_reached[after]]
        is_reached[waiting] = True
        if (count := int(is_reached.sum())) > limits.max_states:
            raise LimitExceeded(
                f"a canvas over a document: its pieces have more than limits.max_states = {limits.max_states:,} states ({count:,} "
                "so far); give a part of the document, or raise the limit"
            )
    return np.flatnonzero(is_reached)
