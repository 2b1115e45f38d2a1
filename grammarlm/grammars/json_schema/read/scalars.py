"""The keywords about scalars: type, enum, const, and those of strings and numbers."""

from __future__ import annotations

from typing import Any

from grammarlm.errors import GrammarError, brief, placed_error
from grammarlm.grammars.json_schema.containers.key_languages import check_language
from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
from grammarlm.grammars.json_schema.nodes.by_type import (
    ANY,
    EMPTY,
    INTEGERS,
    NONE,
    OF_TYPE,
    OF_TYPE_4,
    PLAIN_INTEGERS,
    ByType,
)
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape, StringShape
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.languages import Languages

from .expected import refusal


def types(atom: SchemaAtom) -> ByType:
    """The shapes of `type`."""
    listed = atom.schema["type"]
    of_type = OF_TYPE_4 if atom.resource.plain_integers else OF_TYPE
    if listed.__class__ is str and listed in of_type:
        return of_type[listed]
    names = listed if isinstance(listed, list) else [listed]
    if not names:
        raise refusal(atom.schema, "type", atom.pointer)
    found: list[Any] = list(NONE)
    for name in names:
        if not isinstance(name, str) or name not in of_type:
            if name == "any":
                return ANY  # draft 3
            where, known = f"{atom.pointer}/type", ", ".join(of_type)
            raise GrammarError(f"{where}: there is no type {brief(name)}; there are {known}", pointer=where)
        for t, shapes in enumerate(of_type[name]):
            if shapes and (not found[t] or found[t] is INTEGERS or found[t] is PLAIN_INTEGERS):
                found[t] = shapes
    return found


def listings(atom: SchemaAtom) -> list[tuple[str, list[Any]]]:
    """The values of `enum`, and the one of `const`."""
    schema, bits = atom.schema, atom.resource.bits
    found: list[tuple[str, list[Any]]] = []
    if "enum" in schema and "enum" in bits:
        listed = schema["enum"]
        if not isinstance(listed, list):
            raise refusal(schema, "enum", atom.pointer)
        found.append(("enum", listed))
    if "const" in schema and "const" in bits:
        found.append(("const", [schema["const"]]))
    return found


def read_strings(languages: Languages, formats: str, atom: SchemaAtom) -> list[StringShape]:
    """One shape, or none if no string satisfies it."""
    try:
        shape = strings.read(atom.schema, formats)
        if shape.language:
            for part in shape.language:
                check_language(languages, frozenset([part]), f"{atom.pointer}/{part[0]}")
            if strings.is_empty(shape, languages):
                return EMPTY
        elif shape.maximum is not None and shape.minimum > shape.maximum:
            return EMPTY
    except GrammarError as error:
        raise _placed(error, atom) from None
    return [shape]


def read_number(atom: SchemaAtom) -> NumberShape:
    try:
        return numbers.read(atom.schema)
    except GrammarError as error:
        raise _placed(error, atom) from None


def _placed(error: GrammarError, atom: SchemaAtom) -> GrammarError:
    """The error with its pointer."""
    if error.pointer is not None and error.pointer.startswith(atom.pointer):
        return error
    keyword = str(error).split(" ", 1)[0].rstrip(":")
    pointer = f"{atom.pointer}/{keyword}" if keyword in atom.schema else atom.pointer
    return placed_error(error, pointer)
