"""The view of JSON Schema, and what a view of texts with schemas in them (parts/view.py) has in common with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.json import SHARED_BIT
from grammarlm.layout.json_canvas import MARKS, MARKS_BEHIND
from grammarlm.layout.numbers import Bound, Flag, Number
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
from .capped import LongBlanks, long_blanks
from .explored import MANY_STATES, MOST_STATES, SHORT, Explored, Explorer, States, has_cap, start_thread
from .few import Spellings, partly_given
from .grid import LEVELS, MOST_FOLLOWED, TOKEN_DIGITS, JsonGrid
from .keys import spelling_tokens, tight_keys
from .places import Places
from .scales import scales_of
from .spelled import is_accepting, spelled_keys, steps_of
from .table import FIRST_CONTROL, JsonTable
from .tokens import NOWHERE, TokenEffects, TrieVocabulary
from .tracked import long_strings

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.machines.json.vocabulary.blanks import Blanks
    from grammarlm.masks.matcher import Matcher
    from grammarlm.vocab.vocabulary import Vocabulary

MOST_KNOWN = 32
MANTISSAS = (4, 8, 16, 25)  # digits after which exponents are followed, beside SHORT
MOST_EXPONENTS = 1 << 15  # states of a lattice that follows exponents after more digits than SHORT
Starts = list[tuple[int, tuple[int, ...]]]


class Tokens(NamedTuple):
    """A vocabulary as some states read it."""

    vocab: TrieVocabulary
    long: Sequence[LongBlanks]  # with more blanks than may stand between tokens of JSON, where states do not count them
    marked: np.ndarray | None  # with bytes that are marks; None where states know none


@dataclass(frozen=True, eq=False)
class Unrolled:
    """All states of a text from some beginnings, with what tokens do to them. `source` says where they are from."""

    source: Any
    machine: ByteAutomaton
    classes: TokenClasses
    table: StackTable
    arrays: TableArrays | None
    symbol_of: dict[int, int]
    has_loose: bool
    begins: Starts  # where texts begin, of unrolled states
    byte_classes: np.ndarray  # int32 [256]: the class of each byte, and of each mark; NEVER where no state reads it

    def starts(self, found: Starts) -> Starts:
        """(control, stack) of (unrolled state, states to return to)."""
        block = self.machine.block_of
        return [
            (FIRST_CONTROL + int(block[s]), tuple(self.symbol_of[int(block[r])] for r in stack)) for s, stack in found
        ]


@dataclass(frozen=True, eq=False)
class Bare:
    """All states of a schema, of which it is not known yet what tokens do to them."""

    explorer: Explorer
    table: Explored
    machine: ByteAutomaton


def unrolled(
    automaton: Automaton,
    source: Any,
    machine: ByteAutomaton,
    has_loose: bool,
    begins: Starts,
    tokens: Tokens,
    most_states: int | None = None,
) -> Unrolled:
    """`most_states`: beyond which it is not made, LimitExceeded."""
    program: Any = automaton.program
    clock = Clock(program.limits)
    if most_states is not None and machine.states > most_states:
        raise LimitExceeded(f"a canvas over this schema needs more than {most_states:,} states")
    effects = TokenEffects(machine, program.limits.max_bytes, clock.check)
    kinds = effects.of_tokens(tokens.vocab)
    effects.forbid_long_blanks(tokens.long, kinds)
    kinds[list(tokens.vocab.special_ids)] = NOWHERE
    byte_classes, has_tokens, size = np.zeros(256, np.int32), None, len(kinds)
    if tokens.marked is not None:
        kinds[tokens.marked] = NOWHERE
        kinds = np.concatenate([kinds, effects.of_bytes()])
    kinds[kinds == NOWHERE] = -1
    classes, vectors = classes_of(kinds + 1, tokens.vocab.stop_ids)
    if tokens.marked is not None:
        byte_classes = classes.of[size:]
        classes = TokenClasses(classes.of[:size], classes.count)
        has_tokens = classes.sizes > 0
    behind = byte_classes[list(MARKS_BEHIND)].tolist() if tokens.marked is not None else []
    made = JsonTable(machine, effects, (vectors - 1).tolist(), has_tokens, behind, clock.check)
    arrays = None if tokens.marked is not None else TableArrays(made.table)
    return Unrolled(source, machine, classes, made.table, arrays, made.symbol_of, has_loose, begins, byte_classes)


@lru_cache(maxsize=4)
def marked_tokens(vocab: Vocabulary) -> np.ndarray:
    """The tokens with bytes that are marks."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, MARKS))])
    return np.flatnonzero(np.diff(before[vocab.offsets]))


