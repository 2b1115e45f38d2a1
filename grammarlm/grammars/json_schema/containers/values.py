"""The values of `enum` and `const` as shapes, and all others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from grammarlm.grammars.json_schema.nodes.by_type import (
    ANY,
    ARRAYS,
    EMPTY,
    FALSE,
    NULL,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TRUE,
    ByType,
)
from grammarlm.grammars.json_schema.nodes.case_limits import check_unfinished
from grammarlm.grammars.json_schema.nodes.interning import Nodes
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.shapes.shapes import ArrayShape, Item, NumberShape, ObjectShape, StringShape


def shapes_of_values(nodes: Nodes, values: list[Any], pointer: str, among: ByType = ANY) -> ByType:
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
                by_type[t].append(_object(nodes, value, pointer) if kind is dict else _array(nodes, value, pointer))
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


def _object(nodes: Nodes, value: dict[str, Any], pointer: str) -> ObjectShape:
    children = {name: nodes.value(below, pointer) for name, below in value.items()}
    return ObjectShape(children, (), frozenset(children), len(children), len(children))


def _array(nodes: Nodes, value: list[Any], pointer: str) -> ArrayShape:
    items = tuple((Item(nodes.value(below, pointer)),) for below in value)
    return ArrayShape(items, (), len(items), len(items))


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
