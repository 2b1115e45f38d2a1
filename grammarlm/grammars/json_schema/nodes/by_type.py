"""Shapes by type, which the shapes of a node are until they are final.

The **shapes by type** of a node are seven lists, one for each of null, true, false, strings, numbers, objects, arrays: a value
belongs to the node iff a shape of its type admits it. A conjunction multiplies lists type by type, a disjunction concatenates them.
The lists `ANY[type]` (one unrestricted shape) are recognised by identity, so that schemas without constraints cost nothing.

The **key** of a node is the set of its atoms as integers: 2 i for "in atom i" and 2 i + 1 for "not in atom i".
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from grammarlm.grammars.json_schema.shapes.shapes import (
    ANYTHING,
    ArrayShape,
    Evaluated,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    StringShape,
)

NULL, TRUE, FALSE, STRINGS, NUMBERS, OBJECTS, ARRAYS = range(7)
TYPES = range(7)

ByType = Sequence[list[Any]]

# Shapes that depend on others' come from a generator. It yields what it needs: (code of an atom with its sign, track what is
# evaluated), or a node; the answer None: not known yet.
Request = tuple[int, bool] | Node
Steps = Generator[Request, Any, ByType]
Shapes = Generator[Request, Any, list[Any]]  # of one type

NOTHING = Node(key=frozenset([-1]))


def both_evaluated(a: Evaluated | None, b: Evaluated | None) -> Evaluated | None:
    if a is None or b is None:
        return a or b
    return a.with_(b)


ANY_OBJECT = ObjectShape()
ANY_ARRAY = ArrayShape()

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


def _finish(node: Node, by_type: ByType) -> Node:
    node.by_type = by_type
    node.satisfiable = any(by_type)
    node.seen = node.kept = True  # all schemas share it: not visited again
    node.alternatives = tuple([s for shapes in by_type for s in shapes])
    return node


_finish(ANYTHING, ANY)
_finish(NOTHING, NONE)
# The first atoms of every schema are the types; the last is draft 4's integer.
SHAPES_OF_TYPES = [*OF_TYPE.values(), OF_TYPE_4["integer"]]
_nodes = [_finish(Node(key=frozenset([2 * i])), by_type) for i, by_type in enumerate(SHAPES_OF_TYPES)]
TYPE_NODES = dict(zip(OF_TYPE, _nodes, strict=False))
TYPE_NODES_4 = {**TYPE_NODES, "integer": _nodes[-1]}


def is_anything(by_type: ByType) -> bool:
    return all(a is b for a, b in zip(by_type, ANY, strict=True))


def one_type(t: int, shapes: list[Any]) -> ByType:
    """These shapes, and nothing of another type."""
    by_type = [EMPTY] * 7
    by_type[t] = shapes
    return by_type
