"""Removes shapes of a list that another one contains.

Decided from the fields alone: two shapes whose nodes differ are never compared inside. The remaining shapes run in parallel in the
masks, so each one less is a thread less.
"""

from __future__ import annotations

from typing import Any

from grammarlm.grammars.json_schema.nodes.by_type import ANY, ANY_ARRAY, ANY_OBJECT, ARRAYS, NUMBERS, OBJECTS, STRINGS

from .shapes import ANYTHING, ArrayShape, Evaluated, NumberShape, ObjectShape, StringShape

MOST_COMPARED = 64  # lists up to this length are compared pair by pair; longer ones only lose duplicates


def simplified(t: int, shapes: list[Any]) -> list[Any]:
    if t < STRINGS:
        return shapes[:1]
    anything = ANY[t][0]
    tracked = t >= OBJECTS and any(shape.evaluated is not None for shape in shapes)
    if not tracked and any(shape is anything or (t <= NUMBERS and shape == anything) for shape in shapes):
        return ANY[t]
    if t == STRINGS:
        shapes = _joined_values(shapes)
    signature = _SIGNATURES[t]
    unique = list({signature(shape): shape for shape in reversed(shapes)}.values())
    unique.reverse()
    if not 1 < len(unique) <= MOST_COMPARED:
        return unique
    covers = _COVERS[t]
    kept: list[Any] = []
    for i, shape in enumerate(unique):
        if any(covers(other, shape) for other in kept):
            continue
        if any(covers(other, shape) and not covers(shape, other) for other in unique[i + 1 :]):
            continue
        kept.append(shape)
    return kept


def _joined_values(shapes: list[StringShape]) -> list[StringShape]:
    """Merges all finite sets of strings."""
    finite = [s for s in shapes if s.values is not None]
    if len(finite) < 2:
        return shapes
    joined = StringShape(values=tuple(dict.fromkeys(v for s in finite for v in s.values or ())))
    return [joined, *(s for s in shapes if s.values is None)]


def _scalar(shape: Any) -> Any:
    return shape


def _of_object(s: ObjectShape) -> Any:
    return (
        tuple(s.properties.items()),
        s.others,
        s.required,
        s.minimum,
        s.maximum,
        tuple(s.implied.items()),
        s.some,
        s.refusal,
        s.evaluated,
    )


def _of_array(s: ArrayShape) -> Any:
    return s.prefix, s.rest, s.minimum, s.maximum, s.contains, s.unique, s.refusal, s.evaluated


def _within(low_a: int, high_a: int | None, low_b: int, high_b: int | None) -> bool:
    """Is b's interval in a's?"""
    return low_a <= low_b and (high_a is None or (high_b is not None and high_b <= high_a))


def _string_covers(a: StringShape, b: StringShape) -> bool:
    if a.values is not None or b.values is not None:
        return False
    return _within(a.minimum, a.maximum, b.minimum, b.maximum) and a.language <= b.language


def _number_covers(a: NumberShape, b: NumberShape) -> bool:
    if a.low is not None and (b.low is None or b.low < a.low or (b.low == a.low and a.low_open and not b.low_open)):
        return False
    if a.high is not None and (
        b.high is None or b.high > a.high or (b.high == a.high and a.high_open and not b.high_open)
    ):
        return False
    point = b.low if b.low is not None and b.low == b.high else None
    whole = point is not None and point.denominator == 1
    if a.integer and not (b.integer or whole):
        return False
    if a.fractional and not (b.fractional or (point is not None and not whole)):
        return False
    if a.plain and not b.plain:
        return False
    if not set(a.multiples) <= set(b.multiples):
        return False
    return set(a.not_multiples) <= set(b.not_multiples)


def _object_covers(a: ObjectShape, b: ObjectShape) -> bool:
    if a.refusal or not (
        a.required <= b.required
        and _within(a.minimum, a.maximum, b.minimum, b.maximum)
        and not set(a.some) - set(b.some)
        and (a.others is b.others or a.others == b.others or a.others == ANY_OBJECT.others)
    ):
        return False
    for name, node in a.properties.items():
        other = b.properties.get(name)
        if other is None and not b.others:
            continue  # not a key of b
        if node is not ANYTHING and not _node_covers(node, other):
            return False
    if a.others != ANY_OBJECT.others and any(name not in a.properties for name in b.properties):
        return False
    for name, needed in a.implied.items():
        if name not in b.required and not needed <= b.implied.get(name, frozenset()):
            return False
        if name in b.required and not needed <= b.required:
            return False
    return _evaluates_more(a.evaluated, b.evaluated)


def _node_covers(a: Any, b: Any) -> bool:
    """Is b a conjunction that contains all of a?"""
    return b is not None and (a is b or a.key <= b.key or b.key == frozenset([-1]))


def _array_covers(a: ArrayShape, b: ArrayShape) -> bool:
    if a.refusal or a.contains or b.contains or (a.unique and not b.unique):
        return False
    if not _within(a.minimum, a.maximum, b.minimum, b.maximum):
        return False
    for i in range(max(len(a.prefix), len(b.prefix))):
        if not _way_covers(a.ways(i), b.ways(i)):
            return False
    return _way_covers(a.rest, b.rest) and _evaluates_more(a.evaluated, b.evaluated)


def _way_covers(a: Any, b: Any) -> bool:
    if not b or a is ANY_ARRAY.rest:
        return True
    return len(a) == len(b) == 1 and _node_covers(a[0][0], b[0][0])


def _evaluates_more(a: Evaluated | None, b: Evaluated | None) -> bool:
    """Does b leave everything unevaluated that a does?"""
    return b is None or (a is not None and a.covers(b))


_SIGNATURES: dict[int, Any] = {STRINGS: _scalar, NUMBERS: _scalar, OBJECTS: _of_object, ARRAYS: _of_array}
_COVERS: dict[int, Any] = {
    STRINGS: _string_covers,
    NUMBERS: _number_covers,
    OBJECTS: _object_covers,
    ARRAYS: _array_covers,
}
