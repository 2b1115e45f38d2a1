"""Atoms: nodes are conjunctions of them. An atom computes its shapes, and those of its negation.

    SchemaAtom      a schema at its location
    TypeAtom        all values of a type
    ListAtom        some scalars: what conjunctions leave of the values of `enum` or `const`
    UnionAtom       the union of several nodes
    ValueAtom       one value (values.py)

The result is the shapes, or a generator that yields what it needs (see normaliser.py).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.containers.values import shapes_of_others, shapes_of_values
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
from .by_type import ByType, Conjunction

if TYPE_CHECKING:
    from .normaliser import Normaliser

# Requests of a generator: (code of an atom with its sign, track what is evaluated), or a node. The answer None: not known yet.
Request = tuple[int, bool] | Conjunction
Steps = Generator[Request, Any, ByType]

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

    def shapes_by_type(self, n: Normaliser, sign: bool, track: bool) -> ByType | Steps:
        if not sign:
            return opposites.negative(n, self)
        return combine.positive(n, self, track) if self.mask & NOT_PLAIN else plain.plain(n, self, track)


@dataclass(eq=False, slots=True)
class TypeAtom:
    """All values of a type."""

    of_type: ByType
    pointer: str = ""

    def shapes_by_type(self, n: Normaliser, sign: bool, track: bool) -> ByType:
        return self.of_type if sign else opposites.not_types(self.of_type)


@dataclass(eq=False, slots=True)
class ListAtom:
    """Some scalars."""

    listed: tuple[Any, ...]
    pointer: str

    def shapes_by_type(self, n: Normaliser, sign: bool, track: bool) -> ByType:
        return shapes_of_values(n, list(self.listed), self.pointer) if sign else shapes_of_others(list(self.listed))


@dataclass(eq=False, slots=True)
class UnionAtom:
    """The union of these nodes."""

    nodes: tuple[Conjunction, ...]
    pointer: str

    def shapes_by_type(self, n: Normaliser, sign: bool, track: bool) -> Steps:
        return self._positive(n) if sign else n.none_of(self.nodes)

    def _positive(self, n: Normaliser) -> Steps:
        found: list[ByType] = []
        for node in self.nodes:
            found += [(yield from n.ask(node))]
        return n.unite(found)
