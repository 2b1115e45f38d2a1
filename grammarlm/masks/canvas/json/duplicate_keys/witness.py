"""A completion in which no object has a key twice: what the states of a schema do not know of free keys.

What states and marks say of a row is a bound: they know the keys that are given, not those that masked tokens make.

    {"": [5 masked]      as states have it:  {"":1,"":2}, which is no text; and there is no other

So a row that they complete can be completed once a completion of it, its **witness**, was read by the machine. The last ones are
kept. Where a token is not the latest one's, only masked tokens near it are looked at anew. A completion that has a key twice is
repaired by another token in one of the two keys; where that doesn't help, others are drawn. Then states follow this key, too,
unless they follow many or the row is short; else one masked token is given each value that it may have, depth first. If none of
these rows has a witness, that is a proof; beyond WORK tries the row is Undecided.

Where tokens may follow the row, keys in these must differ as well. A witness behind which the machine knows an end that is short
enough shows that they do; else the row is asked of together with what may follow it, masked.

The empty key is the one that no token varies: where draws have it twice, states that know it (States.keys) are asked from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.json.known_row import JsonRow
from grammarlm.masks.canvas.json.lengths import counted_to, longest_string
from grammarlm.masks.canvas.json.rows import EMPTY
from grammarlm.masks.canvas.json.texts import spelled, texts_of
from grammarlm.masks.canvas.protocol import MASKED, Undecided
from grammarlm.vocab.vocabulary import Vocabulary

from .marked_row import MarkedRow
from .objects import Clash
from .plain_row import PlainRow

WORK = 1024  # completions looked at for a row
DRAWS = 8  # before tokens are given one by one
MOST_CHANGED, REACHES = (
    8,
    (4, 24),
)  # tokens that are not the last witness's; how far from them others may be other tokens
WINDOWS, CLASSES, MEMBERS = (0, 3, 12), 8, 2  # tokens beside a key that may be others; what is tried in place of one
NEAR = 1_000.0  # a score beyond those of plain tokens


class Refused(Exception):
    """A completion is not read for another reason than a key which another token would vary."""

    def __init__(self, row: list[int]):
        super().__init__()
        self.row = row


class Work:
    """What is left of a row's tries."""

    def __init__(self, most: int = WORK) -> None:
        self.left = most

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Undecided(f"a canvas: whether each completion has a key twice is not known after {WORK} of them")


