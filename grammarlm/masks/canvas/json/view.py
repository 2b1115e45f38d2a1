"""The view of JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammarlm.errors import UnsupportedFeature
from grammarlm.layout.table import DEAD
from grammarlm.masks.canvas.classes import TokenClasses, classes_of
from grammarlm.masks.canvas.protocol import TokenGrid
from grammarlm.masks.canvas.stack.arena import TableArrays
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.machines.json.distinct.program import DistinctProgram
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Clock

from .automaton import ByteAutomaton, byte_automaton
from .explored import SHORT, Explorer, has_cap, start_thread
from .places import Places
from .residue import JsonGrid, Tracked
from .spelled import spelled_keys
from .table import FIRST_CONTROL, JsonTable
from .tokens import NOWHERE, TokenEffects

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
    from grammarlm.masks.matcher import Matcher

SHORT_ROW, LONG_MANTISSA = 16, 8  # in short rows numbers with longer mantissas are followed exactly
MOST_KNOWN = 32
Starts = list[tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Unrolled:
    """All states of a schema from some beginnings, with what tokens do to them."""

    explorer: Explorer
    machine: ByteAutomaton
    classes: TokenClasses
    table: StackTable
    arrays: TableArrays
    symbol_of: dict[int, int]
    start: int

    def starts(self, found: Starts) -> Starts:
        """(control, stack) of (state, states to return to)."""
        block = self.machine.block_of
        return [
            (FIRST_CONTROL + int(block[s]), tuple(self.symbol_of[int(block[r])] for r in stack)) for s, stack in found
        ]


def unrolled(program: JsonSchemaProgram, explorer: Explorer) -> Unrolled:
    clock = Clock(program.limits)
    explored = explorer.run(start_thread(program))
    machine = byte_automaton(explored, clock.check)
    effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
    kinds = effects.of_tokens(program.vocab)
    if has_cap(program.tables.blanks) and not explorer.counts_blanks:
        effects.forbid_long_blanks(program.vocab, kinds)
    kinds[kinds == NOWHERE] = -1
    kinds[list(program.vocab.special_ids)] = -1
    classes, vectors = classes_of(kinds + 1, program.vocab.stop_ids)
    table = JsonTable(machine, effects, (vectors - 1).tolist())
    return Unrolled(
        explorer,
        machine,
        classes,
        table.table,
        TableArrays(table.table),
        table.symbol_of,
        int(machine.block_of[explored.start]),
    )


class JsonView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    def __init__(self, automaton: Automaton):
        program = automaton.program
        if isinstance(program, DistinctProgram):
            raise UnsupportedFeature("a canvas over an array with uniqueItems whose items may be objects or arrays")
        self._automaton, self._program, self.vocab = automaton, program, program.vocab
        self._known: dict[tuple[tuple[bytes, ...], int, bool], Unrolled] = {}
        places = Places(program.json.rows, program.json.start)
        self.has_free_keys = places.has_free_keys
        self._spelled = spelled_keys(program, places.languages)

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> TokenGrid:
        return JsonGrid(self, length, after, room, check)

    def reads(self, after: Matcher | None, tokens: Sequence[int], ends: bool) -> bool:
        """Does the machine itself read these tokens, after what a matcher has read? `ends`: and may the text end there?"""
        program = self._program
        with self._automaton.lock:
            program.clock.begin_call()
            term = program.start if after is None else after._head[1].terms[after._head[2]]
            epoch, state = self._automaton.renew(term)
            for token in tokens:
                state = epoch.after_token(state, token)
                if state == DEAD:
                    return False
            return not ends or bool(epoch.accepting[state])

    def lattice(
        self, tracked: Tracked, length: int, after: Matcher | None, room: int, check: Callable[[], None]
    ) -> StackGrid:
        """Rows of states, where some free keys are tracked, or blanks are counted."""
        keys = tuple(sorted({*tracked.keys, *self._spelled}))
        found = self._of(keys, SHORT if length + room > SHORT_ROW else LONG_MANTISSA, tracked.counts_blanks)
        starts: Starts = [(FIRST_CONTROL + found.start, ())]
        if after is not None and after.is_finished:
            starts = [(FINISHED, ())]
        elif after is not None:
            found, starts = self._after(found, after)
        return StackGrid(found.table, found.classes, length, starts, room, check, found.arrays)

    def _of(self, keys: tuple[bytes, ...], short: int, counts_blanks: bool) -> Unrolled:
        key = keys, short, counts_blanks
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = unrolled(self._program, Explorer(self._program, keys, short, counts_blanks))
        return self._known[key]

    def _after(self, found: Unrolled, matcher: Matcher) -> tuple[Unrolled, Starts]:
        """Where a matcher stands: its states are there, but for texts that no token of the vocabulary spells."""
        epoch, state = matcher._head[1:3]
        count = found.explorer.count
        begins = found.explorer.starts_of(epoch.terms[state])
        if found.explorer.count > count:
            found = unrolled(self._program, found.explorer)
        return found, found.starts(begins)
