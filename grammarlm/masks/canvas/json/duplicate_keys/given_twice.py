"""Keys that a row gives twice, with their quotes: which of them must be followed by marks, so that none meets itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from grammarlm.layout.json_canvas import MOST_MARKS

from .marked_places import MarkedPlaces
from .marked_row import MET
from .spans import Span

MOST_TOGETHER = MOST_MARKS - 1  # keys given twice that are followed at once


OUTER = re.compile(rb"[ \t\r\n:,{}\[\]0-9+\-.eEtrufalsn]*")


def is_outer(key: bytes) -> bool:
    """May what looks like this key stand between two strings? `": "` and `", "` are in nearly all rows."""
    return OUTER.fullmatch(key) is not None


@dataclass(frozen=True, eq=False)
class Before:
    """What is known of a row with less tokens."""

    given: dict[bytes, frozenset[Span]]
    enough: tuple[bytes, ...]


class GivenTwice:
    """Those of one row."""

    def __init__(self, places: MarkedPlaces, before: GivenTwice | None, without_outer: bool):
        """`before`: of a row with the same tokens, but some of them masked; `without_outer`: without those that is_outer tells."""
        self._places, self._without_outer = places, without_outer
        enough = None if before is None else before.__dict__.get("enough")
        self._before = None if before is None or enough is None else Before(before.given, enough)

    @cached_property
    def together(self) -> tuple[bytes, ...] | None:
        """Keys given twice that are followed at once, so that no completion of `least` has any key twice; None: too many."""
        return self._apart(self._places.twins) if self.enough is None else self.enough

    @cached_property
    def enough(self) -> tuple[bytes, ...] | None:
        """The same of `wider`. Keys that could not meet cannot where more tokens are given."""
        known = self._before
        if known is None:
            return self._apart(())
        new = [
            key for key, spans in self.given.items()
            if key not in known.enough and not spans <= known.given.get(key, frozenset())
        ]  # fmt: skip
        if len(new) + len(known.enough) <= max(1, len(known.enough)):
            return (*known.enough, *new)  # followed, be there need or not
        return self._apart(())

    @cached_property
    def given(self) -> dict[bytes, frozenset[Span]]:
        """The given places of keys that are given twice."""
        twins = (key for key in self._places.twins if not (self._without_outer and is_outer(key)))
        found = {key: frozenset(self._places.given(key)) for key in twins}
        return {key: spans for key, spans in found.items() if len(spans) + (key in self._places.had) > 1}

    def _apart(self, avoided: Sequence[bytes]) -> tuple[bytes, ...] | None:
        """Keys given twice, so that no other key that is can meet itself where these do not."""
        twice = list(self.given)
        found: tuple[bytes, ...] = ()
        while True:
            meeting = [
                key for key in twice if key not in found and self.can_meet(key, found, self._places.given(key), avoided)
            ]
            if not meeting:
                return found
            if len(found) == MOST_TOGETHER:
                return None
            found = (*found, max(meeting, key=lambda key: len(self._places.given(key))))

    def can_meet(
        self, key: bytes, others: tuple[bytes, ...], spans: Sequence[Span], avoided: Iterable[bytes] = ()
    ) -> bool:
        """Has some completion, in which none of the others comes twice, this key twice in an object, in two of these places?"""
        keys, number, avoided = (*others, key), len(others), set(avoided)
        row = self._places.least_with(keys, avoided, spans)
        behind = self._places.least_with(keys, avoided, spans, ignored=key)

        def meets(span: Span) -> bool:
            first, end = span.begin[0], span.behind
            return row.leads_on(first, self._places.tokens[first:end], [(span, number, MET)], keys, behind)

        return any(map(meets, spans[0 if key in self._places.had else 1 :]))
