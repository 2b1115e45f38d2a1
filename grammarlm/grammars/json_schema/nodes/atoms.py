"""Atoms: nodes are conjunctions of them. An atom computes its parts, and those of its negation.

    SchemaAtom      a schema at its place
    TypeAtom        all values of a type
    ListAtom        some scalars: what conjunctions leave of the values of `enum` or `const`
    UnionAtom       the union of several nodes
    ValueAtom       one value (values.py)

The result is the parts, or a generator that yields what it needs (see normaliser.py).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.containers.values import literal_parts, parts_of_values
from grammarlm.grammars.json_schema.read import plain
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

from . import combine, opposites
from .parts import ANY, Conjunction, Parts

if TYPE_CHECKING:
    from .normaliser import Normaliser

# Requests of a generator: (code of an atom with its sign, track what is evaluated), or a node. The answer None: not known yet.
Request = tuple[int, bool] | Conjunction
Steps = Generator[Request, Any, Parts]

NOT_SCALAR = OBJECT | ARRAY | COMBINE | REFERENCE | UNEVALUATED
NOT_PLAIN = COMBINE | REFERENCE | UNEVALUATED
_KINDS = {"string": str, "boolean": bool, "null": type(None), "integer": int, "number": int}


class SchemaAtom:
    """A schema at its place."""

    __slots__ = ("holds_places", "listed", "mask", "pointer", "resource", "schema", "scope")

    def __init__(self, schema: dict[str, Any], pointer: str, resource: Resource, scope: Scope | None, mask: int):
        self.schema = schema
        self.pointer = pointer
        self.resource = resource
        self.scope = scope
        self.mask = mask  # the kinds of its keywords
        self.listed: tuple[Any, ...] | None = None  # the values, if it only lists scalars
        self.holds_places = False  # lists objects or arrays
        if mask & VALUES:
            self._list_values()

    def _list_values(self) -> None:
        schema = self.schema
        values = schema.get("enum") if "enum" in schema else [schema.get("const")]
        if not isinstance(values, list):
            return
        kinds = {value.__class__ for value in values}
        self.holds_places = dict in kinds or list in kinds
        if self.mask & (STRING | NUMBER | NOT_SCALAR) or ("enum" in schema and "const" in schema):
            return
        named = schema["type"] if self.mask & TYPE else list(_KINDS)
        names = named if isinstance(named, list) else [named]
        allowed = {_KINDS.get(name) for name in names if name.__class__ is str}
        if kinds <= allowed and (int not in kinds or self.resource.draft != 4):  # where 1.0 and 1 are distinguished
            self.listed = tuple({(v.__class__, v): v for v in values}.values())

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Parts | Steps:
        if not sign:
            return opposites.negative(n, self)
        return combine.positive(n, self, track) if self.mask & NOT_PLAIN else plain.plain(n, self, track)


class TypeAtom:
    """All values of a type."""

    __slots__ = ("of_type", "pointer")

    def __init__(self, of_type: Parts):
        self.of_type = of_type
        self.pointer = ""

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Parts:
        return self.of_type if sign else opposites.not_types(self.of_type)


class ListAtom:
    """Some scalars."""

    __slots__ = ("listed", "pointer")

    def __init__(self, values: tuple[Any, ...], pointer: str):
        self.listed = values
        self.pointer = pointer

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Parts:
        return parts_of_values(n, list(self.listed), self.pointer) if sign else literal_parts(list(self.listed))


class UnionAtom:
    """The union of these nodes."""

    __slots__ = ("nodes", "pointer")

    def __init__(self, nodes: tuple[Conjunction, ...], pointer: str):
        self.nodes = nodes
        self.pointer = pointer

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Steps:
        return self._positive(n) if sign else self._negative(n)

    def _positive(self, n: Normaliser) -> Steps:
        found: list[Parts] = []
        for node in self.nodes:
            found += [(yield from n.ask(node))]
        return n.unite(found)

    def _negative(self, n: Normaliser) -> Steps:
        parts = ANY
        for node in self.nodes:
            parts = yield from n.met_with(parts, (yield from n.ask(n.nodes.negate(node))))
        return parts
