"""The view of JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammarlm.errors import UnsupportedFeature
from grammarlm.masks.canvas.classes import TokenClasses, classes_of
from grammarlm.masks.canvas.protocol import Grid
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Clock

from .automaton import ByteAutomaton, byte_automaton
from .explored import Explorer, start_thread
from .table import FIRST_CONTROL, JsonTable
from .tokens import NOWHERE, TokenEffects

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
    from grammarlm.masks.matcher import Matcher

Starts = list[tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Unrolled:
    """All states of a schema from some beginnings, with what tokens do to them."""

    explorer: Explorer
    machine: ByteAutomaton
    classes: TokenClasses
    table: StackTable
    symbol_of: dict[int, int]
    start: int

    def starts(self, found: Starts) -> Starts:
        """(control, stack) of (state, states to return to)."""
        block = self.machine.block_of
        return [(FIRST_CONTROL + int(block[s]), tuple(self.symbol_of[int(block[r])] for r in stack)) for s, stack in found]


def unrolled(program: JsonSchemaProgram, explorer: Explorer) -> Unrolled:
    clock = Clock(program.limits)
    explored = explorer.run(start_thread(program))
    machine = byte_automaton(explored, clock.check)
    effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
    kinds = effects.of_tokens(program.vocab)
    kinds[kinds == NOWHERE] = -1
    kinds[list(program.vocab.special_ids)] = -1
    classes, vectors = classes_of(kinds + 1, program.vocab.stop_ids)
    table = JsonTable(machine, effects, (vectors - 1).tolist())
    return Unrolled(explorer, machine, classes, table.table, table.symbol_of, int(machine.block_of[explored.start]))


class JsonView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    def __init__(self, automaton: Automaton):
        self._automaton, self._program = automaton, automaton.program
        if not hasattr(automaton.program, "json"):
            raise UnsupportedFeature("a canvas over an array with uniqueItems whose items may be objects or arrays")
        self._plain = unrolled(self._program, Explorer(self._program))

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> Grid:
        found, starts = self._plain, [(FIRST_CONTROL + self._plain.start, ())]
        if after is not None and after.is_finished:
            starts = [(FINISHED, ())]
        elif after is not None:
            found, starts = self._after(found, after)
        return StackGrid(found.table, found.classes, length, starts, room, check)

    def _after(self, found: Unrolled, matcher: Matcher) -> tuple[Unrolled, Starts]:
        """Where a matcher stands: its states are there, but for texts that no token of the vocabulary spells."""
        epoch, state = matcher._head[1:3]
        count = found.explorer.count
        begins = found.explorer.starts_of(epoch.terms[state])
        if found.explorer.count > count:
            found = self._plain = unrolled(self._program, found.explorer)
        return found, found.starts(begins)


def tracked_view(program: JsonSchemaProgram, keys: Sequence[bytes]) -> Unrolled:
    """The same with some free keys, of which no object may have two."""
    return unrolled(program, Explorer(program, sorted(keys)))
