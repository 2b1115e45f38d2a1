"""Data structures of normalising: nodes with their atoms, and unfinished shapes.

The **shapes by type** of a node are seven lists, one for each of null, true, false, strings, numbers, objects, arrays: a value
belongs to the node iff a shape of its type admits it. A conjunction multiplies lists type by type, a disjunction concatenates them.
The lists `ANY[type]` (one unrestricted shape) are recognised by identity, so that schemas without constraints cost nothing.

The **key** of a node is the set of its atoms as integers: 2 i for "in atom i" and 2 i + 1 for "not in atom i".
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from grammarlm.grammars.json_schema.shapes.shapes import (
    EVERY_STRING,
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

NULL, TRUE, FALSE, STRINGS, NUMBERS, OBJECTS, ARRAYS = range(7)
TYPES = range(7)

ByType = Sequence[list[Any]]
# A constraint that a shape cannot express, and the pointer of its keyword: the schema is refused if a value can reach the shape.
Refusal = tuple[str, str]


class Conjunction(Node):
    """A node with its key and its shapes."""

    __slots__ = ("by_type", "kept", "key", "satisfiable", "seen")

    def __init__(self, key: frozenset[int], pointer: str = ""):
        self.alternatives = ()
        self.is_anything = False
        self.pointer = pointer
        self.key = key
        self.by_type: ByType | None = None
        self.satisfiable = False  # certainly not empty
        self.seen = False  # reached in the traversal from the root
        self.kept = False  # can occur below the root

    def __repr__(self) -> str:
        return f"<node {self.pointer or '#'} {sorted(self.key)}>"


Ways = tuple[tuple[Conjunction, int], ...]

# Shapes that depend on others' come from a generator. It yields what it needs: (code of an atom with its sign, track what is
# evaluated), or a node; the answer None: not known yet.
Request = tuple[int, bool] | Conjunction
Steps = Generator[Request, Any, ByType]
Shapes = Generator[Request, Any, list[Any]]  # of one type

ANYTHING = Conjunction(frozenset())
ANYTHING.is_anything = True
NOTHING = Conjunction(frozenset([-1]))
ANY_OTHERS: tuple[tuple[Language, Conjunction], ...] = ((EVERY_STRING, ANYTHING),)
ANY_ITEM: Ways = ((ANYTHING, 0),)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The keys or items that the applicators of an alternative have evaluated, for unevaluatedProperties and unevaluatedItems."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    everything: bool = False
    prefix: int = 0  # the first `prefix` items
    nodes: frozenset[Conjunction] = frozenset()  # and the items that belong to one of these

    def with_(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            self.everything or other.everything,
            max(self.prefix, other.prefix),
            self.nodes | other.nodes,
        )

    def covers(self, other: Evaluated) -> bool:
        return self.everything or (
            not other.everything
            and self.names >= other.names
            and self.patterns >= other.patterns
            and self.prefix >= other.prefix
            and self.nodes >= other.nodes
        )


@dataclass(eq=False, slots=True)
class LooseObject:
    """Objects, before impossible keys are removed; fields as in ObjectShape."""

    properties: dict[str, Conjunction] = field(default_factory=dict)
    others: tuple[tuple[Language, Conjunction], ...] = ANY_OTHERS
    required: frozenset[str] = frozenset()
    minimum: int = 0
    maximum: int | None = None
    implied: dict[str, frozenset[str]] = field(default_factory=dict)
    tail: frozenset[str] = frozenset()  # properties that are not declared, only mentioned: they come last
    # Obligations: a key in the language, with a value of the node, must occur (and the pointer of the keyword that requires it).
    some: tuple[tuple[Language, Conjunction, str], ...] = ()
    obligations: tuple[tuple[int, Conjunction, Conjunction], ...] = ()  # as ObjectShape's; once the shapes are final
    evaluated: Evaluated | None = None
    refusal: Refusal | None = None


@dataclass(eq=False, slots=True)
class LooseArray:
    """Arrays, likewise; fields as in ArrayShape. A way to read an item is (node, bits of the contains it counts for)."""

    prefix: tuple[Ways, ...] = ()
    rest: Ways = ANY_ITEM
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[tuple[int, int | None], ...] = ()
    unique: bool = False
    evaluated: Evaluated | None = None
    refusal: Refusal | None = None

    def ways(self, position: int) -> Ways:
        return self.prefix[position] if position < len(self.prefix) else self.rest


def both_evaluated(a: Evaluated | None, b: Evaluated | None) -> Evaluated | None:
    if a is None or b is None:
        return a or b
    return a.with_(b)


ANY_OBJECT = LooseObject()
ANY_ARRAY = LooseArray()
OBJECT_SHAPE = ObjectShape(others=((EVERY_STRING, ANYTHING),))
ARRAY_SHAPE = ArrayShape(rest=(Item(ANYTHING),))

EMPTY: list[Any] = []
ANY: ByType = (
    [Literal("null")],
    [Literal("true")],
    [Literal("false")],
    [StringShape()],
    [NumberShape()],
    [ANY_OBJECT],
    [ANY_ARRAY],
)
NONE: ByType = (EMPTY,) * 7
INTEGERS, PLAIN_INTEGERS = [NumberShape(integer=True)], [NumberShape(integer=True, plain=True)]


def _only(*types: int, numbers: list[Any] | None = None) -> ByType:
    return tuple((numbers or ANY[t]) if t in types else EMPTY for t in TYPES)


# The shapes of each `type`. In draft 4 an integer has no other spelling.
OF_TYPE: dict[str, ByType] = {
    "null": _only(NULL),
    "boolean": _only(TRUE, FALSE),
    "string": _only(STRINGS),
    "number": _only(NUMBERS),
    "integer": _only(NUMBERS, numbers=INTEGERS),
    "object": _only(OBJECTS),
    "array": _only(ARRAYS),
}
OF_TYPE_4 = {**OF_TYPE, "integer": _only(NUMBERS, numbers=PLAIN_INTEGERS)}


def _finish(node: Conjunction, by_type: ByType) -> Conjunction:
    node.by_type = by_type
    node.satisfiable = any(by_type)
    node.seen = node.kept = True  # all schemas share it: not visited again
    shapes: list[Any] = [s for shapes in by_type for s in shapes]
    loose: dict[int, Shape] = {id(ANY_OBJECT): OBJECT_SHAPE, id(ANY_ARRAY): ARRAY_SHAPE}
    node.alternatives = tuple(loose.get(id(s), s) for s in shapes)
    return node


_finish(ANYTHING, ANY)
_finish(NOTHING, NONE)
# The first atoms of every schema are the types; the last is draft 4's integer.
SHAPES_OF_TYPES = [*OF_TYPE.values(), OF_TYPE_4["integer"]]
_nodes = [_finish(Conjunction(frozenset([2 * i])), by_type) for i, by_type in enumerate(SHAPES_OF_TYPES)]
TYPE_NODES = dict(zip(OF_TYPE, _nodes, strict=False))
TYPE_NODES_4 = {**TYPE_NODES, "integer": _nodes[-1]}


def is_anything(by_type: ByType) -> bool:
    return all(a is b for a, b in zip(by_type, ANY, strict=True))


def one_type(t: int, shapes: list[Any]) -> ByType:
    """These shapes, and nothing of another type."""
    by_type = [EMPTY] * 7
    by_type[t] = shapes
    return by_type
