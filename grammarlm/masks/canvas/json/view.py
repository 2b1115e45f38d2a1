"""The view of JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.json import SHARED_BIT
from grammarlm.layout.json_canvas import MARKS, MARKS_BEHIND
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
from .explored import SHORT, Explorer, States, has_cap, start_thread
from .few import partly_given, spellings
from .keys import spelling_tokens, tight_keys
from .places import Places
from .residue import LEVELS, MOST_FOLLOWED, JsonGrid
from .spelled import is_accepting, spelled_keys, steps_of
from .table import FIRST_CONTROL, JsonTable
from .tokens import NOWHERE, TokenEffects
from .tracked import long_strings

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
    from grammarlm.masks.matcher import Matcher
    from grammarlm.vocab.vocabulary import Vocabulary

MOST_KNOWN = 32
Starts = list[tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Unrolled:
    """All states of a schema from some beginnings, with what tokens do to them."""

    explorer: Explorer
    machine: ByteAutomaton
    classes: TokenClasses
    table: StackTable
    arrays: TableArrays | None
    symbol_of: dict[int, int]
    start: int
    byte_classes: np.ndarray  # int32 [256]: the class of each byte, and of each mark; NEVER where no state reads it

    def starts(self, found: Starts) -> Starts:
        """(control, stack) of (state, states to return to)."""
        block = self.machine.block_of
        return [
            (FIRST_CONTROL + int(block[s]), tuple(self.symbol_of[int(block[r])] for r in stack)) for s, stack in found
        ]


def unrolled(program: JsonSchemaProgram, explorer: Explorer, most_states: int | None = None) -> Unrolled:
    """`most_states`: beyond which it is not made, LimitExceeded."""
    clock = Clock(program.limits)
    explored = explorer.run(start_thread(program))
    machine = byte_automaton(explored, clock.check)
    if most_states is not None and machine.states > most_states:
        raise LimitExceeded(f"a canvas over this schema needs more than {most_states:,} states")
    effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
    kinds = effects.of_tokens(program.vocab)
    if has_cap(program.tables.blanks) and not explorer.states.counts_blanks:
        effects.forbid_long_blanks(program.vocab, kinds)
    marks, byte_classes, has_tokens = explorer.states.marks, np.zeros(256, np.int32), None
    kinds[list(program.vocab.special_ids)] = NOWHERE
    if marks:
        kinds[marked_tokens(program.vocab)] = NOWHERE
        kinds = np.concatenate([kinds, effects.of_bytes()])
    kinds[kinds == NOWHERE] = -1
    classes, vectors = classes_of(kinds + 1, program.vocab.stop_ids)
    if marks:
        of, byte_classes = classes.of[: program.vocab.size], classes.of[program.vocab.size :]
        classes = TokenClasses(of, classes.count)
        has_tokens = classes.sizes > 0
    behind = byte_classes[list(MARKS_BEHIND)].tolist() if marks else []
    table = JsonTable(machine, effects, (vectors - 1).tolist(), has_tokens, behind)
    return Unrolled(
        explorer,
        machine,
        classes,
        table.table,
        None if marks else TableArrays(table.table),
        table.symbol_of,
        int(machine.block_of[explored.start]),
        byte_classes,
    )


@lru_cache(maxsize=4)
def marked_tokens(vocab: Vocabulary) -> np.ndarray:
    """The tokens with bytes that are marks."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, MARKS))])
    return np.flatnonzero(np.diff(before[vocab.offsets]))


