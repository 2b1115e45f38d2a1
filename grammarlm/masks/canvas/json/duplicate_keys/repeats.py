"""Which tokens would make an object have a key twice, whatever else is filled in.

What the states of a row do not know are the free keys of its objects. A row spells some of them (spans.py); whether two equal ones
are in one object is followed by marks around them (marked_places.py). That takes a lattice a key, so bounds come first:

    most     the row without marks: every completion, and those that have a key twice
    least    every place that may be a key like another, with a masked token beside it, is no such key; keys that are given twice,
             with their quotes, and can meet have marks. All of this are completions.

Where both allow the same, that is what is allowed (bounds.py). What is between them is looked at with marks around the keys beside
it.

Rows are asked of completions first that have few brackets open at once: nearly all that may stand somewhere does in one of these,
and the states of a row hardly hang on how many tokens are left of a position, or right of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import cast

from grammarlm.layout.json_canvas import MOST_MARKS

from .answers import BOUND, EVERY, MOST, PLAIN
from .given_twice import GivenTwice, is_outer
from .marked_places import MarkedPlaces
from .marked_row import MarkedRow

# In longer rows no more keys are followed at once to decide about tokens: states of two or three take seconds.
SHORT_ROW = 16


class Repeats:
    """The keys of one row that may come twice."""

    def __init__(self, places: MarkedPlaces, like: Repeats | None):
        """`like`: of a row with the same tokens, but some of them masked."""
        self.places = places
        self._twice: GivenTwice = GivenTwice(places, None if like is None else like._twice, without_outer=False)
        self._inner_twice: GivenTwice = GivenTwice(
            places, None if like is None else like._inner_twice, without_outer=True
        )

    @property
    def together(self) -> tuple[bytes, ...] | None:
        """Keys given twice that are followed at once, so that no completion of `least` has any key twice; None: too many."""
        return self._inner_twice.together if self.shunned else self._twice.together

    @property
    def enough(self) -> tuple[bytes, ...] | None:
        """The same of `wider`."""
        return self._twice.enough

    @cached_property
    def least(self) -> MarkedRow | None:
        return None if self.together is None else self.places.least_with(self.together, self.places.twins)

    @cached_property
    def low(self) -> MarkedRow | None:
        """`least`, without completions that have many brackets open at once; None: there is no other, or none is looked for."""
        if not self.places.can_be_low or self.together is None:
            return None
        if self._shunning is not None:
            return self._shunning
        found = self.places.least_with(self.together, self.places.twins, height=self.places.grid.height)
        return found if found.is_completable else None

    @cached_property
    def _shunning(self) -> MarkedRow | None:
        """`low`, where keys that may stand between strings have no given places; None: they must have, or there are none."""
        if not self.places.can_be_low or self._inner_twice.together is None:
            return None
        outer = [key for key in self.places.twins if is_outer(key)]
        if not any(self.places.given(key) for key in outer):
            return None
        together, height = self._inner_twice.together, self.places.grid.height
        found = self.places.least_with(together, self.places.twins, height=height, shunned=outer)
        return found if found.is_completable else None

    @property
    def shunned(self) -> list[bytes]:
        """Keys that have no given places in `low`."""
        return [] if self._shunning is None else [key for key in self.places.twins if is_outer(key)]

    @cached_property
    def bound(self) -> MarkedRow | None:
        """What it allows is allowed."""
        return self.least if self.low is None else self.low

    @cached_property
    def wider(self) -> MarkedRow | None:
        """`least`, where only those keys are avoided that two places can be of in one object."""
        if self.enough is None:
            return None
        others = [key for key in self.places.twins if key not in self.enough and self.places.loose(key)]
        avoided = {key for key in others if self._twice.can_meet(key, self.enough, self.places.spans(key))}
        return self.places.least_with(self.enough, avoided | set(self.enough))

    @cached_property
    def is_completable(self) -> bool | None:
        """None: that is not decided."""
        if self.bound is not None and self.bound.is_completable:
            return True
        if not all(self.places.with_key(key).is_completable for key in self.places.twins):
            return False
        if self.shown is not None:
            return True
        return None if self.places.every(MOST_MARKS) is None else False

    @cached_property
    def shown(self) -> MarkedRow | None:
        """A row some of whose completions are those of the row, and have none of the keys that may come twice in one object; None:
        none is known."""
        rows: tuple[Callable[[], MarkedRow | None], ...] = (
            lambda: self.bound,
            lambda: self.places.with_key(self.places.twins[0]) if len(self.places.twins) == 1 else self.wider,
            lambda: self.places.every(MOST_MARKS),
        )
        return next((row for made in rows if (row := made()) is not None and row.is_completable), None)

    @property
    def most_marks(self) -> int:
        """How many keys are followed at once to decide about single tokens."""
        return MOST_MARKS if len(self.places.tokens) <= SHORT_ROW else max(1, len(self.together or ()))

    def named(self, name: object) -> MarkedRow | None:
        """Rows that show what is allowed: `bound`, or with marks around one key (a tuple), no key or all, of as few open
        brackets."""
        if name == BOUND:
            return self.bound
        if name == PLAIN:
            return None
        places, height = self.places, 0 if self.low is None else self.places.grid.height
        if name == EVERY:
            return places.every(self.most_marks, height)
        return (
            places.row([], (), (), height) if name == MOST else places.with_key(cast("tuple[bytes]", name)[0], height)
        )
