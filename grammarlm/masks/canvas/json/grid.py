"""Rows of one length, and the states that each needs: what its given tokens can make matter (doubts.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import MASKED, Passes, TokenPasses, Undecided
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.passes import StackPasses
from grammarlm.masks.matcher import Matcher

from .apart import EMPTY
from .begun import begun_of
from .doubts import Room, blanks_break, blanks_may_break, digits_beside, number_room
from .escapes import escape_tokens
from .explored import SHORT, LeftOut, States
from .keys import escaped_twice, runs_of
from .lengths import Lengths, counted_to, fewest_characters
from .marks import MarkedTable
from .needless import Needless
from .plain import PlainTokens
from .residue import JsonPasses
from .respelled import RespelledPasses, respelled_passes
from .settled import settled
from .shown import ShownRows
from .spans import Run, Runs
from .texts import quotes_of
from .tracked import MOST_COUNTED
from .trials import KnownTrials

if TYPE_CHECKING:
    from .answers import PlainRow
    from .second import Candidates
    from .unrolled_view import UnrolledView

MOST_KEYS = 4  # tracked at once
FEW_OPEN = 8  # symbols: stacks of no more lead to nearly all that may stand somewhere, and to few states
MOST_CANDIDATES = 1 << 12  # pairs of what is left and right of a position
LEVELS = (8, 12, 24, 48)  # bytes of numbers that states follow exactly, beside SHORT
SHORT_ROW = 16  # tokens: there numbers are followed as far as masked tokens have room for
TOKEN_DIGITS = 3  # most tokens have no more
MOST_FOLLOWED = 1 << 14  # states of a lattice that follows numbers further
FEW_CONTROLS = 1 << 9  # of a lattice that knows the empty key in each short row
FEW_STATES = 1 << 11  # of one that follows what masked tokens alone make possible: long numbers, many blanks


def followed(states: States) -> int:
    """How many keys do states follow, beside the empty one?"""
    return len(states.keys) - (EMPTY in states.keys)


class JsonGrid:
    """Rows of one length; passes are made of tokens, since a key is more than classes."""

    def __init__(self, view: UnrolledView, length: int, after: Matcher | None, room: int, check: Callable[[], None]):
        self._view, self.length, self._after, self.room, self.check = view, length, after, room, check
        self.vocab = view.vocab
        self.stops = frozenset(self.vocab.stop_ids)
        self._grids: dict[States, StackGrid] = {}
        self.latest: dict[States, StackPasses] = {}  # the last row of some states
        self.latest_low: dict[States, PlainRow] = {}  # the same, of few open brackets
        self.latest_near: dict[States, PlainRow] = {}  # the same, of which little is masked
        self.latest_read: list[int] | None = None  # a completion of the last row of which one was read
        self.shown = ShownRows(length)
        self.follows_empty = False  # is the empty key followed in any row?
        self.has_few_keys = view.has_key_languages  # may other tokens not make two keys differ?
        self._marked: dict[States, MarkedTable] = {}
        self._too_many: set[States] = set()
        self.height = FEW_OPEN
        self._candidates: tuple[frozenset[bytes], TokenClasses, dict[object, Candidates]] | None = None
        self._quotes: dict[int, tuple[TokenClasses, tuple[np.ndarray, np.ndarray]]] = {}
        self.begun = begun_of([] if after is None or after.is_finished else view.configs_of(after), view.gaps)
        self.runs, self.trials = Runs(self.vocab, self.begun.key), KnownTrials()
        self.has_free_keys, self.caps_blanks = view.has_free_keys, view.has_cap
        self.classes = self.grid(States()).classes
        self._plain: list[PlainTokens] = []
        self._bytes: tuple[list[int], list[bytes]] | None = None  # of the row asked for last
        self._others: dict[int, JsonGrid] = {}
        self._with_room: JsonGrid | None = None  # rows with all that may follow them
        self._needless: dict[int, tuple[StackGrid, Needless]] = {}

    def grid(self, states: States) -> StackGrid:
        """The lattice of these states."""
        if states not in self._grids:
            if followed(states) > MOST_KEYS:
                raise Undecided(
                    f"a canvas: whether more than {MOST_KEYS} keys come twice in an object depends on masked positions"
                )
            try:
                found = self._view.lattice(states, self.length, self._after, self.room, self.check)
            except LeftOut:
                if states.digits == LEVELS[-1]:
                    raise LimitExceeded(f"a canvas after a number of more than {LEVELS[-1]} bytes") from None
                found = self.grid(states._replace(digits=LEVELS[-1]))
            self._grids[states] = found
        return self._grids[states]

    def marked(self, states: States, count: int) -> MarkedTable:
        """Rows with marks around so many keys, over these states."""
        states = states._replace(marks=count)
        if states not in self._marked:
            self._marked[states] = MarkedTable(self._view, states, self._after, self.room, self.check)
        return self._marked[states]

    def marked_if_few(self, states: States, count: int) -> MarkedTable | None:
        """The same; None where there are too many states."""
        name = states._replace(marks=count)
        if name not in self._too_many:
            try:
                return self.marked(states, count)
            except LimitExceeded:
                self.check()
                self._too_many.add(name)
        return None

    def has_no_marks(self, states: States) -> bool:
        """Is it known that even the states of one mark are too many?"""
        return states._replace(marks=1) in self._too_many

    def quotes(self, classes: TokenClasses) -> tuple[np.ndarray, np.ndarray]:
        """See quotes_of."""
        if id(classes) not in self._quotes:
            self._quotes[id(classes)] = classes, quotes_of(self.vocab, classes)
        return self._quotes[id(classes)][1]

    def plain_tokens(self, classes: TokenClasses) -> PlainTokens:
        """Kept of the classes that were asked for last: those of rows with marks, and of rows without."""
        found = next((plain for plain in self._plain if plain.classes is classes), None)
        if found is None:
            found = PlainTokens(self.vocab, classes, self.length)
            self._plain = [found, *self._plain[:1]]
        return found

    def needless(self, lattice: StackGrid) -> Needless | None:
        """The escapes that a lattice leaves out; None: none."""
        if lattice.bodies is None or lattice.table.micro_order is None:
            return None
        key = id(lattice.table)
        if key not in self._needless:
            self._needless[key] = lattice, Needless(lattice, self.vocab)
        return self._needless[key][1]

    def candidates_of(self, keys: frozenset[bytes], classes: TokenClasses) -> dict[object, Candidates]:
        """Kept as long as rows have the same keys (second.py)."""
        known = self._candidates
        if known is None or known[0] != keys or known[1] is not classes or len(known[2]) > MOST_CANDIDATES:
            known = self._candidates = keys, classes, {}
        return known[2]

    def reads(self, text: Sequence[int], ends: bool) -> bool:
        """Does the machine read a row's text, to its end where the row has one?"""
        if self._after is not None and self._after.is_finished:
            return not text
        return self._view.reads(self._after, text, ends or not self.room)

    def may_end_after(self, row: Sequence[int]) -> bool:
        """Of a row that is read: does the machine know an end within the tokens that may follow? There may be one if not."""
        text = self.text(row)
        is_over = len(text) < len(row) or (self._after is not None and self._after.is_finished)
        return not self.room or is_over or self._view.fewest_after(self._after, text) <= self.room

    def read_with_room(self, tokens: Sequence[int]) -> list[int] | None:
        """A completion of a row that was read with an end after it."""
        if self._with_room is None:
            self._with_room = JsonGrid(self._view, self.length + self.room, self._after, 0, self.check)
        whole, row = self._with_room, [*tokens, *[MASKED] * self.room]
        is_completable = settled(JsonPasses(whole, row, whole._needed(row))).is_completable
        return whole.latest_read[: self.length] if is_completable and whole.latest_read is not None else None

    def begins(self, text: Sequence[int]) -> bool:
        """Does some text begin with these tokens, whatever its length?"""
        return self._view.reads(self._after, text, False)

    def token_passes(self, tokens: Sequence[int], before: Passes | None) -> TokenPasses:
        if isinstance(before, JsonPasses) and before.tokens == list(tokens):
            return before
        if isinstance(before, RespelledPasses):
            if before.tokens == list(tokens):
                return before
            before = before.passes
        row = list(tokens)
        if self._view.leaves_out_escapes and escape_tokens(self.vocab).are_in(row):
            respelled = respelled_passes(self, row, before)
            if respelled is not None:
                return respelled
        return self.settled(self.passes_of(row, before), before)

    def passes_of(self, row: list[int], before: Passes | None) -> JsonPasses:
        """Not settled."""
        like = before if isinstance(before, JsonPasses) and before.grid is self else None
        return JsonPasses(self, row, self._needed(row), before=like)

    def settled(self, passes: JsonPasses, before: Passes | None) -> JsonPasses:
        """Passes of states that know what matters, after those over the row before."""
        found = settled(passes)
        if isinstance(before, JsonPasses) and before.grid is self:
            found.previous, before.previous = before, None  # or all rows before would be kept
        return found

    def of_length(self, length: int) -> JsonGrid:
        """Rows of so many tokens."""
        if length == self.length:
            return self
        if length not in self._others:
            self._others[length] = JsonGrid(self._view, length, self._after, self.room, self.check)
            self._others[length]._needless = self._needless
        return self._others[length]

    def lattice_of(self, row: Sequence[int]) -> StackGrid:
        """That of the states which a row needs."""
        return self.grid(self._needed(row))

    # ------------------------------------------------------------------ the states of a row

    def _needed(self, tokens: Sequence[int]) -> States:
        """What the given tokens ask of the states."""
        view, free_keys = self._view, set[bytes]()
        tokens = self.text(tokens)
        if self.has_free_keys:
            runs = self.bytes_of(tokens)
            begun = self.begun.key
            opened = runs if begun is None else [b'"' + begun + runs[0], *runs[1:]]
            free_keys = escaped_twice(opened, self.begun.keys) | view.few_spellings(runs)
            if self.follows_empty or self.is_small:
                free_keys.add(EMPTY)
        digits = self._digits(tokens)
        return States(
            tuple(sorted(free_keys)),
            digits,
            mantissa=self._mantissa(tokens) if digits == SHORT else SHORT,
            counts_blanks=view.has_cap and self._counts_blanks(tokens),
            counted=self._counted(tokens) if view.long_lengths else MOST_COUNTED,
        )

    def follows_more(self, states: States) -> bool:
        """Have states room for one more key, and do they not take long?"""
        return followed(states) < MOST_KEYS and self.grid(states).table.controls <= FEW_STATES

    @cached_property
    def is_small(self) -> bool:
        """Is so little to be known of a row that all keys of it can be?"""
        if not self.has_free_keys or self.length + self.room > SHORT_ROW:
            return False
        return self.grid(States()).table.controls <= FEW_CONTROLS

    def _digits(self, tokens: Sequence[int]) -> int:
        room, view = self._number_room(tokens), self._view
        if not room.most or not view.has_loose():
            return SHORT
        if self.length + self.room <= SHORT_ROW:
            return view.digits_followed(room.most, MOST_FOLLOWED)
        return view.digits_followed(room.masked, FEW_STATES) if room.masked else SHORT

    def _mantissa(self, tokens: Sequence[int]) -> int:
        """After how many digits exponents are followed: as many as are given of a number, and those of a masked token."""
        view = self._view
        if not view.hangs_on_mantissas or not view.has_loose() or (MASKED not in tokens and not self.room):
            return SHORT
        given = digits_beside(tokens, self.vocab, self.begun.mantissa)
        return view.mantissa_followed(given + TOKEN_DIGITS) if given >= SHORT or view.has_narrow else SHORT

    def bytes_of(self, tokens: list[int]) -> list[bytes]:
        """The bytes of each run of a row, kept of the last."""
        if self._bytes is None or self._bytes[0] != tokens:
            self._bytes = list(tokens), runs_of(tokens, self.vocab, self.stops)
        return self._bytes[1]

    def text(self, tokens: Sequence[int]) -> list[int]:
        """A row to its first stop id."""
        found = list(tokens)
        for stop in self.stops:
            if stop in found:
                del found[found.index(stop) :]
        return found

    def runs_of(self, tokens: Sequence[int]) -> list[Run]:
        """The runs of a row's text."""
        text = self.text(tokens)
        return self.runs.of(text, len(text) == len(tokens) and self.room > 0)

    def _number_room(self, tokens: Sequence[int]) -> Room:
        return number_room(self.text(tokens), self.vocab, self.begun.digits, self.room)

    def _counts_blanks(self, tokens: Sequence[int]) -> bool:
        if blanks_break(tokens, self.vocab):
            return True
        may_break = self.begun.is_blank or blanks_may_break(tokens, self.vocab)
        return may_break and self._view.counts_blanks(FEW_STATES)

    def _counted(self, tokens: Sequence[int]) -> int:
        fewest = fewest_characters(tokens, self.vocab, self.begun.characters, self._view.is_plain)
        return counted_to(fewest) if fewest > self._view.long_lengths[0] else MOST_COUNTED

    def lengths(self, tokens: Sequence[int], states: States) -> Lengths | None:
        """What a row's states leave open about the characters of its strings; None: nothing."""
        least, view = next((n for n in self._view.long_lengths if n > states.counted), None), self._view
        if least is None:
            return None
        return Lengths(self.text(tokens), self.vocab, self.begun.characters, view.is_plain, least)

    def followed_further(self, tokens: Sequence[int], states: States) -> States | None:
        """For a row that cannot be completed in these states: those in which it can, perhaps; None: in none."""
        found = self._with_longer_numbers(tokens, states)
        if found is None and self._view.leaves_out_escapes:
            loose = states._replace(digits=SHORT, is_loose=True, has_any_length=True)
            if JsonPasses(self, list(tokens), loose).is_completable:
                raise Undecided(
                    "a canvas: whether escapes of characters that need none complete the row is not decided, as a schema of so "
                    "many states is followed without those"
                )
        return found

    def _with_longer_numbers(self, tokens: Sequence[int], states: States) -> States | None:
        if not self._view.has_loose() or states.is_loose:
            return None
        room = self._number_room(tokens).most
        if states.digits >= room or states.digits == LEVELS[-1]:
            if states.digits >= room or not self._loosely(tokens, states):
                return None
            raise Undecided(
                f"a canvas: whether a number of more than {LEVELS[-1]} bytes, with an exponent, completes the row is not decided"
            )
        if not self._loosely(tokens, states):
            return None
        return states._replace(digits=next((level for level in LEVELS if level >= room), LEVELS[-1]))

    def _loosely(self, tokens: Sequence[int], states: States) -> bool:
        """Can the row be completed if any number is valid that has the form of one?"""
        return JsonPasses(
            self, list(tokens), states._replace(digits=SHORT, mantissa=SHORT, is_loose=True)
        ).is_completable