class JsonView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    def __init__(self, automaton: Automaton):
        program = automaton.program
        if isinstance(program, DistinctProgram):
            raise UnsupportedFeature("a canvas over an array with uniqueItems whose items may be objects or arrays")
        self._automaton, self._program, self.vocab = automaton, program, program.vocab
        self._known: dict[States, Unrolled] = {}
        self._too_few: dict[States, int] = {}  # numbers of states that are not enough
        places = Places(program.json.rows, program.json.start)
        self.has_free_keys = places.has_free_keys
        self.has_cap, self.is_plain = has_cap(program.tables.blanks), program.tables.spelling == "plain"
        self._spelled = spelled_keys(program, places.languages)
        self._languages = [state for state in sorted(places.languages) if state and not state & SHARED_BIT]
        long = [program.json.rows[row + 1] for row in long_strings(program.json.rows, places.strings)]
        self.least_length = min(long, default=None)  # of the maxLengths that are not always counted
        self._any_loose: bool | None = None

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

    # ------------------------------------------------------------------ what a row needs

    def has_loose(self) -> bool:
        """Are there numbers that not every lattice follows?"""
        if self._any_loose is None:
            self._any_loose = self._of(States(self._spelled)).explorer.has_loose
        return self._any_loose

    def counts_blanks(self, most: int) -> bool:
        """Are the states no more than this, if blanks are counted?"""
        return self._of_at_most(States(self._spelled, counts_blanks=True), most) is not None

    def digits_followed(self, room: int, most: int) -> int:
        """How far numbers are followed where they have room for so many bytes: as far as that takes no more states."""
        if room > LEVELS[-1] and most == MOST_FOLLOWED:
            room = LEVELS[0]
        enough = next((level for level in LEVELS if level >= room), LEVELS[-1])
        for digits in reversed([level for level in LEVELS if level <= enough]):
            if self._of_at_most(States(self._spelled, digits), most) is not None:
                return digits
        return SHORT

    def few_spellings(self, runs: Sequence[bytes]) -> set[bytes]:
        """The spellings of partly given keys that have less than there are such keys; LimitExceeded where they are not known."""
        patterns = partly_given(runs) if self._languages else []
        found, count = set[bytes](), len(patterns) + len(set(tight_keys(runs)))
        steps, accepts = partial(steps_of, self._program), partial(is_accepting, self._program)
        for pattern in patterns if count > 1 else ():
            least = spellings(pattern, self._languages, steps, accepts, spelling_tokens(self.vocab).is_token)
            if least is not None and len(least) < count:
                most = spellings(pattern, self._languages, steps, accepts, None)
                if most is None:
                    raise LimitExceeded("a canvas: too many spellings of a key whose given tokens leave few")
                found |= most
        return found

    def lattice(
        self, states: States, length: int, after: Matcher | None, room: int, check: Callable[[], None]
    ) -> StackGrid:
        """Rows of states that know this; LeftOut where `after` stands in a number that they do not follow."""
        found = self._of(states._replace(keys=tuple(sorted({*states.keys, *self._spelled}))))
        starts: Starts = [(FIRST_CONTROL + found.start, ())]
        if after is not None and after.is_finished:
            starts = [(FINISHED, ())]
        elif after is not None:
            found, starts = self._after(found, after)
        return StackGrid(found.table, found.classes, length, starts, room, check, found.arrays)

    def marked(
        self, states: States, after: Matcher | None, keys: tuple[bytes, ...], begun: int
    ) -> tuple[Unrolled, Starts]:
        """States that know marks, and (control, stack) where rows begin: see Explorer.starts_of."""
        found = self._of(states._replace(keys=tuple(sorted({*states.keys, *self._spelled}))))
        if after is not None and not after.is_finished:
            return self._after(found, after, keys, begun)
        return found, [(FINISHED if after is not None else FIRST_CONTROL + found.start, ())]

    def _of(self, states: States) -> Unrolled:
        found = self._known.get(states)
        if found is None:
            found = self._keep(states, unrolled(self._program, Explorer(self._program, states)))
        return found

    def _of_at_most(self, states: States, most: int) -> Unrolled | None:
        """None where it has more states."""
        found = self._known.get(states)
        if found is None and most > self._too_few.get(states, 0):
            explorer = Explorer(self._program, states, 4 * most)
            try:
                found = self._keep(states, unrolled(self._program, explorer, most))
            except LimitExceeded:
                self._program.clock.check()
                self._too_few[states] = most
        return found if found is not None and found.machine.states <= most else None

    def _keep(self, states: States, found: Unrolled) -> Unrolled:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[states] = found
        return found

    def _after(
        self, found: Unrolled, matcher: Matcher, keys: tuple[bytes, ...] = (), begun: int = -1
    ) -> tuple[Unrolled, Starts]:
        """Where a matcher stands: its states are there, but for texts that no token of the vocabulary spells."""
        epoch, state = matcher._head[1:3]
        begins = found.explorer.starts_of(epoch.terms[state], keys, begun)
        if found.explorer.count > len(found.machine.block_of):
            found = self._keep(found.explorer.states, unrolled(self._program, found.explorer))
        return found, found.starts(begins)
