"""Can the items of an array all be different? That matters only for items from finite sets.

Objects and arrays, and positions of `prefixItems`, are taken for many values: where they are few, uniqueItems is refused when the
array becomes a row (masks/machines/json/rows/arrays.py, free_items.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.by_type import ANY, ARRAYS, FALSE, NULL, NUMBERS, OBJECTS, STRINGS, TRUE
from grammarlm.grammars.json_schema.numbers.plans import values
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.languages import Languages

from .shapes import ArrayShape, Node, StringShape

MOST_VALUES = 4_096


class Differing:
    """Asks whether items can differ. `holds_containers` says of a node whether it has an object or an array."""

    def __init__(self, languages: Languages, holds_containers: Callable[[Node], bool]):
        self._languages, self._holds_containers = languages, holds_containers

    def can(self, shape: ArrayShape, length: int) -> bool:
        """Are there `length` different items?"""
        counting = self._enough_that_count(shape)
        more = max(length - len(shape.prefix), 0)
        if more > MOST_VALUES:
            if self._of_ways(shape.rest, MOST_VALUES) is not None:
                return False
            if _is_finite(shape.rest):
                raise UnsupportedFeature(
                    f"uniqueItems: {more} different items out of a finite set of more than {MOST_VALUES}",
                    keywords=("uniqueItems",),
                )
        found = self._of_ways(shape.rest, length) if more else None
        return counting and (found is None or len(found) >= more)

    def _enough_that_count(self, shape: ArrayShape) -> bool:
        """Are there enough different items that count for `contains`?"""
        for i, (low, _) in enumerate(shape.contains):
            if low < 2:
                continue
            ways = tuple(way for ways in (*shape.prefix, shape.rest) for way in ways if way[1] >> i & 1)
            found = self._of_ways(ways, min(low, MOST_VALUES))
            if found is not None and len(found) < low:
                return False
        return True

    def _of_ways(self, ways: Any, enough: int) -> set[Any] | None:
        """The values of an item; None where there are `enough` or more."""
        found: set[Any] = set()
        for node, _ in ways:
            more = self._of_node(node, enough)
            if more is None:
                return None
            found |= more
            if len(found) >= enough:
                return None
        return found

    def _of_node(self, node: Node, enough: int) -> set[Any] | None:
        if node.is_anything or self._holds_containers(node):
            return None
        by_type = node.by_type or ANY
        found: set[Any] = {("literal", t) for t in (NULL, TRUE, FALSE) if by_type[t]}
        for shape in by_type[STRINGS]:
            words = self._words(shape, enough)
            if words is None:
                return None
            found |= {("string", word) for word in words}
        for shape in by_type[NUMBERS]:
            numbers = values(shape, enough)
            if numbers is None:
                return None
            found |= {("number", number) for number in numbers}
        return found

    def _words(self, shape: StringShape, enough: int) -> Iterable[str] | None:
        if shape.values is not None:
            return shape.values
        if self._languages.count(shape.language, shape.minimum, shape.maximum, enough) >= enough:
            return None
        words = self._languages.words(shape.language, shape.maximum)
        return [word for word in words if strings.has(shape, word, self._languages)]


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
