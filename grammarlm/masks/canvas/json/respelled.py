"""Rows whose given tokens have escapes that states leave out (needless.py): the row with each character in one spelling.

    {"a":"x \\u00 62 [masked] "}      as      {"a":"x b [masked] "}

Such a row may have more or less tokens than the one asked for; what may stand at its masked positions is the same. Where the given
tokens end within an escape, masked ones must end it:

    {"a":"x \\u00 [masked] [masked]   as      {"a":"x b [masked]        with `62` at the first

One such end is looked for, of few tokens. What may stand right behind the given tokens does not depend on it (needless.py); all
else is what that end leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED, Draw
from grammarlm.masks.canvas.stack.row_states import StatesOfRow

from .escapes import EscapeTokens, Tokens, read
from .needless import Needless, Way
from .texts import texts_of

if TYPE_CHECKING:
    from grammarlm.masks.canvas.protocol import Passes, TokenPasses

    from .grid import JsonGrid
    from .residue import JsonPasses

NO_TOKENS = np.zeros(0, np.int64)
INSIDE = -1  # in place of a boundary of the respelled row


class Open(NamedTuple):
    """Given tokens that end within an escape, from `first` to before `end`."""

    first: int
    end: int
    pieces: tuple[bytes, ...]  # of what precedes it
    begun: bytes

    def before(self, known: EscapeTokens) -> Tokens | None:
        """Tokens that spell what precedes it."""
        return known.spelled(b"".join(self.pieces))


class Respelled(NamedTuple):
    """A row in one spelling."""

    tokens: list[int]
    at: list[
        int
    ]  # its boundary at each boundary of the row asked for; INSIDE: that is within what is spelled otherwise
    changed: frozenset[int]  # its positions that are spelled otherwise
    open: tuple[Open, ...]  # as they are


def respelled(row: Sequence[int], grid: JsonGrid, known: EscapeTokens, only_sure: bool) -> Respelled:
    """`only_sure`: without given tokens that follow a masked one with a backslash, which may be the second of an escape."""
    texts, stops, found, at = texts_of(grid.vocab), grid.stops, list[int](), [0]
    changed, opened, here, is_sure = set[int](), list[Open](), 0, True

    def keep(end: int) -> None:
        for token in row[len(at) - 1 : end]:
            found.append(token)
            at.append(len(found))

    while here < len(row):
        token = row[here]
        if token == MASKED or token in stops or not known.has_backslash[token]:
            is_sure = is_sure or token == MASKED
            here = len(row) if token in stops else here + 1
            keep(here)
            continue
        is_behind = here > 0 and row[here - 1] == MASKED
        is_sure = is_sure and not (only_sure and is_behind and texts[token].startswith(b"\\"))
        end, data = here, b""
        while True:
            data, end = data + texts[row[end]], end + 1
            reading = read(b"", data)
            is_over = end == len(row) or row[end] == MASKED or row[end] in stops
            if reading is None or not reading.begun or is_over:
                break
        spelled = None if reading is None or reading.begun else known.spelled(b"".join(reading.pieces))
        if reading is not None and reading.begun:
            opened.append(Open(here, end, *reading))
        if spelled is None or reading is None or len(reading.pieces) == 1 or not is_sure:
            keep(end)
        else:
            changed.update(range(len(found), len(found) + len(spelled)))
            found += spelled
            at += [*[INSIDE] * (end - here - 1), len(found)]
        here = end
    return Respelled(found, at, frozenset(changed), tuple(opened))


def respelled_passes(grid: JsonGrid, row: list[int], before: Passes | None) -> TokenPasses | None:
    """The passes over a row whose given tokens have backslashes; None where its states leave out no escapes."""
    lattice = grid.lattice_of(row)
    needless = grid.needless(lattice)
    if needless is None:
        return None
    found = respelled(row, grid, needless.tokens, True)
    passes = _passes_of(grid, found, before)
    whole = found if passes.is_completable else respelled(row, grid, needless.tokens, False)
    if whole != found:
        found, passes = whole, _passes_of(grid, whole, before)
    opened, finishing = found.open, dict[int, int]()
    if opened and not passes.is_completable:
        finishing = Search(grid, row, found, passes).finishing() or {}
        if finishing:
            found = respelled([finishing.get(i, token) for i, token in enumerate(row)], grid, needless.tokens, False)
            passes = _passes_of(grid, found, before)
    passes = passes.grid.settled(passes, before)
    return (
        passes if found.tokens == row and not opened else RespelledPasses(grid, row, found, passes, opened, finishing)
    )


def _passes_of(grid: JsonGrid, found: Respelled, before: Passes | None) -> JsonPasses:
    return grid.of_length(len(found.tokens)).passes_of(found.tokens, before)


class Search:
    """For tokens that end the escapes which given ones begin."""

    def __init__(self, grid: JsonGrid, row: list[int], found: Respelled, passes: JsonPasses):
        assert passes.needless is not None
        self._row, self._found, self._passes = row, found, passes
        self._needless: Needless = passes.needless
        self._sets, self._check = passes.lattice.table.sets, grid.check
        self._failed = set[tuple[int, int, int]]()

    def finishing(self) -> dict[int, int] | None:
        """By position; None where none are found."""
        with self._sets.lock:
            self._states = self._passes.inner.states()
            ways = self._from(0, self._states.forward(0), 0)
        if ways is None:
            return None
        found: dict[int, int] = {}
        for one, way in zip(self._found.open, ways, strict=True):
            tokens: Tokens = ()
            if way is not None:
                every = self._needless.tokens.ways(one.begun, way.point)
                tokens = every[way.size] if way.masked is None else way.masked
            found |= {one.end + i: token for i, token in enumerate(tokens)}
        return found

    def _from(self, number: int, state: int, at: int) -> list[Way | None] | None:
        """The ways of the escapes from one on, None for one that states follow. `state`: at a boundary of the respelled row."""
        one, key = self._found.open[number], (number, state, at)
        if key in self._failed:
            return None
        self._check()
        first, end = self._found.at[one.first], self._found.at[one.end]
        here = self._along(state, at, first)
        is_last, tokens = number == len(self._found.open) - 1, self._found.tokens
        raw = self._along(here, first, end)
        rest = self._rest(number, raw, end, is_last)
        if rest is not None:
            return [None, *rest]
        before = self._needless.within(here, one.pieces)
        if before:
            asked = tokens, end, before, one.begun, self._found.changed
            needless = self._needless
            for way in needless.ways(self._states, *asked) if is_last else needless.every_way(*asked):
                rest = self._rest(number, way.after, end + way.size, is_last)
                if rest is not None:
                    return [way, *rest]
        self._failed.add(key)
        return None

    def _rest(self, number: int, state: int, at: int, is_last: bool) -> list[Way | None] | None:
        if is_last:
            return [] if self._sets.meet(state, self._states.backward(at)) else None
        return self._from(number + 1, state, at) if self._sets.has_stacks(state) else None

    def _along(self, state: int, first: int, end: int) -> int:
        return int(self._sets.forward(state, self._states.row[first:end], self._check)[-1])


class RespelledPasses:
    """What is known of a row by the one in one spelling."""

    def __init__(
        self,
        grid: JsonGrid,
        row: list[int],
        found: Respelled,
        passes: JsonPasses,
        opened: tuple[Open, ...],
        finishing: Mapping[int, int],
    ):
        """`opened`: the given tokens that end within an escape, before `finishing`."""
        self._grid, self.tokens, self._found, self.passes = grid, row, found, passes
        self.finishing, self.classes, self.is_completable = finishing, passes.classes, passes.is_completable
        self.opened = {one.end: one for one in opened}

    def classes_at(self, position: int) -> np.ndarray:
        if not self._is_free(position):
            return np.zeros(self.classes.count, bool)
        return self.passes.classes_at(self._found.at[position])

    def refused(self, position: int) -> np.ndarray:
        return self.passes.refused(self._found.at[position]) if self._is_free(position) else NO_TOKENS

    def added(self, position: int) -> np.ndarray:
        if not self.is_completable:
            return NO_TOKENS
        if self.tokens[position] != MASKED:
            return self._without(position)
        found = [np.array([self.finishing[position]])] if position in self.finishing else []
        if position in self.opened:
            found.append(self._going_on(self.opened[position]))
        if self._is_free(position):
            found.append(self.passes.added(self._found.at[position], self._found.changed))
        return np.unique(np.concatenate(found))

    def _is_free(self, position: int) -> bool:
        return self.tokens[position] == MASKED and position not in self.finishing

    def _without(self, position: int) -> np.ndarray:
        """All that may stand at a given position."""
        others = self._grid.token_passes([*self.tokens[:position], MASKED, *self.tokens[position + 1 :]], None)
        allowed = others.classes_at(position)[others.classes.of]
        allowed[others.refused(position)] = False
        allowed[others.added(position)] = True
        return np.flatnonzero(allowed)

    def _going_on(self, one: Open) -> np.ndarray:
        """The tokens that go on with an escape that given ones have begun."""
        needless, passes, at = self.passes.needless, self.passes, self._found.at
        before = None if needless is None else one.before(needless.tokens)
        if needless is None or before is None:
            return NO_TOKENS
        count = next(i for i in range(len(self.tokens)) if one.end + i not in self.finishing)
        first = one.end + count
        behind = next(i for i in range(first, len(at)) if at[i] != INSIDE)
        head = [*passes.tokens[: at[one.first]], *before]
        row = [*head, *[MASKED] * count, *self.tokens[first:behind], *passes.tokens[at[behind] :]]
        moved, here = len(row) - len(passes.tokens), self._found.changed
        changed = {i for i in here if i < at[one.first]} | {i + moved for i in here if i >= at[behind]}
        given = np.array(row)
        classes = np.where(given == MASKED, MASKED, self.classes.of[given]).astype(np.int32)
        with passes.lattice.table.sets.lock:
            like = passes.states_of_row()
            states = StatesOfRow(like.sets, classes, like.begin, like.end, self._grid.check, like, like.height)
            none = np.zeros(self.classes.count, bool)
            return needless.added(states, row, len(head), none, one.begun, changed)

    # ------------------------------------------------------------------ what a canvas asks

    def reads(self, position: int, token_class: int) -> bool:
        at = self._found.at[position]
        return at != INSIDE and self.passes.reads(at, token_class)

    def best(self, scores: np.ndarray) -> np.ndarray:
        return self._chosen(self.passes.best(self._moved(scores)))

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return self._chosen(self.passes.sample(self._moved(scores), draw))

    def is_read(self, row: Sequence[int]) -> bool:
        text = [token for token in row if token not in self._grid.stops]
        return self._grid.reads(text, len(text) < len(row))

    def another(self, refused: Sequence[int], logits: Any, choose: Any) -> list[int] | None:
        return None

    def amended(self, row: Sequence[int]) -> Passes:
        """`row`: a completion."""
        whole = list(self.passes.tokens)
        for i in self._holes():
            whole[self._found.at[i]] = row[i]
        return RespelledPasses(
            self._grid,
            self.tokens,
            self._found,
            self.passes.amended(whole),
            tuple(self.opened.values()),
            self.finishing,
        )

    def _holes(self) -> list[int]:
        return [i for i in range(len(self.tokens)) if self._is_free(i)]

    def _moved(self, scores: np.ndarray) -> np.ndarray:
        holes = self._holes()
        found = np.zeros((len(self.passes.tokens), scores.shape[1]), scores.dtype)
        found[[self._found.at[i] for i in holes]] = scores[holes]
        return found

    def _chosen(self, classes: np.ndarray) -> np.ndarray:
        holes, found = self._holes(), np.zeros(len(self.tokens), np.int32)
        found[holes] = classes[[self._found.at[i] for i in holes]]
        return found
