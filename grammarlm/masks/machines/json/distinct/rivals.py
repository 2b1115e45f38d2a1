"""Can the item being read still become an earlier one, a **rival**?

    [{"a": 1, "b": 2}, {"c": 1}, {"b": 2, "a":          the first: it has all members that are finished

While there is one, the item must not end like it. Decided by finished members alone, so a yes may be wrong; a no never is.
"""

from __future__ import annotations

from .tracker import Place, Tracker
from .values import OBJECT, Value, value_of


def has_rival(tracker: Tracker, depth: int) -> bool:
    """Has the open array so deep an earlier item that the one being read may still equal? After a comma, any."""
    item, array = None, tracker.place
    while array is not None and array.depth > depth:
        item, array = array, array.above
    assert array is not None
    if not array.items:
        return False
    if item is None:
        return not tracker.text.after(array.last).strip()
    kind, done = _finished(tracker, item)
    earlier = (value for values in array.items for value in values if value[0] == kind)
    if kind == OBJECT:
        return any(done <= members for _, members in earlier)
    return any(done == items[: len(done)] for _, items in earlier)


def _finished(tracker: Tracker, place: Place) -> Value:
    """The value of the members or items after which a comma has come."""
    text = tracker.text.after(place.begin)[: place.last - place.begin]
    return value_of(text.removesuffix(b",") + place.closing)