class UnrolledView:
    """States of the unrolled machine, and what the vocabulary's tokens do to them."""

    vocab: Vocabulary
    has_free_keys: bool
    has_cap: bool  # is the number of blanks in a gap bounded by the cap alone?
    gaps: Blanks | None = None  # where it is, in each gap of a text
    is_plain: bool  # have strings one spelling?
    has_narrow: bool = False  # numbers of which a token's digits can be too many, but for an exponent
    leaves_out_escapes: bool = False  # are strings of a language there in one spelling of several?
    least_length: int | None  # of the maxLengths that are not always counted
    spelled: tuple[bytes, ...]  # keys of languages of few strings

    def __init__(self, automaton: Automaton):
        self._automaton = automaton
        self.vocab = automaton.program.vocab
        self._known: dict[States, Unrolled] = {}
        self._too_few: dict[States, int] = {}  # numbers of states that are not enough
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
        program = self._automaton.program
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

    def mantissa_followed(self, digits: int) -> int:
        """After how many digits exponents are followed, where a row asks for so many: less if that takes too many states."""
        if self._of(States(self.spelled)).machine.states > MOST_EXPONENTS:
            return SHORT
        enough = next((level for level in MANTISSAS if level >= digits), MANTISSAS[-1])
        for level in reversed(MANTISSAS):
            if level <= enough and self._of_at_most(States(self.spelled, mantissa=level), MOST_EXPONENTS) is not None:
                return level
        return SHORT

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
        return StackGrid(found.table, found.classes, length, starts, room, check, found.arrays, is_text)

    def text_controls(self, found: Unrolled) -> np.ndarray | None:
        """bool by control: are blanks text there? None where a run of blanks may leave a gap, and be text of another part."""
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
            found = self._keep(states, self._made(states))
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
        self._latest: tuple[States | None, Bare | None] = None, None  # what was made to count states
        self.spelled = spelled_keys(program, places.languages)
        self._languages = [state for state in sorted(places.languages) if state and not state & SHARED_BIT]
        self.gaps = program.tables.blanks if self.has_cap else None
        self.has_narrow = any(is_narrow(program.json.rows, row) for row in places.numbers)
        long = [program.json.rows[row + 1] for row in long_strings(program.json.rows, places.strings)]
        self.least_length = min(long, default=None)

    def explorer(self, states: States, most: int | None = None) -> Explorer:
        """Without states yet; `most`: of those that it comes to."""
        bound = MOST_STATES if self._scale == len(self._scales) - 1 else MANY_STATES
        return Explorer(
            self.program, states, bound if most is None else min(bound, 4 * most), self._scales[self._scale]
        )

    def _made(self, states: States, most: int | None = None) -> Unrolled:
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

    def _bare(self, explorer: Explorer) -> Bare:
        table = explorer.run(start_thread(self.program))
        return Bare(explorer, table, byte_automaton(table, Clock(self.program.limits).check))

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

    def configs_of(self, matcher: Matcher) -> list[Config]:
        epoch, state = matcher._head[1:3]
        return [epoch.terms[state]]

    @cached_property
    def _spellings(self) -> Spellings:
        steps, accepts = partial(steps_of, self.program), partial(is_accepting, self.program)
        return Spellings(self._languages, steps, accepts, spelling_tokens(self.vocab).is_token)

    def few_spellings(self, runs: Sequence[bytes]) -> set[bytes]:
        """The spellings of partly given keys that have less than there are such keys; LimitExceeded where they are not known."""
        patterns = partly_given(runs) if self._languages else []
        found, count = set[bytes](), len(patterns) + len(set(tight_keys(runs)))
        for pattern in patterns if count > 1 else ():
            least = self._spellings.of(pattern, are_tokens=True)
            if least is not None and len(least) < count:
                most = self._spellings.of(pattern, are_tokens=False)
                if most is None:
                    raise LimitExceeded("a canvas: too many spellings of a key whose given tokens leave few")
                found |= most
        return found


def is_narrow(rows: Sequence[int], row: int) -> bool:
    """Are numbers of some digits too large, but for an exponent? A sign that no number has says nothing."""
    if rows[row + Number.FLAGS] & (Flag.PLAIN | Flag.TIDY):
        return False
    powers = [
        (rows[row + side + Bound.LOW], rows[row + side + Bound.HIGH]) for side in (Number.POSITIVE, Number.NEGATIVE)
    ]
    return any(low <= high < TOKEN_DIGITS for low, high in powers)