class Witness:
    """That of one row which states and marks complete."""

    def __init__(self, row: JsonRow, work: Work | None = None):
        self._row, self._grid, self._classes = row, row.grid, row.classes
        self._given = row.given
        self._work = work or Work()
        self._keys: tuple[bytes, ...] = ()
        self._marked: MarkedRow | None = None  # the row with marks around these

    def row(self) -> list[int] | None:
        """None where each completion has a key twice; Refused where the machine does not read one for something else."""
        grid, kept = self._grid, self._grid.shown.of(self._given)
        if len(kept):
            grid.latest_read = kept[0].tolist()
            return grid.latest_read
        known = grid.latest_read
        found = None if known is None else self._like(known)
        if found is None:
            found = self._drawn(known)
        if found is not None and not grid.may_end_after(found):
            found = read_with_room(self._row)
        if found is not None:
            grid.latest_read = found
            grid.shown.add(found)
        return found

    def _spend(self) -> None:
        self._work.spend()
        self._grid.check()

    # ------------------------------------------------------------------ near the last one

    def _like(self, known: list[int]) -> list[int] | None:
        """The last witness, with other tokens only where it must have them."""
        given, row = self._given, np.array(known)
        changed = np.flatnonzero((given != MASKED) & (given != row))
        row[changed] = given[changed]
        if self._row.is_read(row.tolist()):
            return row.tolist()
        if len(changed) > MOST_CHANGED or not self._has_windows:
            return None
        for reach in REACHES:
            is_near = np.zeros(len(row), bool)
            for i in changed.tolist():
                is_near[max(0, i - reach) : i + reach + 1] = True
            window = np.where(is_near, given, row)
            found = self._within(window, known)
            clash = None if found is None or self._row.is_read(found) else self._grid.objects(found).clash()
            found = found if found is None or clash is None else self._repaired(found, clash)
            if found is not None and self._row.is_read(found):
                return found
        return None

    @property
    def _has_windows(self) -> bool:
        return not self._row.lattice.table.has_circles

    def _window(self, tokens: np.ndarray) -> PlainRow:
        """A row of which little is masked, so that its states are soon made."""
        grid, classes = self._grid, np.where(tokens == MASKED, MASKED, self._classes.of[tokens]).astype(np.int32)
        found = grid.latest_near[self._row.states] = PlainRow(
            self._row.lattice, classes, grid.latest_near.get(self._row.states), 0
        )
        return found

    def _within(self, tokens: np.ndarray, near: Sequence[int]) -> list[int] | None:
        window = self._window(tokens)
        return self._filled(window.some, self._classes, tokens, near) if window.is_completable else None

    # ------------------------------------------------------------------ from nothing

    def _drawn(self, near: list[int] | None) -> list[int] | None:
        clash: Clash | None = None
        row: list[int] = []
        self._mark([key for key in self._grid.followed if self._row.key_places.is_twice(key)])
        number = 0
        while number < DRAWS:
            self._spend()
            if self._marked is not None and not self._marked.is_completable:
                return None
            row = self._some(near if number == 0 else None, number)
            if self._row.is_read(row):
                return row
            clash = self._grid.objects(row).clash()
            if clash is None:
                row = self.first(self._row.inner.best)  # one of the fewest blanks
                if self._row.is_read(row):
                    return row
                clash = self._grid.objects(row).clash()
                if clash is None:
                    raise Refused(row)
            if self._follow(clash):
                continue
            repaired = self._repaired(row, clash)
            if repaired is not None and self._row.is_read(repaired):
                return repaired
            if number > 1 and clash.key == EMPTY and EMPTY not in self._row.states.keys:
                raise Refused(row)
            number += 1
        assert clash is not None
        if (
            not self._grid.is_small(self._row.tokens)
            and clash.key not in self._row.states.keys
            and self._grid.follows_more(self._row.states)
        ):
            raise Refused(row)
        return self._branched(clash, row)

    def _mark(self, keys: Sequence[bytes]) -> bool:
        """Marks around these keys from now on; False: their states are too many."""
        marked = self._row.key_places.marked(tuple(keys)) if keys else None
        if keys and marked is None:
            return False
        self._keys, self._marked = tuple(keys), marked
        return True

    def _follow(self, clash: Clash) -> bool:
        """Marks around one more key, which the row has in two places."""
        key = spelled(clash.key)
        if key in self._keys or not self._row.key_places.is_twice(key) or not self._mark((*self._keys, key)):
            return False
        self._grid.followed = self._keys
        return True

    def _some(self, near: Sequence[int] | None, number: int) -> list[int]:
        """Some completion in which the keys that are given twice are apart."""
        own, rng, marked = self._row, np.random.default_rng(number), self._marked
        if marked is not None:
            found = self._filled(marked.some, marked.classes, self._given, near, rng, number > 1)
            if found is not None:
                return found
        if own.low is not None:
            found = self._filled(own.low.some, self._classes, self._given, near, rng, number > 1)
        if own.low is None or found is None:
            found = self._filled(own.inner.some, self._classes, self._given, near, rng, number > 1)
        assert found is not None
        return found

    def first(self, some: Callable[[np.ndarray], np.ndarray | None]) -> list[int]:
        """Of completions the one that scores of plain tokens ask for."""
        found = self._filled(some, self._classes, self._given)
        assert found is not None
        return found

    def _filled(
        self,
        some: Callable[[np.ndarray], np.ndarray | None],
        classes: TokenClasses,
        tokens: np.ndarray,
        near: Sequence[int] | None = None,
        rng: np.random.Generator | None = None,
        is_random: bool = False,
    ) -> list[int] | None:
        """A completion of few blanks and short tokens, since caps are not among states; or any, if `is_random`. `near`: one that it
        is like where it can be."""
        plain, holes = self._grid.plain_tokens(classes), np.flatnonzero(tokens == MASKED)
        rng = np.random.default_rng(0) if rng is None else rng
        scores = plain.drawn(rng) if is_random else plain.scores
        if near is not None:
            scores = scores.copy()
            scores[holes, classes.of[near][holes]] += NEAR
        found, row = some(scores), tokens.tolist()
        if found is None:
            return None
        for i in holes.tolist():
            members = plain.of(int(found[i]))
            row[i] = int(members[rng.integers(len(members))])
            if near is not None and classes.of[near[i]] == found[i]:
                row[i] = near[i]
        return row

    # ------------------------------------------------------------------ where a key comes twice

    def _repaired(self, row: list[int], clash: Clash | None) -> list[int] | None:
        """A completion with other tokens, one by one: each clash is to be further right than the one before, or gone."""
        while clash is not None:
            at = [i for i in (*clash.second, *clash.first) if self._given[i] == MASKED]
            found = self._further(self._swapped(row, at), clash)
            if found is None:
                found = self._further(self._rebuilt(row, at), clash)
            if found is None:
                return None
            row, clash = found
        return row

    def _further(self, rows: Iterator[list[int]], clash: Clash) -> tuple[list[int], Clash | None] | None:
        for row in rows:
            self._spend()
            found = self._grid.objects(row).clash()
            if found is None or found.second.start > clash.second.start:
                return row, found
        return None

    def _swapped(self, row: list[int], at: Sequence[int]) -> Iterator[list[int]]:
        """Completions with another token of the same class at one of some positions."""
        for i in at:
            members = self._grid.plain_tokens(self._classes).of(int(self._classes.of[row[i]]))
            for token in members[~np.isin(members, row)][: 2 * MEMBERS].tolist():
                yield [*row[:i], token, *row[i + 1 :]]

    def _rebuilt(self, row: list[int], at: Sequence[int]) -> Iterator[list[int]]:
        """With one of any class, then with others beside it."""
        given = np.array(row)
        for reach, i in product(WINDOWS if self._has_windows else (), at):
            is_near = (np.abs(np.arange(len(row)) - i) <= reach) & (self._given == MASKED)
            tokens = np.where(is_near, MASKED, given)
            allowed = np.flatnonzero(self._window(tokens).classes_at(i) & (self._classes.sizes > 0))
            largest = allowed[np.argsort(-self._classes.sizes[allowed], kind="stable")]
            for one in largest[: 2 if reach else CLASSES].tolist():
                members = self._classes.members(one)[: len(row) + MEMBERS]
                is_new = ~np.isin(members, row)
                for token in (
                    *members[is_new][:MEMBERS].tolist(),
                    *members[~is_new][: MEMBERS if reach else 0].tolist(),
                ):
                    tokens[i] = token
                    other = self._within(tokens, row)
                    if other is not None:
                        yield other

    def _branched(self, clash: Clash, row: list[int]) -> list[int] | None:
        """One masked token is given each value that it may have."""
        masked = np.flatnonzero(self._given == MASKED).tolist()
        at = [i for i in (*clash.second, *clash.first) if i in masked] or masked
        if not at:
            return None
        position = min(at, key=self._most_values)
        for token in self._values(position):
            self._spend()
            child = self._row.with_token(position, token)
            if child.is_completable:
                found = Witness(child, self._work).row()
                if found is not None:
                    return found
        return None

    def _values(self, position: int) -> list[int]:
        """The tokens that may stand there. Those of a class act alike, but for the keys that they spell: one of a completion can be
        any other that spells no key of it, so of many as many are enough as keys can be, twice since a token may be of two."""
        classes, found = self._classes, list[int]()
        for one in np.flatnonzero(self._row.inner.classes_at(position) & (classes.sizes > 0)).tolist():
            found += different(self._grid.vocab, len(self._given), classes.members(one)).tolist()
        return found

    def _most_values(self, position: int) -> int:
        """How many these are at most, unless a class has more tokens that spell too few keys."""
        sizes = self._classes.sizes[self._row.inner.classes_at(position)]
        return int(np.minimum(sizes, enough(self._grid.vocab, len(self._given))).sum())


