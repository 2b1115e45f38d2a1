"""One row with marks around some keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.json_canvas import AVOID, BEGIN, END, MOST_MARKS, NEED
from grammarlm.masks.canvas.stack.row_states import StatesOfRow

from .marks import NOT_BEGUN, MarkedTable, Marks
from .spans import Span

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.stack.sets import StackSets

Asked = tuple[int, ...]
Marked = tuple[Span, int, Asked]  # a place, the number of the mark that its key has, and what stands behind its end
FREE: Asked = ()
AVOIDED, MET = (AVOID,), (NEED,)
NOWHERE = -1e30  # a score
MOST_ROLES = 1024


def marks_of(spans: Iterable[Marked]) -> Marks:
    found: Marks = {}
    for span, number, asked in spans:
        found.setdefault(span.begin, []).append(BEGIN + number)
        found.setdefault(span.end, []).extend((END, *asked))
    return found


class MarkedRow:
    """One row with some marks."""

    def __init__(
        self, table: MarkedTable, tokens: list[int], spans: Sequence[Marked],
        keys: tuple[bytes, ...] = (), before: MarkedRow | None = None, height: int = 0,
    ):  # fmt: skip
        """`keys`: those of the marks, where a matcher has read some before; `before`: a row much like this."""
        self.table, self._tokens, self._keys, self._height = table, tokens, keys, height
        self._spans, self._marks = spans, marks_of(spans)
        self._states: StatesOfRow | None = None
        self._begin(before)

    @cached_property
    def _near(self) -> dict[int, list[int]]:
        """By position, the places that begin or end there."""
        found: dict[int, list[int]] = {}
        for i, (span, _, _) in enumerate(self._spans):
            found.setdefault(span.begin[0], []).append(i)
            found.setdefault(span.end[0], []).append(i)
        return found

    def _begin(self, before: MarkedRow | None = None) -> StackSets:
        """The states, made again where their numbers were given up, are over these sets."""
        table = self.table
        sets = table.sets
        if self._states is not None and self._states.generation is sets.generation:
            return sets
        table.ready(self._keys, begun_at_edge(self._marks))
        sets = table.sets
        with sets.lock:
            sets.begin_row()
            begin, end = table.start(self._keys, begun_at_edge(self._marks)), table.end()
            row, at = table.row(table.base(self._tokens), 0, self._tokens, self._marks)
            self._at = at.tolist()
            like = None if before is None else before._states
            self._states = StatesOfRow(sets, row, begin, end, table.check, like, self._height)
        return sets

    @property
    def _known(self) -> StatesOfRow:
        assert self._states is not None
        return self._states

    @property
    def classes(self) -> TokenClasses:
        return self.table.unrolled.classes

    @property
    def is_completable(self) -> bool:
        sets = self._begin()
        with sets.lock:
            return self._known.leads()

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K] of a masked position (read only)."""
        sets = self._begin()
        with sets.lock:
            at = self._at[position + 1] - 1
            return sets.classes(self._known.forward(at), self._known.inner(at))

    def some(self, scores: np.ndarray) -> np.ndarray | None:
        """As PlainRow.some."""
        sets = self._begin()
        with sets.lock:
            known, own = self._known, np.array(self._at[1:]) - 1
            found = np.zeros((len(known.row), self.classes.count), scores.dtype)
            found[own] = np.where(
                self.classes.sizes > 0, scores, np.float32(NOWHERE)
            )  # bytes and marks are given alone
            chosen = known.some(self.table.starts(self._keys, begun_at_edge(self._marks)), found)
            return None if chosen is None else chosen[own]

    def between(self, first: int, end: int, hangs_on_keys: bool = True) -> object:
        """What the row is like between two positions, as all that is around them sees it: equal objects, equal answers. Which keys
        have the marks is no matter for what may stand there, unless more marks are set."""
        sets = self._begin()
        with sets.lock:
            known, begin, stop = self._known, self._at[first], self._at[end]
            states = known.forward(begin), known.backward(stop)
            keys = self._keys if hangs_on_keys else ()
            return known.generation, keys, *states, known.row[begin:stop].tobytes()

    def leads_on(
        self, first: int, tokens: Sequence[int], spans: Sequence[Marked] = (), keys: tuple[bytes, ...] = (),
        behind: MarkedRow | None = None,
    ) -> bool:  # fmt: skip
        """Is there a completion with these tokens from a position on, instead of those of the row, and marks around places there?
        `keys`: of the marks, where the row has none; `behind`: a row whose marks are those behind the tokens."""
        behind, table, end = behind or self, self.table, first + len(tokens)
        marks = marks_among(self._kept(first, end, spans), spans, first, end)
        begun = self._keys or keys, begun_at_edge(marks)
        if first == 0:
            table.ready(*begun)
        self._begin()
        behind._begin()
        with table.sets.lock:
            here = table.start(*begun) if first == 0 else self._known.forward(self._at[first])
            row, _ = table.row(table.base(tokens), first, tokens, marks)
            return table.meets(here, row, behind._known.backward(behind._at[end]))

    def _kept(self, first: int, end: int, spans: Sequence[Marked]) -> list[Marked]:
        """The places with marks that begin or end at these positions, but for those beside others."""
        near = [self._near[position] for position in range(first, end + 1) if position in self._near]
        kept = (self._spans[i] for i in dict.fromkeys(i for some in near for i in some))
        return [one for one in kept if not any(touch(one[0], new[0]) for new in spans)]


class MarkedRows:
    """The latest rows over one table."""

    def __init__(self, table: MarkedTable):
        self.table = table
        self._latest: dict[object, MarkedRow] = {}

    def row(
        self, tokens: list[int], spans: Sequence[Marked], keys: tuple[bytes, ...], role: object, height: int
    ) -> MarkedRow:
        """A row with marks; that of another row with the same role is much like it, or else one without marks. `height`: stacks of
        more symbols are left out, unless it is 0."""
        name, plain = (role if spans else (), height), ((), height)
        before = self._latest.get((role, height), self._latest.get(plain))
        if len(self._latest) > MOST_ROLES:
            self._latest.clear()
        found = self._latest[name] = MarkedRow(self.table, tokens, spans, keys, before, height)
        return found


def marks_among(kept: Sequence[Marked], spans: Sequence[Marked], first: int, end: int) -> Marks:
    """Those of some places from one position to another, of which some begin before."""
    marks: Marks = {}
    for span, _, asked in kept:
        if span.begin[0] < first and (first, 0) <= span.end < (end, 0):
            marks.setdefault(span.end, []).extend((END, *asked))
    for place, more in marks_of([*(one for one in kept if first <= one[0].begin[0] < end), *spans]).items():
        marks.setdefault(place, []).extend(more)
    return marks


def touch(a: Span, b: Span) -> bool:
    """Is nothing between two places, or do they overlap?"""
    return a.begin <= b.end and b.begin <= a.end


def begun_at_edge(marks: Marks) -> int:
    """Of which mark is a key that begins where the row does?"""
    return next((byte - BEGIN for byte in marks.get((0, 0), ()) if BEGIN <= byte < BEGIN + MOST_MARKS), NOT_BEGUN)
