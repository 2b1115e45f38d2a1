"""The places of keys in one row, and around which of them marks tell what may stand at a position.

A masked token may make a second place of a key: in short rows each is asked of a completion (shown.py), in others a commit refuses
it. Marks tell what moves the ends of objects, so that two given places meet: they are set around keys that are given twice, but for
a quote, and of which states without marks have a completion with both in one object.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json_canvas import MOST_MARKS
from grammarlm.masks.canvas.protocol import MASKED

from .marked_row import MarkedRow
from .spans import Span, all_spans

if TYPE_CHECKING:
    from grammarlm.masks.canvas.json.rows import JsonRows
    from grammarlm.masks.canvas.json.states.explored import States

MOST_MARKED = 20_000  # states whose objects marks are followed through: marks make more of them than there may be


class KeyPlaces:
    """Those of one row."""

    def __init__(self, grid: JsonRows, tokens: list[int], states: States):
        self._grid, self._tokens, self._states = grid, tokens, states
        self._had = grid.begun.every_key
        self._rows: dict[tuple[tuple[bytes, ...], bool], MarkedRow | None] = {}

    @cached_property
    def spans(self) -> dict[bytes, list[Span]]:
        found: dict[bytes, list[Span]] = {}
        for span in all_spans(self._grid.runs_of(self._tokens)):
            found.setdefault(span.key, []).append(span)
        return found

    def is_twice(self, key: bytes) -> bool:
        """Has the row more places than one of a key?"""
        return len(self.spans.get(key, ())) + (key in self._had) > 1

    @cached_property
    def twins(self) -> list[bytes]:
        return [key for key in self.spans if self.is_twice(key)]

    def marked(self, keys: tuple[bytes, ...], given: bool = False) -> MarkedRow | None:
        """The row with marks around the places of some keys; `given`: only those of _tight. None: too many states."""
        if (keys, given) not in self._rows:
            spans = [
                (s, n) for n, key in enumerate(keys) for s in (self._tight(key) if given else self.spans.get(key, ()))
            ]
            self._rows[keys, given] = self._made(keys, spans)
        return self._rows[keys, given]

    def _made(self, keys: tuple[bytes, ...], spans: list[tuple[Span, int]]) -> MarkedRow | None:
        table, grid = self._grid.grid(self._states).table, self._grid
        name = self._states._replace(marks=len(keys))
        if len(keys) > MOST_MARKS or table.has_circles or table.controls > MOST_MARKED or name in grid.unmarked:
            return None
        try:
            return MarkedRow(grid, self._states, self._tokens, keys, spans)
        except LimitExceeded:
            grid.check()
            grid.unmarked.add(name)
            return None

    # ------------------------------------------------------------------ what may stand at a position

    @cached_property
    def telling(self) -> list[MarkedRow]:
        """Rows that tell what may stand at masked positions."""
        if not self.twins:
            return []
        if self._grid.is_short(self._tokens):
            together = self.marked(tuple(self.twins))
            rows = [self.marked((key,)) for key in self.twins] if together is None else [together]
        else:
            rows = [self.marked((key,)) for key in self._meeting()]
        return [row for row in rows if row is not None]

    def _meeting(self) -> Iterator[bytes]:
        """The keys given twice that can meet. What could not cannot where more tokens are given."""
        grid, here = self._grid, np.array(self._tokens)
        places = {key: frozenset(self._tight(key)) for key in self.twins}
        twice = {key: of for key, of in places.items() if len(of) + (key in self._had) > 1}
        before, known = grid.apart or (here, {})
        known = known if ((before == MASKED) | (before == here)).all() else {}
        apart = dict[bytes, frozenset[Span]]()
        for key, of in twice.items():
            if of <= known.get(key, frozenset()) or not self._can_meet(key):
                apart[key] = of
            else:
                yield key
        grid.apart = here, apart

    def _can_meet(self, key: bytes) -> bool:
        row, free = self.marked((key,), given=True), self._free
        if row is None or free is None:
            return False
        return any(row.meets(span, free) for span in self._tight(key)[0 if key in self._had else 1 :])

    def _tight(self, key: bytes) -> list[Span]:
        """The places of a key whose quotes are given, or left to a masked token with given ones beside it."""
        return [span for span in self.spans.get(key, ()) if span.is_given or self._is_tight(span)]

    def _is_tight(self, span: Span) -> bool:
        (first, inside), (end, behind), tokens = span.begin, span.end, self._tokens
        beside = [tokens[max(0, first - 2) : first]] * (not inside) + [tokens[end : end + 2]] * (not behind)
        return all(some.count(MASKED) < 2 for some in beside)

    @cached_property
    def _free(self) -> MarkedRow | None:
        return self._made((b"",), [])
