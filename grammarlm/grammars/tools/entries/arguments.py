"""The arguments of a tool one by one, read from its schema: what each may be, by JSON type.

    Arguments.of(JsonSchema({"properties": {"city": {"type": "string"}}, "additionalProperties": False}), "tool 'look'")

Where arguments are written as entries, each value is written by itself, so the schema of the arguments must be a plain object:
`type`, `properties`, `required` and `additionalProperties`, or a reference to such a one. Other keywords are refused by name; below
the properties all keywords may stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from grammarlm.errors import GrammarError, UnsupportedFeature, brief
from grammarlm.grammars.json_schema.nodes.normalise import normalise
from grammarlm.grammars.json_schema.read.document import Document, escape
from grammarlm.grammars.json_schema.read.keywords import IDENTITY, bits_of
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.shapes import shapes
from grammarlm.grammars.json_schema.strings.languages import Languages

from .raw_strings import RawStrings

TYPES = ("string", "number", "boolean", "null", "object", "array")
OF_SHAPES = {
    shapes.StringShape: "string",
    shapes.NumberShape: "number",
    shapes.ObjectShape: "object",
    shapes.ArrayShape: "array",
}
READ = frozenset(["type", "properties", "required", "additionalProperties"])
KEYWORDS = frozenset(word for word, bits in bits_of(9999, True, True).items() if bits & ~IDENTITY)
WHOLE = "tool:/arguments"  # the address of a tool's whole schema, for references from its parts


@dataclass(frozen=True)
class Value:
    """The values of one argument."""

    schema: JsonSchema
    tool: str  # for messages
    pointer: str  # in the tool's schema

    @cached_property
    def alternatives(self) -> tuple[shapes.Shape, ...]:
        schema = self.schema
        try:
            found = normalise(
                schema.document(),
                languages=Languages(),
                formats=schema.formats,
                registry=schema.registry,
                draft=schema.draft,
                integers=schema.integers,
            )
        except GrammarError as error:
            message = str(error).removeprefix(f"{error.pointer or '#'}: ")
            place = f"{self.pointer}{error.pointer or ''}"
            raise type(error)(f"{self.tool}: {place or '#'}: {message}", pointer=place) from None
        return found.root.alternatives

    def objects(self) -> JsonSchema:
        """Of the values those that are objects; GrammarError where there are none."""
        if "object" not in self.types:
            raise GrammarError(f"{self.tool}: arguments are an object, and the schema has none: {self.schema!r:.100}")
        return self.of_types(frozenset(["object"]))

    @cached_property
    def types(self) -> frozenset[str]:
        """The JSON types of the values."""
        return frozenset(type_of(shape) for shape in self.alternatives)

    @cached_property
    def strings(self) -> RawStrings:
        return RawStrings(tuple(shape for shape in self.alternatives if isinstance(shape, shapes.StringShape)))

    def literals(self) -> frozenset[str]:
        """Which of null, true and false are values."""
        return frozenset(shape.text for shape in self.alternatives if isinstance(shape, shapes.Literal))

    def containers(self) -> list[shapes.ObjectShape | shapes.ArrayShape]:
        return [shape for shape in self.alternatives if isinstance(shape, (shapes.ObjectShape, shapes.ArrayShape))]

    def of_types(self, types: frozenset[str]) -> JsonSchema:
        """The values of these types, as JSON."""
        if types >= self.types:
            return self.schema
        schema = self.schema
        return part_of(schema, {"allOf": [schema.document()], "type": sorted(types)}, schema.registry)


@dataclass(frozen=True)
class Arguments:
    values: Mapping[str, Value]
    required: frozenset[str]
    others: Value | None  # of keys that are not declared; None: there are none

    @classmethod
    def of(cls, schema: JsonSchema, tool: str) -> Arguments:
        document = schema.document()
        here, pointer = _object(document, tool)
        declared, others = here.get("properties", {}), here.get("additionalProperties", True)
        required = here.get("required", [])
        if not isinstance(declared, dict) or not isinstance(required, list):
            raise GrammarError(f"{tool}: `properties` is an object and `required` a list", pointer=pointer)

        def value(part: Any, where: str) -> Value:
            place = f"{pointer}/{where}"
            if _refers(part):
                return Value(part_of(schema, {"$ref": f"{WHOLE}#{quote(place)}"}, {WHOLE: document}), tool, place)
            return Value(part_of(schema, part, None), tool, place)

        values = {name: value(part, f"properties/{escape(name)}") for name, part in declared.items()}
        further = None if others is False else value(others, "additionalProperties")
        for name in required:
            if name not in values:
                if further is None:
                    raise GrammarError(f"{tool}: {pointer or '#'}: {name!r:.80} is required and must not be there")
                values[name] = further
        return cls(values, frozenset(required), further)


def _object(document: Any, tool: str) -> tuple[dict[str, Any], str]:
    """The schema that declares the properties, and its pointer: the root, or what it refers to."""
    here, pointer, seen = {} if document is True else document, "", set[str]()
    while isinstance(here, dict):
        found = KEYWORDS & here.keys()
        if found - {"type"} == {"$ref"} and pointer not in seen:
            seen.add(pointer)
            whole = Document(document)
            here, pointer, resource = whole.resolve(here["$ref"], whole.root, f"{pointer}/$ref")
            if resource is whole.root:
                continue
            break
        if found - READ:
            where = f"{pointer}/{min(found - READ)}"
            raise UnsupportedFeature(
                f"{tool}: {where}: where arguments are written one by one, only type, properties, required and "
                "additionalProperties may say which there are",
                pointer=where,
                keywords=(min(found - READ),),
            )
        if here.get("type", "object") == "object" or "object" in here["type"]:
            return here, pointer
        break
    raise UnsupportedFeature(
        f"{tool}: {pointer or '#'}: arguments are written one by one, so their schema is of an object, not {brief(here, 80)}"
    )


def part_of(whole: JsonSchema, schema: Any, registry: Mapping[str, Any] | None) -> JsonSchema:
    """A schema that is read as the whole one is."""
    return JsonSchema(
        schema,
        registry=registry,
        whitespace=whole.whitespace,
        property_order=whole.property_order if isinstance(whole.property_order, str) else "schema",
        formats=whole.formats,
        draft=whole.draft,
        integers=whole.integers,
        extra="allow",  # closed as a whole, if it is closed
    )


def _refers(schema: Any) -> bool:
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if not here.keys().isdisjoint(("$ref", "$dynamicRef", "$recursiveRef")):
                return True
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return False


def type_of(shape: shapes.Shape) -> str:
    if isinstance(shape, shapes.Literal):
        return "null" if shape.text == "null" else "boolean"
    return OF_SHAPES[type(shape)]
