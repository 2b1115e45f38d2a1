"""What the states of a schema do not know, decided: equal free keys, and numbers and white space at their caps.

The view's states say no less than the language and sometimes more. So "no" is always right; "yes" is right if a matcher reads a
completion. Where the matcher refuses one for two equal keys, these are tracked from then on (tracked.py), and the question is asked
again; for any other reason, or with too many keys, it is not answered: LimitExceeded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import MASKED, Draw, Passes
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.matcher import Matcher
from grammarlm.vocab.vocabulary import Vocabulary

from .keys import runs_of, spelling_tokens, tight_keys

if TYPE_CHECKING:
    from .view import JsonView

MOST_KEYS = 4  # tracked at once
SHORT_TOKEN = 4  # bytes
NO_TOKENS = np.zeros(0, np.int64)


class Tracked(NamedTuple):
    """What the states of a lattice know beside the schema's."""

    keys: tuple[bytes, ...] = ()  # free keys, sorted
    counts_blanks: bool = False


class JsonGrid:
    """Rows of one length; passes are made of tokens, since a key is more than classes."""

    def __init__(self, view: JsonView, length: int, after: Matcher | None, room: int, check: Callable[[], None]):
        self._view, self.length, self._after, self._room, self._check = view, length, after, room, check
        self.vocab = view.vocab
        self.stops = frozenset(self.vocab.stop_ids)
        self._grids: dict[Tracked, StackGrid] = {}
        self.classes = self.grid(Tracked()).classes
        self.has_free_keys = view.has_free_keys

    def grid(self, tracked: Tracked) -> StackGrid:
        """The lattice that tracks this."""
        if tracked not in self._grids:
            if len(tracked.keys) > MOST_KEYS:
                raise LimitExceeded(
                    f"a canvas: whether more than {MOST_KEYS} keys come twice in an object depends on masked positions"
                )
            self._grids[tracked] = self._view.lattice(tracked, self.length, self._after, self._room, self._check)
        return self._grids[tracked]

    def reads(self, text: Sequence[int], ends: bool) -> bool:
        """Does the machine read a row's text, to its end where the row has one?"""
        if self._after is not None and self._after.is_finished:
            return not text
        return self._view.reads(self._after, text, ends or not self._room)

    def token_passes(self, tokens: Sequence[int], before: Passes | None) -> JsonPasses:
        if isinstance(before, JsonPasses) and before.tokens == list(tokens):
            return before
        return JsonPasses(self, list(tokens), Tracked())


