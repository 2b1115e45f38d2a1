"""describe(): a schema in words, for a prompt. A model does not see what its answer is held to.

    gl.describe(Order)

    JSON: object with
    - customer: string of at most 30 characters. Who ordered
    - quantity: integer of at least 1
    - color (optional): one of "red", "green"

What has no words here (not, if, contains, ...) stands as it is written, and so does what is wrong: `compile` refuses that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from grammarlm.errors import LimitExceeded

from .read.content import written
from .read.expected import wrong_value
from .read.keywords import KEYWORDS
from .read.schema_file import read_schema
from .read.schema_pointers import as_dict, at, escaped
from .schema import JsonSchema
from .types.python_types import LARGEST_INTEGER

MOST_SCHEMAS, MOST_VALUES = 4096, 100  # that are described; of an enum
NAMES = {"boolean": "true or false", "array": "list"}
STRING = ("minLength", "maxLength", "pattern", "format")
NUMBER = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
ARRAY = ("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems")
OBJECT = ("properties", "patternProperties", "additionalProperties", "required")
WORDS = {"string": STRING, "number": NUMBER, "integer": NUMBER, "array": ARRAY, "object": OBJECT}
TOLD = KEYWORDS - {"$id", "id"}  # each is told, in words or as it is written; further keywords say nothing of values
Described = tuple[str, list[str]]  # the words of a schema, and the lines below them


def describe(schema: Any) -> str:
    """The text that shows a model what it has to fill in: fields, types, bounds, choices and descriptions.

    schema       what `schema=` of generate() takes: a Python type, a dict, JSON text, a path, a gl.JsonSchema

    Equal schemas give equal texts. LimitExceeded where the text would be very long.
    """
    if isinstance(schema, os.PathLike):
        schema = read_schema(schema)
    grammar = schema if isinstance(schema, JsonSchema) else JsonSchema(schema)
    try:
        head, lines = Describer(grammar.document()).of(())
    except RecursionError:
        raise LimitExceeded("the schema is nested too deeply to be described; flatten it") from None
    return "\n".join([f"JSON: {head}", *lines])


class Describer:
    """The words for the schemas of one document."""

    def __init__(self, document: Any):
        self._document = document
        self._count = 0
        self._named: set[str] = set()  # references whose lines stand above, or are being written
        self._recurring: set[str] = set()

    def of(self, path: tuple[str | int, ...]) -> Described:
        """The schema at a path of the document."""
        pointer = "".join(f"/{escaped(step)}" for step in path)
        schema = at(self._document, pointer)
        self._count += 1
        if self._count > MOST_SCHEMAS:
            raise LimitExceeded(
                f"the schema has more than {MOST_SCHEMAS:,} parts to be described; describe a part of it"
            )
        if isinstance(schema, bool) or schema == {}:
            return "nothing" if schema is False else "any JSON value", []
        if not isinstance(schema, dict):
            return written(schema), []
        right = {keyword: value for keyword, value in schema.items() if not wrong_value(keyword, value)}
        head, lines, said = self._kind(right, path)
        said &= right.keys()
        others = {keyword: value for keyword, value in schema.items() if keyword in TOLD - said}
        return "; ".join([head, *(f"{keyword} {written(value)}" for keyword, value in others.items())]), lines

    def _kind(self, schema: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str, list[str], set[str]]:
        """The words for the values that are meant, and the keywords that they stand for."""
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            return choice(values), [], {"const", "enum", "type"}
        found = self._referenced(schema)
        if found is not None:
            return *found, {"$ref"}
        types = types_of(schema)
        joint = next((keyword for keyword in ("anyOf", "oneOf", "allOf") if keyword in schema), None)
        if joint is not None and not types:
            each = [self.of((*path, joint, index)) for index in range(len(schema[joint]))]
            return *(all_of(each) if joint == "allOf" else one_of(each)), {joint}
        each = [self._typed(name, schema, path) for name in types]
        said = {"type"}.union(*(WORDS.get(name, ()) for name in types))
        return *(one_of(each) if each else ("any JSON value", [])), said

    def _referenced(self, schema: dict[str, Any]) -> Described | None:
        """What a reference within the document leads to: described once, and named where it comes again."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not re.fullmatch(r"#(/.*)?", reference):
            return None
        path = tuple(step.replace("~1", "/").replace("~0", "~") for step in reference.split("/")[1:])
        if at(self._document, reference[1:]) is None:
            return None
        name = str(path[-1]) if path else "the whole"
        if reference in self._named:
            self._recurring.add(reference)
            return f"{name} (above)", []
        self._named.add(reference)
        head, lines = self.of(path)
        if lines or reference in self._recurring:
            return f"{name}, {head}", lines
        self._named.discard(reference)
        return head, lines

    def _typed(self, name: str, schema: dict[str, Any], path: tuple[str | int, ...]) -> Described:
        own, lines = NAMES.get(name, name), list[str]()
        if name == "string":
            own += "".join(string_words(schema))
        elif name in ("number", "integer"):
            own += "".join(number_words(schema))
        elif name == "array":
            own, lines = self._list(schema, path)
        elif name == "object":
            lines = self._keys(schema, path)
            own += " with" if lines else ""
        return own, lines

    def _list(self, schema: dict[str, Any], path: tuple[str | int, ...]) -> Described:
        head = "list" + between(schema, "minItems", "maxItems", "item")
        if schema.get("uniqueItems"):
            head += ", no two alike"
        firsts = "prefixItems" if "prefixItems" in schema else "items"
        rest = "items" if "prefixItems" in schema else "additionalItems"
        if not isinstance(schema.get(firsts), list):
            each, lines = self.of((*path, "items")) if "items" in schema else ("any JSON value", [])
            return f"{head}, each {each}", lines
        lines = []
        for index in range(len(schema[firsts])):
            lines += line(f"item {index + 1}", self.of((*path, firsts, index)), "")
        if schema.get(rest) not in (None, False):
            lines += line("further items", self.of((*path, rest)), "")
        return f"{head} with", lines

    def _keys(self, schema: dict[str, Any], path: tuple[str | int, ...]) -> list[str]:
        required, lines = schema.get("required", []), list[str]()
        declared = as_dict(schema.get("properties"))
        for key, inner in declared.items():
            name = shown(key) + ("" if key in required else " (optional)")
            lines += line(name, self.of((*path, "properties", key)), as_dict(inner).get("description"))
        for key in required:
            lines += [] if key in declared else line(shown(key), ("any JSON value", []), "")
        for pattern in as_dict(schema.get("patternProperties")):
            inner = self.of((*path, "patternProperties", pattern))
            lines += line(f"each key that matches {pattern}", inner, "")
        if isinstance(schema.get("additionalProperties"), dict):
            lines += line("any other key" if lines else "any key", self.of((*path, "additionalProperties")), "")
        return lines