def settled(row: JsonRow) -> JsonRow:
    """This, or the row over states that know what matters for it."""
    if row.is_completable and row.grid.has_free_keys:
        try:
            row.is_completable = Witness(row).row() is not None
        except Refused as refused:
            return settled(amended(row, refused.row))
    return row


def amended(row: JsonRow, read: Sequence[int]) -> JsonRow:
    """The row over states that know why the machine does not read a completion."""
    grid, states = row.grid, row.states
    clash = grid.objects(read).clash()
    if clash is not None and clash.key not in states.keys:
        grid.follows_empty |= clash.key == EMPTY
        return row.of_states(states._replace(keys=tuple(sorted((*states.keys, clash.key)))))
    text = b"".join(grid.vocab.token_bytes(token) for token in read if token not in grid.stops)
    lengths = states._replace(counted=max(states.counted, counted_to(longest_string(text, grid.begun.characters))))
    if lengths != states:
        return row.of_states(lengths)
    raise Undecided("a canvas: a completion is refused, and whether there is another is not decided")


def read_with_room(row: JsonRow) -> list[int] | None:
    """A completion that is read with an end after it."""
    whole, tokens = row.grid.with_room, [*row.tokens, *[MASKED] * row.grid.room]
    is_completable = settled(JsonRow(whole, tokens, whole.needed(tokens))).is_completable
    return whole.latest_read[: row.grid.length] if is_completable and whole.latest_read is not None else None


def different(vocab: Vocabulary, length: int, members: np.ndarray) -> np.ndarray:
    """Of some tokens that act alike, but for keys, as many as are enough in a row of this length."""
    most = enough(vocab, length)
    if len(members) <= most:
        return members
    texts, found = texts_of(vocab), dict[bytes, int]()
    for token in members.tolist():
        if b"\\" not in texts[token]:
            found.setdefault(texts[token], token)
            if len(found) == most:
                return np.array(list(found.values()), np.int64)
    return members


def enough(vocab: Vocabulary, length: int) -> int:
    """More tokens than a row of this length can have keys, twice over."""
    return 2 * length * most_quotes(vocab) + 1


@lru_cache(maxsize=4)
def most_quotes(vocab: Vocabulary) -> int:
    """How many keys may end in one token: no more than it has quotes."""
    before = np.concatenate([[0], np.cumsum(vocab.data == ord('"'))])
    return int(np.diff(before[vocab.offsets]).max(initial=0))
