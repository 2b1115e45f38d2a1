"""The values of `enum` and `const` as shapes, and their negations."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.nodes.by_type import (
    ANY,
    ANY_ITEM,
    ARRAYS,
    EMPTY,
    FALSE,
    NOTHING,
    NULL,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TRUE,
    ByType,
    LooseArray,
    LooseObject,
)
from grammarlm.grammars.json_schema.nodes.case_limits import check_unfinished
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape, StringShape

from .objects import mentioning

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser


def identity(value: Any) -> tuple[str, Any]:
    """A key, equal for equal values; objects and arrays are identified by id."""
    if value is None or isinstance(value, bool):
        return "literal", value
    if isinstance(value, str):
        return "string", value
    if isinstance(value, dict | list):
        return "container", id(value)
    return "number", value if value.__class__ is int else numbers.exact(value)


@dataclass(eq=False, slots=True)
class ValueAtom:
    """One value."""

    value: Any
    pointer: str

    def shapes_by_type(self, n: Normaliser, sign: bool, track: bool) -> ByType:
        if sign:
            return shapes_of_values(n, [self.value], self.pointer)
        by_type = list(shapes_of_others([self.value]))
        if isinstance(self.value, dict):
            by_type[OBJECTS] = _not_object(n, self.value, self.pointer)
        elif isinstance(self.value, list):
            by_type[ARRAYS] = _not_array(n, self.value, self.pointer)
        return by_type


def shapes_of_values(n: Normaliser, values: list[Any], pointer: str, among: ByType = ANY) -> ByType:
    """Exactly these values, as far as their type is one of `among`."""
    by_type: list[Any] = [EMPTY, EMPTY, EMPTY, [], [], [], []]
    words: dict[str, None] = {}
    points: dict[int | Fraction, None] = {}
    floats: set[int | Fraction] = set()
    for value in values:
        kind = value.__class__
        if kind is str:
            words[value] = None
        elif value is None:
            by_type[NULL] = ANY[NULL]
        elif kind is bool:
            by_type[TRUE if value else FALSE] = ANY[TRUE if value else FALSE]
        elif kind is dict or kind is list:
            t = OBJECTS if kind is dict else ARRAYS
            if among[t]:
                check_unfinished(len(by_type[t]), pointer)
                by_type[t].append(_object(n, value, pointer) if kind is dict else _array(n, value, pointer))
        elif kind is int:
            points[value] = None
        else:
            points[numbers.exact(value)] = None
            floats.add(numbers.exact(value))
    if words:
        by_type[STRINGS] = [StringShape(values=tuple(words))]
    if points:
        by_type[NUMBERS] = number_shapes(points, floats)
    return by_type


def number_shapes(
    points: Iterable[int | Fraction], floats: Collection[int | Fraction] = frozenset()
) -> list[NumberShape]:
    """One shape per number, or per run of consecutive whole numbers. `floats`: those written with a point or an exponent, which
    plain spelling may write so."""
    found = []
    ordered = sorted(points)
    i = 0
    while i < len(ordered):
        j = i
        is_integer = ordered[i].denominator == 1 and ordered[i] not in floats
        if is_integer:
            while j + 1 < len(ordered) and ordered[j + 1] == ordered[j] + 1 and ordered[j + 1] not in floats:
                j += 1
        low, high = numbers.exact(ordered[i]), numbers.exact(ordered[j])
        found.append(NumberShape(low=low, high=high, integer=is_integer))
        i = j + 1
    return found


def _object(n: Normaliser, value: dict[str, Any], pointer: str) -> LooseObject:
    children = {name: n.nodes.value(below, pointer) for name, below in value.items()}
    return LooseObject(children, (), frozenset(children), len(children), len(children))


def _array(n: Normaliser, value: list[Any], pointer: str) -> LooseArray:
    items = tuple(((n.nodes.value(below, pointer), 0),) for below in value)
    return LooseArray(items, (), len(items), len(items))


def _not_object(n: Normaliser, value: dict[str, Any], pointer: str) -> list[LooseObject]:
    found = [LooseObject(minimum=len(value) + 1)]
    for name, below in value.items():
        found.append(mentioning({name: NOTHING}))
        found.append(mentioning({name: n.nodes.negate(n.nodes.value(below, pointer))}, [name]))
    return found


def _not_array(n: Normaliser, value: list[Any], pointer: str) -> list[LooseArray]:
    found = [LooseArray(minimum=len(value) + 1)]
    if value:
        found.append(LooseArray(maximum=len(value) - 1))
    for i, below in enumerate(value):
        found.append(
            LooseArray((*(ANY_ITEM,) * i, ((n.nodes.negate(n.nodes.value(below, pointer)), 0),)), minimum=i + 1)
        )
    return found


def shapes_of_others(values: list[Any]) -> ByType:
    """All values but these; objects and arrays are ignored."""
    by_type = list(ANY)
    words: dict[str, None] = {}
    points: set[Fraction] = set()
    for value in values:
        if isinstance(value, str):
            words[value] = None
        elif value is None:
            by_type[NULL] = EMPTY
        elif isinstance(value, bool):
            by_type[TRUE if value else FALSE] = EMPTY
        elif not isinstance(value, dict | list):
            points.add(numbers.exact(value))
    if words:
        by_type[STRINGS] = [StringShape(language=frozenset([("words", tuple(words), False)]))]
    if points:
        by_type[NUMBERS] = _gaps(sorted(points))
    return by_type


def _gaps(points: list[Fraction]) -> list[NumberShape]:
    """The intervals between points."""
    found = [NumberShape(high=points[0], high_open=True)]
    for low, high in pairwise(points):
        found.append(NumberShape(low=low, low_open=True, high=high, high_open=True))
    found.append(NumberShape(low=points[-1], low_open=True))
    return found
