"""The view of JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.masks.canvas.classes import classes_of
from grammarlm.masks.canvas.protocol import Grid
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Clock

from .automaton import byte_automaton
from .explored import Explorer, start_thread
from .table import FIRST_CONTROL, JsonTable
from .tokens import NOWHERE, TokenEffects

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.matcher import Matcher


class JsonView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    def __init__(self, automaton: Automaton):
        self._automaton = automaton
        if automaton.program.json.tracked:
            raise UnsupportedFeature("a canvas over an array with uniqueItems whose items may be objects or arrays")
        program = self._program = automaton.program
        clock = Clock(program.limits)
        explored = Explorer(program).run([start_thread(program)])
        machine = byte_automaton(explored, clock.check)
        effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
        kinds = effects.of_tokens(program.vocab)
        kinds[kinds == NOWHERE] = -1
        kinds[list(program.vocab.special_ids)] = -1
        self.classes, vectors = classes_of(kinds + 1, program.vocab.stop_ids)
        self.table = JsonTable(machine, effects, (vectors - 1).tolist()).table
        self._start = FIRST_CONTROL + int(machine.block_of[explored.starts[0]])

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> Grid:
        starts = [(self._start, ())]
        if after is not None:
            starts = [(FINISHED, ())] if after.is_finished else self._starts_after(after)
        return StackGrid(self.table, self.classes, length, starts, room, check)

    def _starts_after(self, matcher: Matcher) -> list[tuple[int, tuple[int, ...]]]:
        raise UnsupportedFeature("after= for a JSON schema")
