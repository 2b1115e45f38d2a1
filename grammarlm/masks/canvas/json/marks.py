"""Rows with marks around some keys, over states that know what marks mean: one table for all keys of all rows.

The states keep a bit for each object: has it had the key of mark 0 (1, 2, 3)? Which key that is the row says, by marks around the
places where its text is given (layout/json_canvas.py). Marks are given tokens of their own; a token with a mark inside is read byte
by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.json_canvas import AVOID, BEGIN, END, MOST_MARKS, NEED, ONLY
from grammarlm.masks.canvas.classes import NEVER
from grammarlm.masks.canvas.protocol import MASKED

from .spans import Place, Span

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.stack.sets import StackSets
    from grammarlm.masks.matcher import Matcher
    from grammarlm.vocab.vocabulary import Vocabulary

    from .explored import States
    from .view import Starts, Unrolled, UnrolledView

Marks = dict[Place, list[int]]
Asked = tuple[int, ...]
Marked = tuple[Span, int, Asked]  # a place, the number of the mark that its key has, and what stands behind its end
FREE: Asked = ()
AVOIDED, ASKED, MET = (AVOID,), (ONLY,), (NEED,)
NOT_BEGUN = -1


def marks_of(spans: Iterable[Marked]) -> Marks:
    found: Marks = {}
    for span, number, asked in spans:
        found.setdefault(span.begin, []).append(BEGIN + number)
        found.setdefault(span.end, []).extend((END, *asked))
    return found


class MarkedTable:
    """The states of some number of marks, for rows of one length."""

    def __init__(self, view: UnrolledView, states: States, after: Matcher | None, room: int, check: Callable[[], None]):
        self._view, self._states, self._after, self._room, self.check = view, states, after, room, check
        self._starts: dict[tuple[tuple[bytes, ...], int], Starts] = {}
        self._edges: dict[object, int] = {}
        self._generation: object = None
        self._coarser: tuple[int, int, np.ndarray] | None = None
        self.unrolled: Unrolled
        self._ready((), NOT_BEGUN)

    @property
    def sets(self) -> StackSets:
        return self.unrolled.table.sets

    def _ready(self, keys: tuple[bytes, ...], begun: int) -> None:
        if (keys, begun) not in self._starts:
            self.unrolled, self._starts[keys, begun] = self._view.marked(self._states, self._after, keys, begun)

    def start(self, keys: tuple[bytes, ...], begun: int) -> int:
        """The state at the left edge. Of objects that a matcher has begun it is known which of the keys, those of the marks, they
        have; and a key that it has begun may be that of one mark. The lock of `sets` is held."""
        asked = keys, begun
        self._ready(keys, begun)
        if asked not in self._known:
            begin: dict[int, set[tuple[int, ...]]] = {}
            for control, stack in self._starts[asked]:
                begin.setdefault(control, set()).add(stack)
            self._known[asked] = self.sets.state(begin)
        return self._known[asked]

    def end(self) -> int:
        if None not in self._known:
            self._known[None] = self.sets.end(self._room, self.check)
        return self._known[None]

    @property
    def _known(self) -> dict[object, int]:
        """States at the edges by what they are, as long as their numbers mean something."""
        if self._generation is not self.sets.generation:
            self._generation, self._edges = self.sets.generation, {}
        return self._edges

    def coarser(self, classes: TokenClasses) -> np.ndarray:
        """int32 [K]: of each class of these states that of others which tell less apart; NEVER of classes without tokens."""
        own = self.unrolled.classes
        if self._coarser is None or self._coarser[:2] != (id(classes), id(own)):
            filled = np.flatnonzero(own.sizes)
            found = np.full(own.count, NEVER, np.int32)
            found[filled] = classes.of[own.order[own.starts[filled]]]
            self._coarser = id(classes), id(own), found
        return self._coarser[2]

    def classes(
        self, tokens: Sequence[int], first: int, marks: Marks, vocab: Vocabulary
    ) -> tuple[list[int], list[int]]:
        """The classes of tokens from a position on and of marks; where each of the tokens begins, its marks included."""
        of, by_byte = self.unrolled.classes.of, self.unrolled.byte_classes
        found, starts = list[int](), list[int]()
        inside = {position for position, offset in marks if offset}
        for position, token in enumerate(tokens, first):
            starts.append(len(found))
            found += by_byte[marks.get((position, 0), [])].tolist()
            if position not in inside:
                found.append(int(of[token]) if token != MASKED else MASKED)
                continue
            for offset, byte in enumerate(vocab.token_bytes(token)):
                found += by_byte[marks.get((position, offset), []) if offset else []].tolist()
                found.append(int(by_byte[byte]))
        return found, starts


class MarkedRow:
    """One row with some marks."""

    def __init__(
        self, table: MarkedTable, tokens: list[int], vocab: Vocabulary, spans: Sequence[Marked],
        keys: tuple[bytes, ...] = (),
    ):  # fmt: skip
        """`keys`: those of the marks, where a matcher has read some before."""
        self.table, self._tokens, self._vocab, self._keys = table, tokens, vocab, keys
        self._spans, self._marks = spans, marks_of(spans)
        self._generation: object = None
        self._known_forward: np.ndarray | None = None
        self._known_backward: tuple[np.ndarray, np.ndarray] | None = None
        self._begin()

    def _begin(self) -> None:
        """The states, made again where their numbers were given up."""
        table, sets = self.table, self.table.sets
        with sets.lock:
            if self._generation is sets.generation:
                return
            sets.begin_row()
            begin, end = table.start(self._keys, begun_at_edge(self._marks)), table.end()
            self._generation = sets.generation
            row, at = table.classes(self._tokens, 0, self._marks, self._vocab)
            self._at = [*at, len(row)]
            row += table.unrolled.byte_classes[self._marks.get((len(self._tokens), 0), [])].tolist()
            self._row, self._first, self._last = np.array(row, np.int32), begin, end
            self._known_forward, self._known_backward = None, None

    @property
    def _forward(self) -> np.ndarray:
        """The states at all boundaries, the lock of `sets` is held."""
        if self._known_forward is None:
            self._known_forward = self.table.sets.forward(self._first, self._row, self.table.check)
        return self._known_forward

    @property
    def _backward(self) -> tuple[np.ndarray, np.ndarray]:
        """Those, and the states within each token."""
        if self._known_backward is None:
            self._known_backward = self.table.sets.backward(self._row, self._last, self.table.check)
        return self._known_backward

    @property
    def classes(self) -> TokenClasses:
        return self.table.unrolled.classes

    @property
    def is_completable(self) -> bool:
        self._begin()
        with self.table.sets.lock:
            return self.table.sets.meet(self._first, int(self._backward[0][0]))

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K] of a masked position (read only)."""
        self._begin()
        sets = self.table.sets
        with sets.lock:
            at = self._at[position + 1] - 1
            return sets.classes(int(self._forward[at]), int(self._backward[1][at]))

    def leads_on(
        self, first: int, tokens: Sequence[int], spans: Sequence[Marked], keys: tuple[bytes, ...] = (),
        behind: MarkedRow | None = None,
    ) -> bool:  # fmt: skip
        """Is there a completion with these tokens from a position on, instead of those of the row, and marks around places there?
        `keys`: of the marks, where the row has none; `behind`: a row whose marks are those behind the tokens."""
        behind = behind or self
        self._begin()
        behind._begin()
        sets, table, end = self.table.sets, self.table, first + len(tokens)
        marks: Marks = {}
        kept = [one for one in self._spans if not any(touch(one[0], new[0]) for new in spans)]
        for span, _, asked in kept:
            if span.begin[0] < first and (first, 0) <= span.end < (end, 0):
                marks.setdefault(span.end, []).extend((END, *asked))
        for place, more in marks_of([*(one for one in kept if first <= one[0].begin[0] < end), *spans]).items():
            marks.setdefault(place, []).extend(more)
        with sets.lock:
            here = int(self._forward[self._at[first]])
            if first == 0:
                here = table.start(self._keys or keys, begun_at_edge(marks))
            row, _ = table.classes(tokens, first, marks, self._vocab)
            row += table.unrolled.byte_classes[marks.get((end, 0), [])].tolist()
            after = int(sets.forward(here, np.array(row, np.int32), table.check)[-1])
            return sets.meet(after, int(behind._backward[0][behind._at[end]]))


def touch(a: Span, b: Span) -> bool:
    """Is nothing between two places, or do they overlap?"""
    return a.begin <= b.end and b.begin <= a.end


def begun_at_edge(marks: Marks) -> int:
    """Of which mark is a key that begins where the row does?"""
    return next((byte - BEGIN for byte in marks.get((0, 0), ()) if BEGIN <= byte < BEGIN + MOST_MARKS), NOT_BEGUN)