class JsonPasses:
    """What is known of one row."""

    def __init__(self, grid: JsonGrid, tokens: list[int], tracked: Tracked):
        self.grid, self.tokens, self.tracked = grid, tokens, tracked
        lattice = grid.grid(tracked)
        self.classes: TokenClasses = lattice.classes
        given = np.array(tokens)
        self.row = np.where(given == MASKED, MASKED, self.classes.of[given]).astype(np.int32)
        self._inner = lattice.passes(self.row, None)
        self._with_key: dict[bytes, JsonPasses] = {}

    # ------------------------------------------------------------------ equal keys

    @cached_property
    def _runs(self) -> list[bytes]:
        return runs_of(self.tokens, self.grid.vocab, self.grid.stops)

    @cached_property
    def _holes_before(self) -> np.ndarray:
        """int64 [L + 1]: the masked tokens before each boundary."""
        return np.cumsum([0, *(token == MASKED for token in self.tokens)])

    @cached_property
    def _tight(self) -> Counter[bytes]:
        return Counter(tight_keys(self._runs)) if self.grid.has_free_keys else Counter()

    @cached_property
    def is_completable(self) -> bool:
        if not self._inner.is_completable:
            return False
        if all(count < 2 or key in self.tracked.keys for key, count in self._tight.items()):
            return True
        if self._is_read(self.witness(self._inner.some)):  # found at once; what follows finds one of the fewest blanks
            return True
        amended = self.amended(self.witness(self._inner.best))
        return True if amended is None else amended.is_completable

    def witness(self, chosen: Callable[[np.ndarray], np.ndarray]) -> list[int]:
        """Some completion, as the lattice has it: of few blanks and short tokens, since caps are not among its states."""
        rng, blanks, lengths = np.random.default_rng(0), *sizes_of(self.grid.vocab)
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
        text, tracked = [token for token in row if token not in self.grid.stops], self.tracked
        if self._is_read(row):
            return None
        twice = keys_twice(b"".join(map(self.grid.vocab.token_bytes, text)))
        if new := set(twice) - set(tracked.keys):
            return self._tracking(tracked._replace(keys=tuple(sorted({*tracked.keys, *new}))))
        if not tracked.counts_blanks:
            return self._tracking(tracked._replace(counts_blanks=True))
        raise LimitExceeded(
            "a canvas: the row has a number with a long exponent, or a string beyond a large maxLength, and whether it can do "
            "without is not decided"
        )

    def _is_read(self, row: Sequence[int]) -> bool:
        """Does the machine read a row?"""
        text = [token for token in row if token not in self.grid.stops]
        return self.grid.reads(text, len(text) < len(row))

    def _tracking(self, tracked: Tracked) -> JsonPasses:
        return JsonPasses(self.grid, self.tokens, tracked)

    def refused(self, position: int) -> np.ndarray:
        """Single tokens that may not stand at the position though their class may: each makes a second key like a given one."""
        if not self._tight or self.tokens[position] != MASKED or not self.is_completable:
            return NO_TOKENS
        hole = int(self._holes_before[position])
        if hole >= len(self._runs):
            return NO_TOKENS  # behind a stop id
        before, after = self._runs[hole], self._runs[hole + 1] if hole + 1 < len(self._runs) else b""
        allowed, spelling, found = self._inner.classes_at(position), spelling_tokens(self.grid.vocab), set[int]()
        for key in self._tight:
            tokens = [token for token in spelling.of(key, before, after) if allowed[self.classes.of[token]]]
            if tokens and key not in self.tracked.keys:
                tracking = self._tracking_one(key)
                allowed_then = tracking.classes_at(position)
                found.update(token for token in tokens if not allowed_then[tracking.classes.of[token]])
        return np.array(sorted(found), np.int64)

    def _tracking_one(self, key: bytes) -> JsonPasses:
        if key not in self._with_key:
            self._with_key[key] = self._tracking(self.tracked._replace(keys=tuple(sorted({*self.tracked.keys, key}))))
        return self._with_key[key]

    # ------------------------------------------------------------------ what a canvas asks

    def classes_at(self, position: int) -> np.ndarray:
        if not self.is_completable:
            return np.zeros(self.classes.count, bool)
        return self._inner.classes_at(position)

    def reads(self, position: int, token_class: int) -> bool:
        return self._inner.reads(position, token_class)

    def best(self, scores: np.ndarray) -> np.ndarray:
        return self._inner.best(scores)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return self._inner.sample(scores, draw)


@lru_cache(maxsize=4)
def sizes_of(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """int64 [V]: the blanks and tabs of each token, and its bytes."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, [9, 32]))])
    found = np.zeros((2, vocab.size), np.int64)
    count = min(vocab.size, len(vocab.offsets) - 1)
    found[0, :count] = np.diff(before[vocab.offsets])[:count]
    found[1, :count] = np.diff(vocab.offsets)[:count]
    return found[0], found[1]


def keys_twice(text: bytes) -> list[bytes]:
    """The keys that some object of a text, or of its beginning, has twice."""
    found: set[str] = set()

    def look(pairs: list[tuple[str, object]]) -> None:
        found.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    for closing in closings(text):
        try:
            json.loads(text + closing, object_pairs_hook=look)
            break
        except ValueError:
            continue
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
