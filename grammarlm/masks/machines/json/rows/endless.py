"""Nodes that have no last value: whatever items came, another one can.

An array whose items must differ, and may be objects or arrays, needs that at each position where positions differ, and in each way
where `contains` counts: otherwise whether enough are left for those that must come is a matching of positions and values.
"""

from __future__ import annotations

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.numbers.plans import count
from grammarlm.grammars.json_schema.shapes.shapes import (
    ArrayShape,
    Item,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)
from grammarlm.masks.machines.json.languages import SchemaLanguages

UNIQUE = ("uniqueItems",)
LARGE = 4096  # values that are never used up


class EndlessNodes:
    """What is known of the nodes of one program."""

    def __init__(self, texts: SchemaLanguages):
        self._texts = texts
        self._known: dict[int, tuple[Node, bool]] = {}  # by id of a node, which is kept so that no other gets it

    def check(self, shape: ArrayShape, node: Node) -> None:
        """Refuses an array of items that must differ where it is not decided whether enough of them are left."""
        if not shape.prefix and not shape.contains:
            return
        positions = [ways for ways in (*shape.prefix, shape.rest) if ways]
        if shape.contains and not all(self.has(way.node) for ways in positions for way in ways):
            what = "and `contains`, where items that are objects or arrays have few values"
        elif not all(self._any(ways) for ways in positions):
            what = "of positions that have few values each, where items may be objects or arrays"
        else:
            return
        raise UnsupportedFeature(f"uniqueItems {what}", pointer=node.pointer, keywords=UNIQUE)

    def _any(self, ways: tuple[Item, ...]) -> bool:
        return any(self.has(way.node) for way in ways)

    def has(self, node: Node) -> bool:
        """Has the node certainly no last value?"""
        if node.is_anything:
            return True
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = node, False  # a node within itself adds nothing
            known = self._known[id(node)] = node, any(map(self._is_endless, node.alternatives))
        return known[1]

    def _is_endless(self, shape: Shape) -> bool:
        if isinstance(shape, Literal):
            return False
        if isinstance(shape, StringShape):
            return (
                shape.values is None
                and self._texts.languages.count(shape.language, shape.minimum, shape.maximum, LARGE) >= LARGE
            )
        if isinstance(shape, NumberShape):
            return count(shape, LARGE) >= LARGE
        if isinstance(shape, ObjectShape):
            return self._is_endless_object(shape)
        if shape.maximum is None and shape.rest and not shape.unique:
            return True
        ways = shape.prefix if shape.maximum is None else shape.prefix[: shape.maximum]
        return any(map(self._any, ways)) or bool(shape.rest and shape.maximum != 0 and self._any(shape.rest))

    def _is_endless_object(self, shape: ObjectShape) -> bool:
        if shape.maximum is None or shape.maximum > len(shape.required):
            for language, _ in shape.others:
                if self._texts.languages.count(language, 0, None, LARGE) >= LARGE:
                    return True
            if any(self.has(node) for node in shape.properties.values()):
                return True
        return any(self.has(shape.properties[name]) for name in shape.required)
