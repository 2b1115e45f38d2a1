"""Items that must differ and may be objects or arrays: each of these must be free.

An object or array is **free** where something more can always come, of which there is no end: another key without an entry, another
item. Whatever has been read of it, it can still become one that differs from any number of others. So only the bracket that closes
a repeated item has to be refused, and no search for another end is needed. What is not free is refused by name.
"""

from __future__ import annotations

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.numbers.plans import count
from grammarlm.grammars.json_schema.shapes.shapes import (
    ArrayShape,
    Language,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)
from grammarlm.masks.machines.json.languages import SchemaLanguages

UNIQUE = ("uniqueItems",)
LARGE = 4096  # values of scalars that are never used up


class FreeItems:
    """What is known of the nodes of one program."""

    def __init__(self, texts: SchemaLanguages):
        self._texts = texts
        self._known: dict[int, tuple[Node, bool]] = {}  # by id of a node, which is kept so that no other gets it

    def check(self, shape: ArrayShape, node: Node) -> None:
        """Refuses an array of items that must differ where it is not decided whether another one is left."""
        positions = [ways for ways in (*shape.prefix, shape.rest) if ways]
        kinds = [kind for ways in positions for way in ways for kind in way.node.alternatives]
        if not all(self._is_free(kind) for kind in kinds if isinstance(kind, (ObjectShape, ArrayShape))):
            what = (
                "of objects or arrays that are closed (an object without endless other keys, an array of at most so many items, or "
                "with contains); allow other keys (additionalProperties), or leave out uniqueItems here"
            )
        elif shape.contains and not all(self._is_endless(way.node) for ways in positions for way in ways):
            what = "and contains, where items may be objects or arrays, and others have few values"
        else:
            return
        raise UnsupportedFeature(f"uniqueItems {what}", pointer=node.pointer, keywords=UNIQUE)

    def _is_endless(self, node: Node) -> bool:
        """Is there always another value of the node?"""
        if node.is_anything:
            return True
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = node, False  # a node within itself adds nothing
            known = self._known[id(node)] = node, any(map(self._has_more, node.alternatives))
        return known[1]

    def _has_more(self, shape: Shape) -> bool:
        if isinstance(shape, StringShape):
            counted = self._texts.languages.count
            return shape.values is None and counted(shape.language, shape.minimum, shape.maximum, LARGE) >= LARGE
        if isinstance(shape, NumberShape):
            return count(shape, LARGE) >= LARGE
        return not isinstance(shape, Literal) and self._is_free(shape)

    def _is_free(self, shape: ObjectShape | ArrayShape) -> bool:
        if shape.maximum is not None:
            return False
        if isinstance(shape, ObjectShape):
            return any(
                node.alternatives or node.is_anything for language, node in shape.others if self._has_no_last(language)
            )
        if shape.contains or not shape.rest:
            return False
        return not shape.unique or any(self._is_endless(way.node) for way in shape.rest)

    def _has_no_last(self, language: Language) -> bool:
        languages = self._texts.languages
        return not language or languages.is_endless(languages.term(language))
