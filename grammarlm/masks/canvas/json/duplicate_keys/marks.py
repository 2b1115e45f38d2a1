"""Rows with marks around some keys, over states that know what marks mean: one table for all keys of all rows.

The states keep a bit for each object: has it had the key of mark 0 (1, 2, 3)? Which key that is the row says, by marks around the
places where its text is given (layout/json_canvas.py). Marks are given tokens of their own; a token with a mark inside is read byte
by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.classes import NEVER
from grammarlm.masks.canvas.json.tables.unrolled import Starts, Unrolled
from grammarlm.masks.canvas.json.texts import texts_of
from grammarlm.masks.canvas.protocol import MASKED

from .spans import Place

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.stack.sets import StackSets
    from grammarlm.vocab.vocabulary import Vocabulary

Marks = dict[Place, list[int]]
StartsOf = Callable[[tuple[bytes, ...], int], tuple[Unrolled, Starts]]  # UnrolledView.marked
NOT_BEGUN = -1
MOST_KNOWN = 1 << 16


class MarkedTable:
    """The states of some number of marks, for rows of one length."""

    def __init__(self, vocab: Vocabulary, starts_of: StartsOf, room: int, check: Callable[[], None]):
        self._starts_of, self._room, self.check = starts_of, room, check
        self._texts = texts_of(vocab)
        self._starts: dict[tuple[tuple[bytes, ...], int], Starts] = {}
        self._edges: dict[object, int] = {}
        self._generation: object = None
        self._coarser: tuple[int, int, np.ndarray] | None = None
        self._made: Unrolled | None = None
        self._base: tuple[Sequence[int], TokenClasses, np.ndarray] | None = None
        self._bytes: tuple[Unrolled, list[int]] | None = None
        self.unrolled: Unrolled
        self.ready((), NOT_BEGUN)

    @property
    def sets(self) -> StackSets:
        return self.unrolled.table.sets

    def ready(self, keys: tuple[bytes, ...], begun: int) -> None:
        """Rows with these marks begin somewhere: see `start`. Numbers of states may mean nothing from then on."""
        if (keys, begun) in self._starts:
            return
        found, starts = self._starts_of(keys, begun)
        if found is not self._made:
            self._made, self.unrolled = found, found
            self._starts.clear()
        self._starts[keys, begun] = starts
        with self.sets.lock:
            self.sets.admit(starts)

    def start(self, keys: tuple[bytes, ...], begun: int) -> int:
        """The state at the left edge. Of objects that a matcher has begun it is known which of the keys, those of the marks, they
        have; and a key that it has begun may be that of one mark. The lock of `sets` is held."""
        asked = keys, begun
        self.ready(keys, begun)
        if asked not in self._known:
            begin: dict[int, set[tuple[int, ...]]] = {}
            for control, stack in self._starts[asked]:
                begin.setdefault(control, set()).add(stack)
            self._known[asked] = self.sets.state(begin)
        return self._known[asked]

    def starts(self, keys: tuple[bytes, ...], begun: int) -> Starts:
        """The controls and stacks of `start`."""
        return self._starts[keys, begun]

    def end(self) -> int:
        if None not in self._known:
            self._known[None] = self.sets.end(self._room, self.check)
        return self._known[None]

    @property
    def _known(self) -> dict[object, int]:
        """States at the edges by what they are, and what leads on, as long as the numbers of states mean something."""
        if self._generation is not self.sets.generation or len(self._edges) > MOST_KNOWN:
            self._generation, self._edges = self.sets.generation, {}
        return self._edges

    def meets(self, before: int, row: np.ndarray, after: int) -> bool:
        """Do these classes lead from a state to one that has a stack in common with another? The lock of `sets` is held."""
        name = before, row.tobytes(), after
        known = self._known
        if name not in known:
            reached = int(self.sets.forward(before, row, self.check)[-1])
            known[name] = int(self.sets.meet(reached, after))
        return bool(known[name])

    def coarser(self, classes: TokenClasses) -> np.ndarray:
        """int32 [K]: of each class of these states that of others which tell less apart; NEVER of classes without tokens."""
        own = self.unrolled.classes
        if self._coarser is None or self._coarser[:2] != (id(classes), id(own)):
            filled = np.flatnonzero(own.sizes)
            found = np.full(own.count, NEVER, np.int32)
            found[filled] = classes.of[own.order[own.starts[filled]]]
            self._coarser = id(classes), id(own), found
        return self._coarser[2]

    def base(self, tokens: Sequence[int]) -> np.ndarray:
        """int32: the classes of tokens, without marks."""
        known, classes = self._base, self.unrolled.classes
        if known is not None and known[0] is tokens and known[1] is classes:
            return known[2]
        given = np.array(tokens, np.int64)
        found = np.where(given == MASKED, MASKED, classes.of[given]).astype(np.int32)
        self._base = tokens, classes, found
        return found

    def row(self, base: np.ndarray, first: int, tokens: Sequence[int], marks: Marks) -> tuple[np.ndarray, np.ndarray]:
        """The classes of tokens from a position on and of marks; where each of the tokens begins, its marks included, and the end.
        `base`: their classes."""
        end, offsets = first + len(base), dict[int, list[int]]()
        for position, offset in marks:
            if first <= position < end or (position == end and not offset):
                offsets.setdefault(position, []).append(offset)
        if not offsets:
            return base, np.arange(len(base) + 1)
        of, given, taken, found = self._classes_of_bytes, base.tolist(), 0, list[int]()
        more = np.zeros(len(base) + 2, np.int64)  # classes at and before each place that no token has
        for position in sorted(offsets):
            at = position - first
            found += given[taken:at]
            taken, begun = at, len(found)
            inside = sorted(offsets[position])
            if inside[-1]:
                text, read = self._texts[tokens[at]], 0
                for offset in inside:
                    if offset < len(text):
                        found += [of[byte] for byte in text[read:offset]]
                        found += [of[mark] for mark in marks[position, offset]]
                        read = offset
                found += [of[byte] for byte in text[read:]]
                taken = at + 1
            else:
                found += [of[mark] for mark in marks[position, 0]]
            more[at + 1] = len(found) - begun - (taken - at)
        found += given[taken:]
        return np.array(found, np.int32), np.arange(len(base) + 1) + np.cumsum(more[:-1])

    @property
    def _classes_of_bytes(self) -> list[int]:
        known = self._bytes
        if known is None or known[0] is not self.unrolled:
            known = self._bytes = self.unrolled, self.unrolled.byte_classes.tolist()
        return known[1]
