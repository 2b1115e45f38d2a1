"""One row with marks around the places of some keys.

The states keep a bit for each object: has it had the key of mark 0 (1, 2, 3)? Which key that is the row says, by marks around the
places where its text is given (layout/json_canvas.py). So one table serves all keys of all rows. Marks are given tokens of their
own; a token with a mark inside is read byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.json_canvas import BEGIN, END, NEED
from grammarlm.masks.canvas.json.texts import texts_of
from grammarlm.masks.canvas.protocol import MASKED

from .plain_row import PlainRow

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.json.rows import JsonRows
    from grammarlm.masks.canvas.json.states.explored import States

    from .spans import Place, Span

NOT_BEGUN = -1
NOWHERE = -1e30  # a score
MOST_KEPT = 256  # rows
NO_TOKENS = np.zeros(0, np.int64)


class MarkedRow:
    """Its completions: no object has one of the keys twice, in the places that are marked or in what a matcher has read."""

    def __init__(
        self,
        grid: JsonRows,
        states: States,
        tokens: Sequence[int],
        keys: tuple[bytes, ...],
        spans: Sequence[tuple[Span, int]],
    ):
        """`spans`: places, each with the number of its key."""
        self._grid, self._tokens = grid, tokens
        self._kind, self._name = (states, len(keys)), (states, keys, len(spans) > 0)
        self._marks: dict[Place, list[int]] = {}
        for span, number in spans:
            self._marks.setdefault(span.begin, []).append(BEGIN + number)
            self._marks.setdefault(span.end, []).append(END)
        begun = next((mark - BEGIN for mark in self._marks.get((0, 0), ()) if mark != END), NOT_BEGUN)
        self._lattice, self._bytes = grid.marked(states, keys, begun)
        self.classes: TokenClasses = self._lattice.classes
        self._row, self._at = self._written()

    def _written(self) -> tuple[np.ndarray, np.ndarray]:
        """The classes of the row's tokens and marks, and where each token has its own; the end behind them."""
        given, of = np.array(self._tokens, np.int64), self._bytes.tolist()
        base = np.where(given == MASKED, MASKED, self.classes.of[given]).astype(np.int32).tolist()
        inside: dict[int, list[int]] = {}
        for position, offset in sorted(self._marks):
            inside.setdefault(position, []).append(offset)
        found, at, texts, done = list[int](), list[int](), texts_of(self._grid.vocab), 0
        for position, offsets in [*inside.items(), (len(base), [])]:
            at += range(len(found), len(found) + position - done)
            found += base[done:position]
            done = position + 1
            if 0 in offsets:
                found += [of[mark] for mark in self._marks[position, 0]]
            at.append(len(found))
            if position == len(base):
                break
            if not any(offsets):
                found.append(base[position])
                continue
            for offset, byte in enumerate(texts[self._tokens[position]]):
                if offset and offset in offsets:
                    found += [of[mark] for mark in self._marks[position, offset]]
                found.append(of[byte])
        return np.array(found, np.int32), np.array(at)

    # ------------------------------------------------------------------ what it has

    @cached_property
    def _low(self) -> PlainRow:
        """Without completions that have many brackets open at once."""
        return self._made(self._grid.height)

    @cached_property
    def _whole(self) -> PlainRow:
        return self._made(0)

    def _made(self, height: int) -> PlainRow:
        latest = self._grid.latest_marked
        before = latest.get((self._name, height), latest.get((self._kind, height)))
        if before is not None and before.lattice.table is not self._lattice.table:
            before = None
        if len(latest) > MOST_KEPT:
            latest.clear()
        found = latest[self._name, height] = latest[self._kind, height] = PlainRow(
            self._lattice, self._row, before, height
        )
        return found

    @property
    def _first(self) -> PlainRow:
        return self._low if self._low.is_completable else self._whole

    @property
    def is_completable(self) -> bool:
        return self._first.is_completable

    def some(self, scores: np.ndarray) -> np.ndarray | None:
        """As PlainRow.some."""
        own = self._at[:-1]
        found = np.zeros((len(self._row), self.classes.count), scores.dtype)
        found[own] = np.where(self.classes.sizes > 0, scores, np.float32(NOWHERE))  # bytes and marks are given alone
        chosen = self._first.some(found)
        return None if chosen is None else chosen[own]

    def refused(self, position: int, allowed: np.ndarray, classes: TokenClasses) -> np.ndarray:
        """int64: of some classes at a masked position the tokens that no completion has."""
        own = self.classes
        filled = np.flatnonzero(own.sizes)
        doubted = filled[allowed[classes.of[own.order[own.starts[filled]]]]]
        for made in (lambda: self._low, lambda: self._whole):
            if len(doubted):
                doubted = doubted[~made().classes_at(int(self._at[position]))[doubted]]
        return (
            np.concatenate([own.members(one) for one in doubted.tolist()]).astype(np.int64)
            if len(doubted)
            else NO_TOKENS
        )

    def meets(self, span: Span, other: MarkedRow) -> bool:
        """May the key of mark 0 be in this place, in an object that has had it in one before? `other`: the row without marks."""
        if self._lattice.table is not other._lattice.table:
            return True
        behind, begin = span.behind, span.begin[0]
        first = int(self._at[begin]) - len(self._marks.get((begin, 0), ()))
        part, end = self._row[first : self._at[behind]].tolist(), int(self._bytes[END])
        part.insert(len(part) - part[::-1].index(end), int(self._bytes[NEED]))
        sets = self._lattice.table.sets
        with sets.lock:
            here, there = self._first.states(), other._first.states()
            if here.generation is not there.generation:
                return True
            reached = sets.forward(here.forward(first), np.array(part, np.int32), self._lattice.check)
            return sets.meet(int(reached[-1]), there.backward(int(other._at[behind])))
