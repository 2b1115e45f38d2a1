"""What keeps a schema's states few enough: scales, tried in turn until its states are no more than there may be.

Only those are tried that can make a difference: arrays that count items have objects or arrays inside, many objects and arrays
stand in more places than one.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .places import Places

MANY_TIMES = 2  # how often objects and arrays are there on average, beyond which it pays that they push


class Scale(NamedTuple):
    """What a schema's states leave out."""

    shares: bool = False  # the states of objects and arrays within counted ones are there once: they push
    joins: bool = False  # and of those that stand in several places

    def pushing(self, places: Places) -> set[int]:
        """The objects and arrays that push."""
        found = places.recursive()
        found |= places.counted() if self.shares else set()
        return found | (_in_several_places(places) if self.joins else set())


WHOLE = Scale()


def scales_of(places: Places) -> tuple[Scale, ...]:
    found = [WHOLE]
    pushing = places.recursive()
    if places.counted() - pushing:
        found.append(Scale(shares=True))
    if _copies(places) > MANY_TIMES * len(places.inside):
        found.append(Scale(shares=True, joins=True))
    return tuple(found)


def _in_several_places(places: Places) -> set[int]:
    times = Counter(row for inside in places.copies.values() for row in inside)
    return {row for row, count in times.items() if count > 1}


def _copies(places: Places) -> int:
    """How many objects and arrays there are if each is there once for each place; what can contain itself is there once."""
    once, copies = places.recursive(), dict[int, int]()
    waiting = list(places.inside)
    while waiting:
        row = waiting[-1]
        missing = [child for child in places.inside[row] if child not in once and child not in copies]
        if row in copies or not missing:
            waiting.pop()
            copies[row] = 1 + sum(0 if child in once else copies[child] for child in places.copies[row])
        else:
            waiting += missing
    beginnings = set(places.inside) - {child for inside in places.inside.values() for child in inside}
    return sum(copies[row] for row in beginnings | once)
