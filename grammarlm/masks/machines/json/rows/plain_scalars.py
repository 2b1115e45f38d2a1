"""Scalars of plain schemas (plain.py), from their keywords to rows: strings, numbers, lists of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.containers.values import number_shapes
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.shapes.shapes import Node, NumberShape
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.strings import is_text
from grammarlm.layout.json import Shape

from .template import LITERALS, NUMBER_TYPES

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.compile.program import ProgramWriter

NUMBER_WORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
MOST_VALUES = 256  # numbers of a list that are written one by one
TRUE, FALSE, NULL = ((Shape.LITERAL, LITERALS[text]) for text in ("true", "false", "null"))

Schema = dict[str, Any]
Alternative = tuple[int, int]  # kind, row


class NotPlain(Exception):
    """The general way has to read the whole document."""


def string_alternative(writer: ProgramWriter, schema: Schema, formats: str, pointer: Callable[[], str]) -> Alternative:
    """Kind and row of the strings that a schema's keywords allow."""
    shape = strings.read(schema, formats)
    known = writer.strings.of_format(shape)
    if known is not None:
        return Shape.STRING, known
    if shape.language:
        if strings.is_empty(shape, writer.texts.languages):
            raise NotPlain
    elif shape.maximum is not None and shape.minimum > shape.maximum:
        raise NotPlain
    return writer.strings.alternative(shape, Node(pointer=pointer()))


def number_row(writer: ProgramWriter, schema: Schema, name: str) -> int:
    """The row of the numbers of a type that a schema's keywords allow."""
    values = tuple([schema.get(word, ...) for word in NUMBER_WORDS])
    if ... in schema.values():  # not JSON, and `...` would stand for a missing keyword
        raise NotPlain
    try:
        shape = _number_shape(name, values, tuple(map(type, values)))
    except TypeError:  # a list, or an object
        shape = None
    if shape is None:
        raise NotPlain
    return writer.numbers.row(shape, Node())


def listed_values(writer: ProgramWriter, schema: Schema, kinds: Sequence[str], splits_floats: bool) -> int | None:
    """The row of the node of a list of scalars; None where it has other values, or none of a named type. `splits_floats`:
    1 is not 1.0."""
    listed = schema["enum"] if "enum" in schema else [schema["const"]]
    if listed.__class__ is not list:
        return None
    found: list[Alternative | None] = [None] * 3
    words: dict[str, None] = {}
    points: dict[int, None] = {}
    for value in listed:
        kind = value.__class__
        if kind is str:
            words[value] = None
        elif kind is int:
            points[value] = None
        elif value is None:
            found[0] = NULL
        elif value is True:
            found[1] = TRUE
        elif value is False:
            found[2] = FALSE
        else:
            return None
    alternatives = [a for a in found[: 1 if "null" in kinds else 0] + (found[1:3] if "boolean" in kinds else []) if a]
    if words and "string" in kinds:
        if not all(map(is_text, words)):
            return None
        alternatives.append((Shape.WORDS, writer.strings.words(tuple(words))))
    if points and ("number" in kinds or "integer" in kinds):
        if splits_floats or len(points) > MOST_VALUES:
            return None
        alternatives += [(Shape.NUMBER, writer.numbers.row(shape, Node())) for shape in number_shapes(points)]
    if not alternatives:
        return None
    rows = writer.rows
    at = len(rows)
    rows += (len(alternatives), 0)
    for alternative in alternatives:
        rows += alternative
    return at


@lru_cache(maxsize=1024)
def _number_shape(name: str, values: tuple[object, ...], _types: tuple[type, ...]) -> NumberShape | None:
    """The numbers of a type within bounds; None where there is none. `_types` separates True from 1."""
    read = numbers.read({word: value for word, value in zip(NUMBER_WORDS, values, strict=True) if value is not ...})
    shape = numbers.both(NUMBER_TYPES[name], read)
    return None if numbers.is_empty(shape) else shape
