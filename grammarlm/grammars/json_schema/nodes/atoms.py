"""Atoms: nodes are conjunctions of them, each with a sign.

    SchemaAtom      a schema at its location
    TypeAtom        all values of a type
    ListAtom        some scalars: what conjunctions leave of the values of `enum` or `const`
    UnionAtom       the union of several nodes
    ValueAtom       one value

What they admit, and what their negations do, is in shapes_of_atoms.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.read.document import Resource, Scope
from grammarlm.grammars.json_schema.read.keywords import (
    ARRAY,
    COMBINE,
    NUMBER,
    OBJECT,
    REFERENCE,
    STRING,
    TYPE,
    UNEVALUATED,
    VALUES,
)
from grammarlm.grammars.json_schema.shapes.shapes import Node

from .by_type import ByType

NOT_SCALAR = OBJECT | ARRAY | COMBINE | REFERENCE | UNEVALUATED
NOT_PLAIN = COMBINE | REFERENCE | UNEVALUATED
_KINDS = {"string": str, "boolean": bool, "null": type(None), "integer": int, "number": int}


@dataclass(eq=False, slots=True)
class SchemaAtom:
    """A schema at its location."""

    schema: dict[str, Any]
    pointer: str
    resource: Resource
    scope: Scope | None
    mask: int  # the kinds of its keywords
    listed: tuple[Any, ...] | None = None  # the values, if it only lists scalars
    holds_containers: bool = False  # lists objects or arrays

    def __post_init__(self) -> None:
        if self.mask & VALUES:
            self._list_values()

    def _list_values(self) -> None:
        schema = self.schema
        values = schema.get("enum") if "enum" in schema else [schema.get("const")]
        if not isinstance(values, list):
            return
        kinds = {value.__class__ for value in values}
        self.holds_containers = dict in kinds or list in kinds
        if self.mask & (STRING | NUMBER | NOT_SCALAR) or ("enum" in schema and "const" in schema):
            return
        named = schema["type"] if self.mask & TYPE else list(_KINDS)
        names = named if isinstance(named, list) else [named]
        allowed = {_KINDS.get(name) for name in names if name.__class__ is str}
        if kinds <= allowed and (int not in kinds or self.resource.draft != 4):  # where 1.0 and 1 are distinguished
            self.listed = tuple({(v.__class__, v): v for v in values}.values())


@dataclass(eq=False, slots=True)
class TypeAtom:
    """All values of a type."""

    of_type: ByType
    pointer: str = ""


@dataclass(eq=False, slots=True)
class ListAtom:
    """Some scalars."""

    listed: tuple[Any, ...]
    pointer: str


@dataclass(eq=False, slots=True)
class UnionAtom:
    """The union of these nodes."""

    nodes: tuple[Node, ...]
    pointer: str


@dataclass(eq=False, slots=True)
class ValueAtom:
    """One value."""

    value: Any
    pointer: str


def identity(value: Any) -> tuple[str, Any]:
    """A key, equal for equal values; objects and arrays are identified by id."""
    if value is None or isinstance(value, bool):
        return "literal", value
    if isinstance(value, str):
        return "string", value
    if isinstance(value, dict | list):
        return "container", id(value)
    return "number", value if value.__class__ is int else numbers.exact(value)