def types_of(schema: dict[str, Any]) -> list[str]:
    """The types of its values; of a schema without `type` those that its keywords speak of."""
    given = schema.get("type")
    if given is not None:
        return [given] if isinstance(given, str) else list(given)
    return [name for name, words in WORDS.items() if name != "integer" and any(word in schema for word in words)]


def choice(values: list[Any]) -> str:
    shown = ", ".join(written(value) for value in values[:MOST_VALUES])
    if len(values) == 1:
        return shown
    return f"one of {shown}" if len(values) <= MOST_VALUES else f"one of {len(values):,} values, among them {shown}"


def string_words(schema: dict[str, Any]) -> Iterator[str]:
    yield between(schema, "minLength", "maxLength", "character")
    if "pattern" in schema:
        yield f" that matches {schema['pattern']}"
    if "format" in schema:
        yield f" in the format {schema['format']}"


def number_words(schema: dict[str, Any]) -> Iterator[str]:
    """The bounds that every integer of a Python type has are not told."""
    told = {name: schema[name] for name in NUMBER if name in schema and abs(schema[name]) != LARGEST_INTEGER}
    for name, strict in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(told.get(strict), bool):  # of draft 4
            is_strict = told.pop(strict)
            if is_strict and name in told:
                told[strict] = told.pop(name)
    if "minimum" in told and "maximum" in told:
        yield f" from {told.pop('minimum')} to {told.pop('maximum')}"
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    bounds = [f"{words[name]} {told[name]}" for name in words if name in told]
    if bounds:
        yield f" of {' and '.join(bounds)}"
    if "multipleOf" in told:
        yield f", a multiple of {told['multipleOf']}"


def between(schema: dict[str, Any], least: str, most: str, what: str) -> str:
    """How many characters or items there may be."""
    low, high = schema.get(least) or 0, schema.get(most)
    if high is None:
        return f" of at least {low} {plural(what, low)}" if low else ""
    count = f"{high}" if low == high else f"{low} to {high}" if low else f"at most {high}"
    return f" of {count} {plural(what, high)}"


def plural(what: str, count: Any) -> str:
    return what if count == 1 else f"{what}s"


def one_of(each: list[Described]) -> Described:
    """Alternatives: in one line, where at most one of them has lines of its own."""
    simple, large = [head for head, lines in each if not lines], [one for one in each if one[1]]
    if len(large) > 1:
        lines = [found for one in each for found in bullet(*one)]
        return "one of these", lines
    heads = dict.fromkeys([*simple, *(head for head, _ in large)])
    return " or ".join(heads), large[0][1] if large else []


def all_of(each: list[Described]) -> Described:
    heads = dict.fromkeys(head for head, _ in each)
    return " and ".join(heads), [one for _, lines in each for one in lines]


def line(name: str, described: Described, description: Any) -> list[str]:
    head, lines = described
    return bullet(f"{name}: {head}{f'. {description}' if description else ''}", lines)


def bullet(head: str, lines: list[str]) -> list[str]:
    first, *more = head.splitlines() or [""]
    return [f"- {first}", *(f"  {one}" for one in [*more, *lines])]


def shown(key: str) -> str:
    """A key as it is where it is a word, else quoted."""
    return key if re.fullmatch(r"[\w-]+", key) else written(key)
