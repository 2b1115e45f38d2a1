"""Arrays as rows: for each position the nodes of its items, how many items `contains` wants, and whether all must differ.

Items that must differ are compared by the kernel where they are scalars (kernels/cpu/json/step/unique.py): here their nodes are
changed so that it can, or refused. Objects and arrays are compared by trackers (distinct/): their arrays are noted in `tracked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.containers.keys import language_of
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.numbers.plans import count, values
from grammarlm.grammars.json_schema.shapes.shapes import (
    ArrayShape,
    Item,
    Language,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)
from grammarlm.grammars.json_schema.strings.strings import is_text
from grammarlm.masks.machines.json.languages import SchemaLanguages

from .free_items import UNIQUE, FreeItems
from .nodes import NodeRows
from .numbers import NumberRows
from .template import bound

MOST_ITEMS = 4096
FEW_NUMBERS = 64  # values of a number shape that become separate shapes, where items must differ
EVERYTHING = Node(is_anything=True)
ANY_TEXT: Language = frozenset(
    [("pattern", "", True)]
)  # changes nothing, but the language is then no longer one of the shared automata


class ArrayRows:
    """The arrays of one program."""

    def __init__(self, rows: list[int], texts: SchemaLanguages, nodes: NodeRows, numbers: NumberRows):
        self._rows, self._texts, self._nodes, self._numbers = rows, texts, nodes, numbers
        self._comparable: dict[int, tuple[Node, Node]] = {}  # by id of a node: the node, and the one in its place
        self._free = FreeItems(texts)
        self.tracked: set[int] = (
            set()
        )  # rows of arrays whose items that are objects or arrays must differ: see distinct/

    def row(self, shape: ArrayShape, node: Node) -> int:
        unique = shape.unique and (shape.maximum is None or shape.maximum > 1)  # a single item differs from all others
        is_tracked = unique and any(map(_is_composite, _kinds(shape)))
        if is_tracked:
            self._free.check(shape, node)
            # The kernel compares the others.
            unique = any(kind is EVERYTHING or not _is_composite(kind) for kind in _kinds(shape))
        if unique:
            positions = [
                tuple([Item(self._comparable_node(way.node), way.counts) for way in ways])
                for ways in (*shape.prefix, shape.rest)
            ]
            shape = replace(shape, prefix=tuple(positions[:-1]), rest=positions[-1])
        if len(shape.contains) > 1:
            free = shape.maximum is None and all(most is None for _, most in shape.contains)
            counts = [way.counts for way in shape.rest if way.node.alternatives or way.node.is_anything]
            reachable = all(any(c >> k & 1 for c in counts) for k in range(len(shape.contains)))
            if not (free and reachable) or len(shape.contains) > 3:
                raise UnsupportedFeature(
                    "several `contains` that limit each other", pointer=node.pointer, keywords=("contains",)
                )
        ways_at = []
        for ways in (*shape.prefix, shape.rest):
            rows = [(self._nodes.row(way.node), way.counts) for way in ways]
            rows = [row for row in rows if row[0] >= 0]
            ways_at.append(len(self._rows))
            self._rows += [len(rows), *(word for pair in rows for word in pair)]
        items = len(self._rows)
        self._rows += ways_at
        bounds = len(self._rows)
        for least, most in shape.contains:
            if max(least, most or 0) >= 1 << 15:
                raise UnsupportedFeature(
                    "contains with bounds of 32,768 items or more",
                    pointer=node.pointer,
                    keywords=("minContains", "maxContains"),
                )
            self._rows += [least, -1 if most is None else most]
        at = len(self._rows)
        most_items = bound(shape.maximum)
        if unique:
            most_items = _least(most_items, _distinct(shape, node))
        self._rows += [
            len(shape.prefix),
            items,
            bound(shape.minimum),
            most_items,
            len(shape.contains),
            bounds,
            int(unique),
        ]
        if is_tracked:
            self.tracked.add(at)
        return at

    def _comparable_node(self, node: Node) -> Node:
        """The node for items that must differ: its strings listed where they are few, and lengths made part of the
        language where there is one, so that the kernel can count the strings accepted from a state."""
        known = self._comparable.get(id(node))
        if known is None:
            shapes: list[Shape] = []
            for shape in node.alternatives:
                if isinstance(shape, NumberShape):
                    shapes += self._comparable_numbers(shape, node)
                else:
                    shapes.append(self._comparable_string(shape) if isinstance(shape, StringShape) else shape)
            is_same = shapes == list(node.alternatives)
            known = node, node if is_same else Node(tuple(shapes), False, node.pointer)
            self._comparable[id(node)] = known
        return known[1]

    def _comparable_numbers(self, shape: NumberShape, node: Node) -> list[NumberShape]:
        """Few numbers become separate shapes. Others must be many of each sign: otherwise `0.00` may be the prefix of
        no new number, and only a search through all spellings could decide that."""
        few = values(shape, FEW_NUMBERS)
        if few is not None:
            points = [NumberShape(v, False, v, False, integer=shape.integer, plain=shape.plain) for v in few]
            self._numbers.compare(points)
            return points
        for side in (NumberShape(low=Fraction(0), low_open=True), NumberShape(high=Fraction(0), high_open=True)):
            if 0 < count(numbers.both(shape, side), MOST_ITEMS) < MOST_ITEMS:
                raise UnsupportedFeature(
                    f"uniqueItems where items are numbers, between {FEW_NUMBERS} and {MOST_ITEMS:,} of a sign",
                    pointer=node.pointer,
                    keywords=UNIQUE,
                )
        return [shape]

    def _comparable_string(self, shape: StringShape) -> StringShape:
        if shape.values is not None or (not shape.language and shape.maximum is None):
            return shape
        if not shape.language and shape.maximum != 0:
            return shape  # more than a million characters
        if self._texts.languages.count(shape.language, shape.minimum, shape.maximum, MOST_ITEMS) < MOST_ITEMS:
            language = language_of(shape)
            return StringShape(values=tuple(self._texts.languages.words(language)))
        return StringShape(language=language_of(shape) | ANY_TEXT)


def _is_composite(kind: object) -> bool:
    """Does the kernel not compare it (kernels/cpu/json/step/unique.py)? Values of all types are both."""
    return isinstance(kind, (ObjectShape, ArrayShape)) or kind is EVERYTHING


def _distinct(shape: ArrayShape, node: Node) -> int:
    """How many different items there can be, where that is finite and exact; -1: unlimited."""
    positions = [list(_kinds_of(ways)) for ways in (*shape.prefix, shape.rest)]
    if all(any(map(_is_large, kinds)) for kinds in positions if kinds):
        return -1
    if shape.prefix:
        raise UnsupportedFeature(
            "uniqueItems of positions that have few values each", pointer=node.pointer, keywords=UNIQUE
        )
    found: set[object] = set()
    for kind in positions[0]:
        if isinstance(kind, Literal):
            found.add((kind.text,))  # a tuple, so that null is not "null"
        elif isinstance(kind, StringShape):
            found.update([value for value in kind.values or () if is_text(value)])
        elif isinstance(kind, NumberShape):
            found.update(values(kind, MOST_ITEMS) or ())
    return len(found)


def _kinds(shape: ArrayShape) -> Iterator[object]:
    """What the items of an array can be."""
    for ways in (*shape.prefix, shape.rest):
        yield from _kinds_of(ways)


def _kinds_of(ways: tuple[Item, ...]) -> Iterator[object]:
    for way in ways:
        if way.node.is_anything:
            yield EVERYTHING
        yield from way.node.alternatives


def _is_large(kind: object) -> bool:
    """More values than can be used up? Strings of a language that has few have been listed."""
    if isinstance(kind, NumberShape):
        return count(kind, MOST_ITEMS) >= MOST_ITEMS
    return not isinstance(kind, Literal) and (not isinstance(kind, StringShape) or kind.values is None)


def _least(one: int, other: int) -> int:
    """The smaller of two bounds; -1 is none."""
    return max(one, other) if min(one, other) < 0 else min(one, other)
