"""Can the items of an array all be different? That matters only for items from finite sets.

`prefixItems: [{enum: [1, 2]}, {const: 1}]` with uniqueItems is satisfiable, three such items are not: a bipartite matching of
positions and values is needed. A set with as many values as there are positions needs no matching: a free value always remains.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd
from typing import TYPE_CHECKING, Any

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.by_type import (
    ANY,
    ANY_ARRAY,
    ANY_OBJECT,
    ARRAYS,
    FALSE,
    NULL,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TRUE,
    Conjunction,
    LooseArray,
    LooseObject,
)
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.strings import strings

from .shapes import NumberShape, StringShape

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser

MOST_VALUES = 4_096
MOST_DEPTH = 60  # levels of nested objects and arrays that are enumerated; deeper sets count as large


def can_differ(n: Normaliser, shape: LooseArray, length: int) -> bool:
    """Are there `length` different items, each at its position?"""
    counting = _enough_that_count(n, shape)
    more = max(length - len(shape.prefix), 0)
    if more > MOST_VALUES:
        found = _of_ways(n, shape.rest, MOST_VALUES)
        if found is None:
            if _is_finite(shape.rest):
                raise UnsupportedFeature(
                    f"uniqueItems: {more} different items out of a finite set of more than {MOST_VALUES}",
                    keywords=("uniqueItems",),
                )
            return counting
        return False
    domains = []
    for i in range(min(length, len(shape.prefix))):
        found = _of_ways(n, shape.prefix[i], length)
        if found is not None:
            domains.append(found)
    if more:
        found = _of_ways(n, shape.rest, length)
        if found is not None:
            if len(found) < more:
                return False
            domains += [found] * more
    return counting and _matching(domains)


def _enough_that_count(n: Normaliser, shape: LooseArray) -> bool:
    """Are there enough different items that count for `contains`?"""
    for i, (low, _) in enumerate(shape.contains):
        if low < 2:
            continue
        ways = tuple(way for ways in (*shape.prefix, shape.rest) for way in ways if way[1] >> i & 1)
        found = _of_ways(n, ways, min(low, MOST_VALUES))
        if found is not None and len(found) < low:
            return False
    return True


def _is_finite(ways: Any) -> bool:
    """Finite as far as the outermost shapes say: bounded integers, bounded strings."""
    for node, _ in ways:
        for shape in node.by_type[NUMBERS]:
            if shape.low is None or shape.high is None or not (shape.integer or shape.multiples):
                return False
        if node.by_type[STRINGS] and any(s.maximum is None and s.values is None for s in node.by_type[STRINGS]):
            return False
        if node.by_type[OBJECTS] or node.by_type[ARRAYS]:
            return False
    return True


def _matching(domains: list[set[Any]]) -> bool:
    """Bipartite matching: one value per domain, all different (augmenting paths)."""
    holder: dict[Any, int] = {}  # value -> domain
    held: dict[int, Any] = {}
    for start in range(len(domains)):
        wanted_by: dict[Any, int] = {}
        queue, free = [start], None
        while queue and free is None:
            domain = queue.pop()
            for value in domains[domain]:
                if value in wanted_by:
                    continue
                wanted_by[value] = domain
                if value not in holder:
                    free = value
                    break
                queue.append(holder[value])
        if free is None:
            return False
        moved: Any = free
        while moved is not None:
            domain = wanted_by[moved]
            given_up = held.get(domain)
            holder[moved], held[domain] = domain, moved
            moved = given_up
    return True


def _of_ways(n: Normaliser, ways: Any, enough: int) -> set[Any] | None:
    found: set[Any] = set()
    for node, _ in ways:
        more = values_of(n, node, enough)
        if more is None:
            return None
        found |= more
        if len(found) >= enough:
            return None
    return found


def values_of(n: Normaliser, node: Conjunction, enough: int, depth: int = 0) -> set[Any] | None:
    """The values of a node in canonical form; None where there are `enough` or more."""
    if node.is_anything or depth > MOST_DEPTH:
        return None
    by_type = node.by_type or ANY
    found: set[Any] = {("literal", t) for t in (NULL, TRUE, FALSE) if by_type[t]}
    for t, of_shape in _OF_SHAPE.items():
        for shape in by_type[t]:
            more = of_shape(n, shape, enough, depth)
            if more is None:
                return None
            found |= more
    return None if len(found) >= enough else found


def _strings(n: Normaliser, shape: StringShape, enough: int, depth: int) -> set[Any] | None:
    if shape.values is not None:
        return {("string", v) for v in shape.values} if len(shape.values) < enough else None
    if n.languages.count(shape.language, shape.minimum, shape.maximum, enough) >= enough:
        return None
    found = set()
    for text in n.languages.words(shape.language, shape.maximum):
        n.tick()
        if strings.has(shape, text, n.languages):
            found.add(("string", text))
    return found


def _numbers(n: Normaliser, shape: NumberShape, enough: int, depth: int) -> set[Any] | None:
    low, high = shape.low, shape.high
    if low is not None and low == high:
        return {("number", low)}
    steps = [*shape.multiples, *([Fraction(1)] if shape.integer else [])]
    if low is None or high is None or not steps:
        return None
    step = steps[0]
    for other in steps[1:]:  # the least common multiple
        step = Fraction(
            step.numerator * other.numerator // gcd(step.numerator, other.numerator),
            gcd(step.denominator, other.denominator),
        )
    first, last = ceil(low / step), floor(high / step)
    if last - first > enough + 2 and not shape.not_multiples:
        return None
    if last - first > MOST_VALUES * 4:
        return None
    candidates = (k * step for k in range(first, last + 1))
    found = {("number", value) for value in candidates if numbers.has(shape, value)}
    return found if len(found) < enough else None


def _objects(n: Normaliser, shape: LooseObject, enough: int, depth: int) -> set[Any] | None:
    if shape is ANY_OBJECT or any(node.satisfiable for _, node in shape.others):
        return None
    choices = []
    size = 1
    for name, node in shape.properties.items():
        if not node.satisfiable:
            continue
        values = values_of(n, node, enough, depth + 1)
        if values is None:
            return None
        choices.append([(name, v) for v in sorted(values, key=repr)] + ([] if name in shape.required else [None]))
        size *= len(choices[-1])
        if size > MOST_VALUES * 4:
            return None
    found = set()
    for picked in product(*choices):
        entries = frozenset(p for p in picked if p is not None)
        names = {name for name, _ in entries}
        if len(names) < shape.minimum or (shape.maximum is not None and len(names) > shape.maximum):
            continue
        if all(needed <= names for name, needed in shape.implied.items() if name in names):
            found.add(("object", entries))
    return found if len(found) < enough else None


def _arrays(n: Normaliser, shape: LooseArray, enough: int, depth: int) -> set[Any] | None:
    if shape is ANY_ARRAY:
        return None
    longest = shape.maximum
    if longest is None and any(node.satisfiable for node, _ in shape.rest):
        if not shape.unique:
            return None
        rest = _of_items(n, shape.rest, enough, depth)
        if rest is None:
            return None
        longest = len(shape.prefix) + len(rest)
    if longest is None:
        longest = len(shape.prefix)
    if longest > MOST_VALUES:
        return None
    # By position: the items so far, and the number that counts for each `contains`.
    states: set[tuple[tuple[Any, ...], tuple[int, ...]]] = {((), (0,) * len(shape.contains))}
    found: set[Any] = set()
    for length in range(longest + 1):
        if length >= shape.minimum:
            for items, counts in states:
                if all(
                    low <= c and (high is None or c <= high)
                    for c, (low, high) in zip(counts, shape.contains, strict=True)
                ):
                    found.add(("array", items))
            if len(found) >= enough:
                return None
        states = _longer(n, shape, length, states, enough, depth)
        if not states:
            break
        if len(states) > MOST_VALUES:
            return None
    return found


def _longer(n: Normaliser, shape: LooseArray, length: int, states: Any, enough: int, depth: int) -> Any:
    longer = set()
    for node, bits in shape.ways(length):
        values = values_of(n, node, max(enough, MOST_VALUES), depth + 1) if node.satisfiable else set()
        if values is None:
            return {(("many", i), (0,)) for i in range(MOST_VALUES + 1)}
        for items, counts in states:
            for value in values:
                if not shape.unique or value not in items:
                    longer.add(((*items, value), tuple(c + (bits >> i & 1) for i, c in enumerate(counts))))
    return longer


def _of_items(n: Normaliser, ways: Any, enough: int, depth: int) -> set[Any] | None:
    found: set[Any] = set()
    for node, _ in ways:
        if node.satisfiable:
            more = values_of(n, node, max(enough, MOST_VALUES), depth + 1)
            if more is None:
                return None
            found |= more
    return found


_OF_SHAPE: dict[int, Callable[[Normaliser, Any, int, int], set[Any] | None]] = {
    STRINGS: _strings,
    NUMBERS: _numbers,
    OBJECTS: _objects,
    ARRAYS: _arrays,
}
