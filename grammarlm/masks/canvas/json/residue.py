"""What the states of a schema do not know, decided row by row.

Which states a row needs is seen from its given tokens (doubts.py): how far numbers are followed, whether blanks and lengths are
counted, which keys are tracked. What is still open is decided by the machine itself:

    no    of states that leave out numbers: asked again of states that have them by their form, then of those that follow them
    yes   where keys come twice and are not tracked: a completion is read; where it is refused, they are tracked from then on

A question that is not decided so is not answered: LimitExceeded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import MASKED, Draw, Passes
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.passes import StackPasses
from grammarlm.masks.matcher import Matcher
from grammarlm.vocab.vocabulary import Vocabulary

from .begun import begun_of
from .doubts import Room, blanks_break, blanks_may_break, digits_beside, fewest_characters, number_room
from .explored import SHORT, LeftOut, States
from .gaps import Gaps
from .keys import escaped_twice, runs_of, spelled_keys_of, spelling_tokens
from .marks import MarkedTable
from .repeats import Repeats, quotes_of
from .spans import Runs

if TYPE_CHECKING:
    from .view import UnrolledView

MOST_KEYS = 4  # tracked at once
MOST_MARKED = 20_000  # states whose objects marks are followed through: marks make more of them than there may be
LEVELS = (8, 12, 24, 48)  # bytes of numbers that states follow exactly, beside SHORT
SHORT_ROW = 16  # tokens: there numbers are followed as far as masked tokens have room for
SHORT_TOKEN = 4  # bytes
TOKEN_DIGITS = 3  # most tokens have no more
MOST_FOLLOWED = 1 << 14  # states of a lattice that follows numbers further
FEW_STATES = 1 << 11  # of one that follows what masked tokens alone make possible: long numbers, many blanks
NO_TOKENS = np.zeros(0, np.int64)


class JsonGrid:
    """Rows of one length; passes are made of tokens, since a key is more than classes."""

    def __init__(self, view: UnrolledView, length: int, after: Matcher | None, room: int, check: Callable[[], None]):
        self._view, self.length, self._after, self.room, self._check = view, length, after, room, check
        self.vocab = view.vocab
        self.stops = frozenset(self.vocab.stop_ids)
        self._grids: dict[States, StackGrid] = {}
        self.latest: dict[States, StackPasses] = {}  # the last row of some states
        self._marked: dict[States, MarkedTable] = {}
        self._too_many: set[States] = set()
        self._quotes: dict[int, tuple[TokenClasses, tuple[np.ndarray, np.ndarray]]] = {}
        self.begun = begun_of([] if after is None or after.is_finished else view.configs_of(after), view.gaps)
        self.runs = Runs(self.vocab, self.begun.key)
        self.has_free_keys = view.has_free_keys
        self.classes = self.grid(States()).classes

    def grid(self, states: States) -> StackGrid:
        """The lattice of these states."""
        if states not in self._grids:
            if len(states.keys) > MOST_KEYS:
                raise LimitExceeded(
                    f"a canvas: whether more than {MOST_KEYS} keys come twice in an object depends on masked positions"
                )
            try:
                found = self._view.lattice(states, self.length, self._after, self.room, self._check)
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
            self._marked[states] = MarkedTable(self._view, states, self._after, self.room, self._check)
        return self._marked[states]

    def marked_if_few(self, states: States, count: int) -> MarkedTable | None:
        """The same; None where there are too many states."""
        name = states._replace(marks=count)
        if name not in self._too_many:
            try:
                return self.marked(states, count)
            except LimitExceeded:
                self._check()
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

    def reads(self, text: Sequence[int], ends: bool) -> bool:
        """Does the machine read a row's text, to its end where the row has one?"""
        if self._after is not None and self._after.is_finished:
            return not text
        return self._view.reads(self._after, text, ends or not self.room)

    def token_passes(self, tokens: Sequence[int], before: Passes | None) -> JsonPasses:
        if isinstance(before, JsonPasses) and before.tokens == list(tokens):
            return before
        found = JsonPasses(self, list(tokens), self._needed(tokens)).settled()
        if isinstance(before, JsonPasses):
            found.previous, before.previous = before, None  # or all rows before would be kept
        return found

    # ------------------------------------------------------------------ the states of a row

    def _needed(self, tokens: Sequence[int]) -> States:
        """What the given tokens ask of the states."""
        view, free_keys = self._view, set[bytes]()
        tokens = self.text(tokens)
        if self.has_free_keys:
            runs = runs_of(tokens, self.vocab, self.stops)
            free_keys = escaped_twice(runs) | view.few_spellings(runs)
        digits = self._digits(tokens)
        return States(
            tuple(sorted(free_keys)),
            digits,
            mantissa=self._mantissa(tokens) if digits == SHORT else SHORT,
            counts_blanks=view.has_cap and self._counts_blanks(tokens),
            counts_lengths=view.least_length is not None and self._counts_lengths(tokens, view.least_length),
        )

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
        if not view.has_loose() or (MASKED not in tokens and not self.room):
            return SHORT
        given = digits_beside(tokens, self.vocab, self.begun.mantissa)
        return view.mantissa_followed(given + TOKEN_DIGITS) if given >= SHORT or view.has_narrow else SHORT

    def text(self, tokens: Sequence[int]) -> list[int]:
        """A row to its first stop id."""
        return list(takewhile(lambda token: token not in self.stops, tokens))

    def _number_room(self, tokens: Sequence[int]) -> Room:
        return number_room(self.text(tokens), self.vocab, self.begun.digits, self.room)

    def _counts_blanks(self, tokens: Sequence[int]) -> bool:
        if blanks_break(tokens, self.vocab):
            return True
        may_break = self.begun.is_blank or blanks_may_break(tokens, self.vocab)
        return may_break and self._view.counts_blanks(FEW_STATES)

    def _counts_lengths(self, tokens: Sequence[int], least: int) -> bool:
        return fewest_characters(tokens, self.vocab, self.begun.characters, self._view.is_plain) > least

    def followed_further(self, tokens: Sequence[int], states: States) -> States | None:
        """For a row that cannot be completed in these states: those in which it can, perhaps; None: in none."""
        found = self._with_longer_numbers(tokens, states)
        if found is None and self._view.leaves_out_escapes:
            loose = states._replace(digits=SHORT, is_loose=True, has_any_length=True)
            if JsonPasses(self, list(tokens), loose).is_completable:
                raise LimitExceeded(
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
            raise LimitExceeded(
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


class JsonPasses:
    """What is known of one row."""

    def __init__(self, grid: JsonGrid, tokens: list[int], states: States, like: JsonPasses | None = None):
        """`like`: passes over a row that differs in one token; else the last row of these states is taken for such."""
        self.grid, self.tokens, self.states = grid, tokens, states
        self._lattice = grid.grid(states)
        self.classes: TokenClasses = self._lattice.classes
        self._like = like
        self.previous: JsonPasses | None = None  # of the canvas' row before
        repeats = self._repeats
        by_marks = repeats is not None and bool(repeats.twins)
        self.is_completable = repeats.most.is_completable if repeats and by_marks else self._inner.is_completable
        self._given: dict[int, JsonPasses] = {}
        self._tracking: dict[bytes, JsonPasses] = {}

    @cached_property
    def _inner(self) -> StackPasses:
        """The row without marks."""
        given, grid, like = np.array(self.tokens), self.grid, self._like
        row = np.where(given == MASKED, MASKED, self.classes.of[given]).astype(np.int32)
        found = self._lattice.passes(row, grid.latest.get(self.states) if like is None else like._inner)
        if like is None:
            grid.latest[self.states] = found
        return found

    def settled(self) -> JsonPasses:
        """These, or passes of states that know what matters for the row."""
        decided = self.is_completable and self._has_apart_keys()
        if decided is None:
            if self._is_read(
                self.witness(self._inner.some)
            ):  # found at once; what follows finds one of the fewest blanks
                return self
            amended = self.amended(self.witness(self._inner.best))
            return self if amended is None else amended.settled()
        self.is_completable = decided
        further = None if decided else self.grid.followed_further(self.tokens, self.states)
        return self if further is None else JsonPasses(self.grid, self.tokens, further).settled()

    # ------------------------------------------------------------------ equal keys

    @cached_property
    def _repeats(self) -> Repeats | None:
        """The keys that may come twice; None where there are none."""
        may_repeat = self.grid.has_free_keys and not self._tracks_by_tables
        if not may_repeat:
            return None
        found = Repeats(self.grid, self.tokens, self.states, self.classes, self._unmarked_at)
        if found.twins and self.grid.marked_if_few(self.states, 1) is None:
            return None  # and _tracks_by_tables says so from now on
        return found if found.matters else None

    def _unmarked_at(self, position: int) -> np.ndarray:
        return self._inner.classes_at(position)

    @property
    def _tracks_by_tables(self) -> bool:
        """Is each key that may come twice tracked by a table of its own, instead of marks in the row?

        So it is where micro points go round in a circle, as those of some rules beside a schema: then there are no sets of
        stacks to follow marks by. And where there are many states, which marks would make too many.
        """
        table = self._lattice.table
        is_large = table.controls > MOST_MARKED or self.grid.has_no_marks(self.states)
        return self.grid.has_free_keys and (table.micro_order is None or is_large)

    def _has_apart_keys(self) -> bool | None:
        """Has the row a completion in which no key comes twice? None: that is not decided."""
        if self._tracks_by_tables:
            count = Counter([*(key for key, _ in spelled_keys_of(self._runs)), *self.grid.begun.keys])
            return None if any(n > 1 and key not in self.states.keys for key, n in count.items()) else True
        return self._repeats is None or not self._repeats.twins or self._repeats.is_completable

    def witness(self, chosen: Callable[[np.ndarray], np.ndarray]) -> list[int]:
        """Some completion, as the lattice has it: of few blanks and short tokens, since caps are not among its states."""
        rng, blanks, lengths = np.random.default_rng(0), *costs_of(self.grid.vocab)
        order, starts = self.classes.order, self.classes.starts
        filled = np.flatnonzero(np.diff(starts))
        least = np.zeros(self.classes.count)
        least[filled] = np.minimum.reduceat(blanks[order], starts[filled])
        scores = rng.random((len(self.tokens), self.classes.count)) - 10 * least
        classes = chosen(scores.astype(np.float32))
        row = list(self.tokens)
        for i in np.flatnonzero(np.array(self.tokens) == MASKED).tolist():
            members = self.classes.members(int(classes[i]))
            members = members[blanks[members] == blanks[members].min()]
            short = members[lengths[members] <= max(SHORT_TOKEN, lengths[members].min())]
            row[i] = int(short[rng.integers(len(short))])
        return row

    def amended(self, row: Sequence[int]) -> JsonPasses | None:
        """None if the machine reads the row; else passes over what says why not."""
        text, states = [token for token in row if token not in self.grid.stops], self.states
        if self._is_read(row):
            return None
        twice = keys_twice(b"".join(map(self.grid.vocab.token_bytes, text)))
        new = set(twice) - set(states.keys)
        if self._repeats is not None and (enough := new & set(self._repeats.enough or ())):
            new = enough  # the others are apart then, too
        if new:
            return self._with(states._replace(keys=tuple(sorted({*states.keys, *new}))))
        if not states.counts_blanks:
            return self._with(states._replace(counts_blanks=True))
        if not states.counts_lengths:
            return self._with(states._replace(counts_lengths=True))
        raise LimitExceeded("a canvas: a completion is refused, and whether there is another is not decided")

    def _is_read(self, row: Sequence[int]) -> bool:
        """Does the machine read a row?"""
        text = [token for token in row if token not in self.grid.stops]
        return self.grid.reads(text, len(text) < len(row))

    def _with(self, states: States) -> JsonPasses:
        return JsonPasses(self.grid, self.tokens, states)

    def refused(self, position: int) -> np.ndarray:
        """Single tokens that may not stand at the position though their class may: each makes a second key like a given one, or
        too many blanks beside given ones."""
        if not self.is_completable or not (self.grid.has_free_keys or self._gaps):
            return NO_TOKENS
        if self.tokens[position] != MASKED:
            return self._without(position).refused(position)
        found = NO_TOKENS
        if self._gaps is not None:
            found = self._gaps.refused(position, self.classes_at(position), self.classes.of)
        if self.grid.has_free_keys:
            of_keys = NO_TOKENS if self._repeats is None else self._repeats.refused(position)
            found = np.union1d(found, np.union1d(of_keys, self._refused_escapes(position)))
        return found

    @cached_property
    def _gaps(self) -> Gaps | None:
        """None where blanks are counted, or no matter."""
        is_text, tokens = self._lattice.is_text, self.grid.text(self.tokens)
        return None if is_text is None else Gaps(tokens, self._inner, self.grid.vocab, self.grid.begun.blanks, is_text)

    def _refused_escapes(self, position: int) -> np.ndarray:
        """Those that make a second key with an escape in one of the two: what marks do not follow, a table for the key does."""
        repeats = self._repeats
        beside = None if repeats is None else repeats.beside(position)
        if repeats is None or beside is None:
            return NO_TOKENS
        found, keys = set[int](), spelling_tokens(self.grid.vocab).with_escapes(*self._keys, *beside)
        if not keys:
            return NO_TOKENS
        allowed = self.classes_at(position)
        for key, every in keys.items():
            tokens = [token for token in every if allowed[self.classes.of[token]]]
            if tokens and key not in self.states.keys:
                states = self.states._replace(keys=tuple(sorted({*self.states.keys, key})))
                if key not in self._tracking:
                    self._tracking[key] = JsonPasses(self.grid, self.tokens, states)
                tracking = self._tracking[key]
                allowed_then = tracking.classes_at(position)
                found.update(token for token in tokens if not allowed_then[tracking.classes.of[token]])
        return np.array(sorted(found), np.int64)

    @cached_property
    def _runs(self) -> list[bytes]:
        found, begun = runs_of(self.tokens, self.grid.vocab, self.grid.stops), self.grid.begun.key
        return found if begun is None or not self._tracks_by_tables else [b'"' + begun + found[0], *found[1:]]

    @cached_property
    def _keys(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """The keys that are given, and those that an escape spells somewhere."""
        found = dict.fromkeys(sorted(self.grid.begun.keys), False)
        for key, body in spelled_keys_of(self._runs):
            found[key] = found.get(key, False) or key != body
        if self._tracks_by_tables:
            found = dict.fromkeys([*found, *self.grid.begun.keys], True)
        return frozenset(found), frozenset(key for key, is_escaped in found.items() if is_escaped)

    def _without(self, position: int) -> JsonPasses:
        """Passes over the row without a given token."""
        if position not in self._given:
            tokens = [*self.tokens[:position], MASKED, *self.tokens[position + 1 :]]
            known = self.previous
            is_known = known is not None and known.tokens == tokens and known.states == self.states
            self._given[position] = known if known and is_known else JsonPasses(self.grid, tokens, self.states, self)
        return self._given[position]

    # ------------------------------------------------------------------ what a canvas asks

    def classes_at(self, position: int) -> np.ndarray:
        if not self.is_completable:
            return np.zeros(self.classes.count, bool)
        return self._inner.classes_at(position) if self._repeats is None else self._repeats.classes_at(position)

    def reads(self, position: int, token_class: int) -> bool:
        return self._inner.reads(position, token_class)

    def best(self, scores: np.ndarray) -> np.ndarray:
        return self._inner.best(scores)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return self._inner.sample(scores, draw)


@lru_cache(maxsize=4)
def costs_of(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """int64 [V]: the blanks and tabs of each token, and its bytes."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, [9, 32]))])
    found = np.zeros((2, vocab.size), np.int64)
    count = min(vocab.size, len(vocab.offsets) - 1)
    found[0, :count] = np.diff(before[vocab.offsets])[:count]
    found[1, :count] = np.diff(vocab.offsets)[:count]
    return found[0], found[1]


def keys_twice(text: bytes) -> list[bytes]:
    """The keys that some object of a text, or of its beginning, has twice; the text may have other parts around it."""
    found: set[str] = set()

    def look(pairs: list[tuple[str, object]]) -> None:
        found.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    reader, left = json.JSONDecoder(object_pairs_hook=look), text.decode(errors="replace")
    while (at := left.find("{")) >= 0:
        left = left[at:]
        for closing in (b"", *closings(left.encode())):
            try:
                _, end = reader.raw_decode(left + closing.decode())
            except ValueError:
                continue
            left = left[end:]
            break
        else:
            left = left[1:]
    return sorted(key.encode() for key in found)


def closings(text: bytes) -> list[bytes]:
    """What may complete a beginning of a JSON text: the brackets that are open, after some value."""
    is_open, inside, escaped = bytearray(), False, False
    for byte in text:
        if inside:
            inside, escaped = escaped or byte != 34, not escaped and byte == 92
        elif byte == 34:
            inside = True
        elif byte in b"{[":
            is_open += b"}" if byte == 123 else b"]"
        elif byte in b"}]" and is_open:
            is_open.pop()
    end = bytes(reversed(is_open))
    return [end, b"0" + end, b":0" + end, b'":0' + end, b'"' + end, b'":0' + end, b'"":0' + end, b'0":0' + end]
