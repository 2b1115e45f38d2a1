"""What a view of JSON Schema (view.py) and one of texts with schemas in them (parts/view.py) have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.table import DEAD
from grammarlm.masks.canvas.protocol import TokenGrid, Undecided
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.filters.budget import INFINITE, costs_of
from grammarlm.masks.protocol import FINISHED, Epoch

from .capped import long_blanks
from .explored import SHORT, States
from .grid import LEVELS, MOST_FOLLOWED, JsonGrid
from .unrolled import Starts, Tokens, Unrolled, marked_tokens

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.machines.json.vocabulary.blanks import Blanks
    from grammarlm.masks.matcher import Matcher
    from grammarlm.vocab.vocabulary import Vocabulary

MOST_KNOWN = 32
MANTISSAS = (4, 8, 16, 25)  # digits after which exponents are followed, beside SHORT
MOST_EXPONENTS = 1 << 15  # states of a lattice that follows exponents after more digits than SHORT


class UnrolledView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    vocab: Vocabulary
    has_free_keys: bool
    has_key_languages: bool = False  # are there free keys of a language that are not all followed?
    has_cap: bool  # is the number of blanks in a gap bounded by the cap alone?
    gaps: Blanks | None = None  # where it is, in each gap of a text
    is_plain: bool  # have strings one spelling?
    hangs_on_mantissas: bool = True  # are there numbers of which exponents are followed only after so many digits?
    mantissa: int = SHORT  # digits after which they are followed in any row
    has_narrow: bool = False  # numbers of which a token's digits can be too many, but for an exponent
    leaves_out_escapes: bool = False  # are strings of a language there in one spelling of several?
    long_lengths: tuple[int, ...]  # the maxLengths that are not always counted, sorted
    spelled: tuple[bytes, ...]  # keys of languages of few strings

    def __init__(self, automaton: Automaton):
        self._automaton = automaton
        self.vocab = automaton.program.vocab
        self._known: dict[States, Unrolled] = {}
        self._too_few: dict[States, int] = {}  # numbers of states that are not enough
        self._unmade: dict[States, str] = {}  # those that would have too many states, and what is said of it
        self._counts: dict[States, int] = {}  # numbers of states that are
        self._any_loose: bool | None = None

    def _made(self, states: States, most: int | None = None) -> Unrolled:
        """LimitExceeded where it has more than `most` states."""
        raise NotImplementedError

    def _after(
        self, found: Unrolled, matcher: Matcher, keys: tuple[bytes, ...] = (), begun: int = -1
    ) -> tuple[Unrolled, Starts]:
        """Where a matcher stands: its states are there, but for texts that no token of the vocabulary spells. `keys` and `begun`:
        see Explorer.starts_of."""
        raise NotImplementedError

    def configs_of(self, matcher: Matcher) -> list[Config]:
        """Of the schemas that a matcher stands in, the config of each."""
        raise NotImplementedError

    def few_spellings(self, runs: Sequence[bytes]) -> set[bytes]:
        """The spellings of partly given keys that have less than there are such keys; LimitExceeded where they are not known."""
        raise NotImplementedError

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> TokenGrid:
        return JsonGrid(self, length, after, room, check)

    def reads(self, after: Matcher | None, tokens: Sequence[int], ends: bool) -> bool:
        """Does the machine itself read these tokens, after what a matcher has read? `ends`: and may the text end there?"""
        with self._automaton.lock:
            epoch, state = self._read(after, tokens)
            return state != DEAD and (not ends or bool(epoch.accepting[state]))

    def fewest_after(self, after: Matcher | None, tokens: Sequence[int]) -> int:
        """So many more tokens are enough to end a text that begins with these; INFINITE where that is not known."""
        with self._automaton.lock:
            epoch, state = self._read(after, tokens)
            try:
                return costs_of(epoch).falling(epoch, state)
            except UnsupportedFeature:  # schemas beside other grammars have no budgets
                return INFINITE

    def _read(self, after: Matcher | None, tokens: Sequence[int]) -> tuple[Epoch, int]:
        """The state after these tokens, or DEAD. An epoch that many completions have filled is renewed once."""
        program = self._automaton.program
        program.clock.begin_call()
        term = program.start if after is None else after._head[1].terms[after._head[2]]
        for is_last in (False, True):
            epoch, state = self._automaton.renew(term)
            try:
                for token in tokens:
                    state = epoch.after_token(state, token)
                    if state == DEAD:
                        break
                return epoch, state
            except LimitExceeded:
                if is_last or not epoch.is_full:
                    raise
        raise AssertionError

    # ------------------------------------------------------------------ what a row needs

    def has_loose(self) -> bool:
        """Are there numbers that not every lattice follows?"""
        if self._any_loose is None:
            self._any_loose = self._of(States(self.spelled)).has_loose
        return self._any_loose

    def counts_blanks(self, most: int) -> bool:
        """Are the states no more than this, if blanks are counted?"""
        if self._of(States(self.spelled)).machine.states_by_blanks > most:
            return False  # without unrolling all of them
        return self._of_at_most(States(self.spelled, counts_blanks=True), most) is not None

    def digits_followed(self, room: int, most: int) -> int:
        """How far numbers are followed where they have room for so many bytes: as far as that takes no more states."""
        if room > LEVELS[-1] and most == MOST_FOLLOWED:
            room = LEVELS[0]
        if self._of(States(self.spelled)).machine.states > most:
            return SHORT  # those that follow more are no fewer
        enough = next((level for level in LEVELS if level >= room), LEVELS[-1])
        fitting = self._levels_that_fit([level for level in LEVELS if level <= enough], most)
        made = (level for level in reversed(fitting) if self._of_at_most(States(self.spelled, level), most) is not None)
        return next(made, SHORT)

    def _levels_that_fit(self, levels: Sequence[int], most: int) -> list[int]:
        """The first of these that take no more states. Each byte more takes at least as many states more as the one before, so what
        two of them take says of many that they are too many."""
        counts: list[tuple[int, int]] = []
        if levels and self._least_states(levels[0]) > most:
            return []
        for level in levels:
            if len(counts) > 1:
                (before, fewer), (last, more) = counts[-2:]
                if more + (more - fewer) * (level - last) // (last - before) > most:
                    break
            count = self._count(States(self.spelled, level), most)
            if count is None:
                break
            counts.append((level, count))
        return [level for level, _ in counts]

    def _least_states(self, digits: int) -> int:
        """How many states are there at least that follow numbers of so many bytes? Without looking at them."""
        return 0

    def mantissa_followed(self, digits: int) -> int:
        """After how many digits exponents are followed, where a row asks for so many: less if that takes too many states."""
        if digits <= self.mantissa or self._of(States(self.spelled)).machine.states > MOST_EXPONENTS:
            return SHORT
        enough = next((level for level in MANTISSAS if level >= digits), MANTISSAS[-1])
        levels = [level for level in reversed(MANTISSAS) if self.mantissa < level <= enough]
        if self._follows_mantissa(enough):
            return enough
        asked = [States(self.spelled, mantissa=level) for level in levels]
        if not any(states in self._known for states in asked) and self._count(asked[-1], MOST_EXPONENTS) is None:
            return SHORT  # those that follow more digits are no fewer
        return next((level for level in levels if self._follows_mantissa(level)), SHORT)

    def _follows_mantissa(self, level: int) -> bool:
        """Are exponents followed after so many digits in few enough states?"""
        asked = [States(self.spelled, mantissa=one) for one in MANTISSAS if self.mantissa < one <= level]
        if any(self._too_few.get(states, 0) >= MOST_EXPONENTS for states in asked):
            return False
        return self._of_at_most(asked[-1], MOST_EXPONENTS) is not None

    def lattice(
        self, states: States, length: int, after: Matcher | None, room: int, check: Callable[[], None]
    ) -> StackGrid:
        """Rows of states that know this; LeftOut where `after` stands in a number that they do not follow."""
        found = self._of(states._replace(keys=tuple(sorted({*states.keys, *self.spelled}))))
        if after is None:
            starts = found.starts(found.begins)
        elif after.is_finished:
            starts = [(FINISHED, ())]
        else:
            found, starts = self._after(found, after)
        is_text = self.text_controls(found) if self.has_cap and not states.counts_blanks else None
        bodies = self.bodies_of(found)
        return StackGrid(found.table, found.classes, length, starts, room, check, is_text, bodies)

    def text_controls(self, found: Unrolled) -> np.ndarray | None:
        """bool by control: are blanks text there? None where a run of blanks may leave a gap, and be text of another part."""
        return None

    def bodies_of(self, found: Unrolled) -> np.ndarray | None:
        """bool by control: within strings, between characters? None where no escapes are left out."""
        return None

    def marked(
        self, states: States, after: Matcher | None, keys: tuple[bytes, ...], begun: int
    ) -> tuple[Unrolled, Starts]:
        """States that know marks, and (control, stack) where rows begin: see Explorer.starts_of."""
        found = self._of(states._replace(keys=tuple(sorted({*states.keys, *self.spelled}))))
        if after is not None and not after.is_finished:
            return self._after(found, after, keys, begun)
        return found, [(FINISHED, ())] if after is not None else found.starts(found.begins)

    def tokens(self, states: States) -> Tokens:
        """The tokens as these states read them."""
        is_capped = self.has_cap and not states.counts_blanks
        return Tokens(
            self.vocab,
            long_blanks(self.vocab) if is_capped else [],
            marked_tokens(self.vocab) if states.marks else None,
        )

    def _of(self, states: States) -> Unrolled:
        found = self._known.get(states)
        if found is None:
            if states in self._unmade:
                raise Undecided(self._unmade[states])
            try:
                found = self._keep(states, self._made(states))
            except Undecided as error:  # seconds, that each row would take again
                self._unmade[states] = str(error)
                raise
        return found

    def _of_at_most(self, states: States, most: int) -> Unrolled | None:
        """None where it has more states."""
        found = self._known.get(states)
        if found is None and most > self._too_few.get(states, 0):
            try:
                found = self._keep(states, self._made(states, most))
            except LimitExceeded:
                self._automaton.program.clock.check()
                self._too_few[states] = most
        return found if found is not None and found.machine.states <= most else None

    def _count(self, states: States, most: int) -> int | None:
        """How many states it has; None: more."""
        if states not in self._counts and most > self._too_few.get(states, 0):
            try:
                self._counts[states] = self._counted(states, most)
            except LimitExceeded:
                self._automaton.program.clock.check()
                self._too_few[states] = most
        count = self._counts.get(states, most + 1)
        return count if count <= most else None

    def _counted(self, states: States, most: int) -> int:
        """How many states it has; or LimitExceeded where it has more than `most`."""
        return self._keep(states, self._made(states, most)).machine.states

    def _keep(self, states: States, found: Unrolled) -> Unrolled:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[states] = found
        return found
