"""Which earlier items can the item being read still become?

    [{"a": 1, "b": 2}, {"c": 1}, {"b":          the first: it has a key that begins so, and all that has been read

While there is one, the item must not end like it. Decided by what has been read, so a yes may be wrong where a number or an
escape is incomplete; a no never is.
"""

from __future__ import annotations

from .tracker import AFTER_COMMA, KEY, SCALAR, TEXT, Place, Tracker
from .values import ARRAY, OBJECT, Value, begun_text, may_become


def is_composite(value: Value) -> bool:
    return value.__class__ is tuple and value[0] in (OBJECT, ARRAY)


def has_rival(tracker: Tracker, depth: int) -> bool:
    """Has the open array so deep an earlier item, object or array, that the item being read may still equal? After a comma, any."""
    inside: list[Place] = []
    place: Place | None = tracker.place
    while place is not None and place.depth > depth:
        inside.append(place)
        place = place.above
    assert place is not None
    if not inside:
        return tracker.mode == AFTER_COMMA and any(map(is_composite, place.done))
    inside.reverse()
    return any(agrees(item, inside, 0, tracker) for item in place.done)


def agrees(value: Value, inside: list[Place], at: int, tracker: Tracker) -> bool:
    """Can the container number `at`, as far as it has been read, become this value?"""
    place = inside[at]
    if value.__class__ is not tuple or value[0] != (OBJECT if place.is_object else ARRAY):
        return False
    return (_object_agrees if place.is_object else _array_agrees)(value[1], inside, at, tracker)


def _object_agrees(members: frozenset[tuple[str, Value]], inside: list[Place], at: int, tracker: Tracker) -> bool:
    place = inside[at]
    if not members.issuperset(place.done):
        return False
    is_last = at + 1 == len(inside)
    if place.key is not None:
        values = [value for key, value in members if key == place.key]
        if not values:
            return False
        return _scalar_agrees(values[0], tracker) if is_last else agrees(values[0], inside, at + 1, tracker)
    if tracker.mode == KEY:
        begun = begun_text(tracker.lexeme)
        return any(key.encode("utf-8", "surrogatepass").startswith(begun) for key, _ in members.difference(place.done))
    return tracker.mode != AFTER_COMMA or len(members) > len(place.done)


def _array_agrees(items: tuple[Value, ...], inside: list[Place], at: int, tracker: Tracker) -> bool:
    done, is_last = inside[at].done, at + 1 == len(inside)
    count = len(done)
    if items[:count] != done.whole():
        return False
    if is_last and tracker.mode not in (TEXT, SCALAR, AFTER_COMMA):
        return True
    if count == len(items):
        return False
    return _scalar_agrees(items[count], tracker) if is_last else agrees(items[count], inside, at + 1, tracker)


def _scalar_agrees(value: Value, tracker: Tracker) -> bool:
    if tracker.mode == TEXT:
        is_text = value.__class__ is str
        return is_text and value.encode("utf-8", "surrogatepass").startswith(begun_text(tracker.lexeme))
    return tracker.mode != SCALAR or may_become(tracker.lexeme, value)
