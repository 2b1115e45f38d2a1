"""The view of JSON Schema: one schema is all of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.json import SHARED_BIT
from grammarlm.layout.json_canvas import FAR
from grammarlm.layout.numbers import Bound, Flag, Number
from grammarlm.masks.machines.json.distinct.program import DistinctProgram
from grammarlm.masks.runtime.limits import Clock

from .alone import least_states
from .automaton import ByteAutomaton, byte_automaton
from .explored import MANY_STATES, MOST_STATES, SHORT, Explored, Explorer, States, start_thread
from .few import Spellings, partly_given
from .folded import has_cap
from .grid import TOKEN_DIGITS
from .keys import spelling_tokens, tight_keys
from .places import Places
from .scales import scales_of
from .spelled import is_accepting, spelled_keys, steps_of
from .table import FIRST_CONTROL
from .tracked import long_strings
from .unrolled import Starts, Unrolled, unrolled
from .unrolled_view import MANTISSAS, UnrolledView

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.matcher import Matcher


MOST_AT_FIRST = 1 << 13  # states of a table that follows exponents after more digits before a row asks for it


@dataclass(frozen=True, eq=False)
class Bare:
    """All states of a schema, of which it is not known yet what tokens do to them."""

    explorer: Explorer
    table: Explored
    machine: ByteAutomaton


class JsonView(UnrolledView):
    """One schema is all of the text."""

    def __init__(self, automaton: Automaton):
        super().__init__(automaton)
        program = automaton.program
        if isinstance(program, DistinctProgram):
            raise UnsupportedFeature("a canvas over an array with uniqueItems whose items may be objects or arrays")
        self.program: JsonSchemaProgram = program
        places = Places(program.json.rows, program.json.start)
        self.has_free_keys = places.has_free_keys
        self.has_cap, self.is_plain = has_cap(program.tables.blanks), program.tables.spelling == "plain"
        self._scales, self._scale = scales_of(places, program.json.rows, self.is_plain), 0
        self.leaves_out_escapes = self._scales[0].is_plain
        self._latest: tuple[States | None, Bare | None] = None, None  # what was made to count states
        self._least: dict[int, int] = {}
        self.spelled = spelled_keys(program, places.languages)
        self._languages = [state for state in sorted(places.languages) if state and not state & SHARED_BIT]
        self.has_key_languages = bool(self._languages)
        self.gaps = program.tables.blanks if self.has_cap else None
        self.hangs_on_mantissas = any(hangs_on_mantissa(program.json.rows, row) for row in places.numbers)
        self.mantissa = MANTISSAS[1] if self.hangs_on_mantissas else SHORT
        self.has_narrow = any(is_narrow(program.json.rows, row) for row in places.numbers)
        rows = program.json.rows
        self.long_lengths = tuple(sorted({rows[row + 1] for row in long_strings(rows, places.strings)}))

    def explorer(self, states: States, most: int | None = None) -> Explorer:
        """Without states yet; `most`: of those that it comes to."""
        bound = MOST_STATES if self._scale == len(self._scales) - 1 else MANY_STATES
        return Explorer(
            self.program,
            states,
            bound if most is None else min(bound, 4 * most),
            self._scales[self._scale],
            SHORT if states.is_loose else self.mantissa,
        )

    def _made(self, states: States, most: int | None = None) -> Unrolled:
        if most is None and states == States(self.spelled) and self.mantissa > SHORT:
            try:
                return self._with_tokens(self._bare(self.explorer(states, MOST_AT_FIRST)), MOST_AT_FIRST)
            except LimitExceeded:
                self._automaton.program.clock.check()
                self.mantissa = SHORT
        (known, bare), self._latest = self._latest, (None, None)
        bare = bare if known == states else None
        while True:
            try:
                return self._with_tokens(bare or self._bare(self.explorer(states, most)), most)
            except LimitExceeded:
                self._automaton.program.clock.check()
                if most is not None or self._scale == len(self._scales) - 1:
                    raise
                self._scale, bare = self._scale + 1, None
                self.leaves_out_escapes = self._scales[self._scale].is_plain

    def _counted(self, states: States, most: int) -> int:
        """Without looking at tokens."""
        self._latest = states, self._bare(self.explorer(states, most))
        return self._latest[1].machine.states

    def _least_states(self, digits: int) -> int:
        if digits not in self._least:
            found = self._of(States(self.spelled))
            self._least[digits] = least_states(self.program, found.source.threads, found.machine.block_of, digits)
        return self._least[digits]

    def _bare(self, explorer: Explorer) -> Bare:
        table = explorer.run(start_thread(self.program))
        bodies = table.bodies if explorer.leaves_out_escapes else None
        return Bare(explorer, table, byte_automaton(table, Clock(self.program.limits).check, bodies))

    def _with_tokens(self, bare: Bare, most: int | None = None) -> Unrolled:
        explorer = bare.explorer
        begins: Starts = [(bare.table.start, ())]
        tokens = self.tokens(explorer.states)
        return unrolled(self._automaton, explorer, bare.machine, explorer.has_loose, begins, tokens, most)

    def _after(
        self, found: Unrolled, matcher: Matcher, keys: tuple[bytes, ...] = (), begun: int = -1
    ) -> tuple[Unrolled, Starts]:
        explorer: Explorer = found.source
        (config,) = self.configs_of(matcher)
        begins = explorer.starts_of(config, keys, begun)
        if explorer.count > len(found.machine.block_of):
            found = self._keep(explorer.states, self._with_tokens(self._bare(explorer)))
        return found, found.starts(begins)

    def text_controls(self, found: Unrolled) -> np.ndarray | None:
        return np.concatenate([np.zeros(FIRST_CONTROL, bool), found.machine.is_text])

    def bodies_of(self, found: Unrolled) -> np.ndarray | None:
        bodies = found.machine.bodies
        return None if bodies is None else np.concatenate([np.zeros(FIRST_CONTROL, bool), bodies])

    def configs_of(self, matcher: Matcher) -> list[Config]:
        epoch, state = matcher._head[1:3]
        return [epoch.terms[state]]

    @cached_property
    def _spellings(self) -> Spellings:
        steps, accepts = partial(steps_of, self.program), partial(is_accepting, self.program)
        return Spellings(self._languages, steps, accepts, spelling_tokens(self.vocab).is_token)

    def few_spellings(self, runs: Sequence[bytes]) -> set[bytes]:
        """The spellings of partly given keys that have less than there are such keys; LimitExceeded where they are not known."""
        patterns, found = partly_given(runs) if self._languages else [], set[bytes]()
        count = len(patterns) + len(set(tight_keys(runs))) if patterns else 0
        for pattern in patterns if count > 1 else ():
            least = self._spellings.of(pattern, are_tokens=True)
            if least is not None and len(least) < count:
                most = self._spellings.of(pattern, are_tokens=False)
                if most is None:
                    raise LimitExceeded("a canvas: too many spellings of a key whose given tokens leave few")
                found |= most
        return found


def hangs_on_mantissa(rows: Sequence[int], row: int) -> bool:
    """Are exponents of such numbers followed only after as many digits as states say? Not where there is no exponent, nor where any
    that is followed is valid (kernels/cpu/json/canvas/numbers.py)."""
    flags, sides = rows[row + Number.FLAGS], (Number.POSITIVE, Number.NEGATIVE)
    if flags & (Flag.PLAIN | Flag.TIDY):
        return False
    is_far = all(rows[row + side + Bound.LOW] <= -FAR and rows[row + side + Bound.HIGH] >= FAR for side in sides)
    return not is_far or flags & (Flag.OPEN | Flag.STEPS) != Flag.OPEN


def is_narrow(rows: Sequence[int], row: int) -> bool:
    """Are numbers of some digits too large, but for an exponent? A sign that no number has says nothing."""
    if rows[row + Number.FLAGS] & (Flag.PLAIN | Flag.TIDY):
        return False
    powers = [
        (rows[row + side + Bound.LOW], rows[row + side + Bound.HIGH]) for side in (Number.POSITIVE, Number.NEGATIVE)
    ]
    return any(low <= high < TOKEN_DIGITS for low, high in powers)
