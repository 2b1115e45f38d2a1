"""What an answer is held to, and how its text becomes a value: schema=, regex=, grammar=, choices= and items=.

read_format(schema=list[int])             texts that are JSON; their value is a list
read_format(schema=Event)                 a pydantic model, a dataclass, ...: an instance
read_format(regex="[0-9]+")               the text itself
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from numbers import Integral
from typing import Any, Literal, get_args, get_origin

import numpy as np

from grammarlm.decoding.argument_types import Choice, Items, Pattern, Schema
from grammarlm.decoding.failures import message_of
from grammarlm.errors import brief
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.generated import as_filled, as_generated
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.grammars.json_schema.read.schema_file import read_schema
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.types.python_types import is_python_type, reader_of
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.response_format import response_format
from grammarlm.masks.constraint import Constraint

DESCRIPTIONS = ("schema", "regex", "grammar", "choices", "items", "response_format")
Read = Callable[[str], Any]
FindItem = Callable[[list[int]], Any]


@dataclass(frozen=True)
class AnswerFormat:
    """A grammar (None: any text), and how its text (`read`) or tokens (`find`) become a value; by default the text is the value."""

    grammar: Grammar | None = None
    read: Read | None = None
    find: FindItem | None = None
    constraint: Constraint | None = None  # if the caller has compiled the grammar
    inner: AnswerFormat | None = (
        None  # of what comes instead of calls, where the grammar is a turn with tools or reasoning
    )

    def value(self, text: str | bytes, tokens: list[int]) -> tuple[Any, str | None]:
        """The value of a complete text; None and the reason where reading it fails."""
        if self.read is None and self.find is None:
            return text, None
        try:
            if self.find is not None:
                return self.find(tokens), None
            assert self.read is not None
            return self.read(text if isinstance(text, str) else text.decode()), None
        except Exception as error:  # code of the caller's type may raise anything
            return None, message_of(error)


def read_format(**descriptions: object) -> AnswerFormat:
    """The format of the one that was given, with JSON spelled as a model writes it; free text where there is none."""
    made = _as_written(**descriptions)
    if made.grammar is None or made.constraint is not None:
        return made
    return replace(made, grammar=as_generated(made.grammar))


def filled_format(**descriptions: object) -> AnswerFormat:
    """The same with JSON spelled as canvases fill it in, that of a compiled constraint, too."""
    made = _as_written(**descriptions)
    if made.grammar is None:
        return made
    constraint = None if made.constraint is None else made.constraint.as_filled
    return replace(made, grammar=as_filled(made.grammar), constraint=constraint)


def _as_written(**descriptions: object) -> AnswerFormat:
    """The same with the grammar as it is: every spelling of JSON, blanks where the schema has them."""
    given = {name: value for name, value in descriptions.items() if value is not None}
    if len(given) > 1:
        raise ValueError(
            f"{' and '.join(f'{name}=' for name in given)} are given; give one of them. "
            "Texts that satisfy several: grammar=gl.Regex(...) & gl.Choices(...)"
        )
    for name, value in given.items():
        if isinstance(value, Constraint) and name in ("grammar", "schema"):
            return replace(of_grammar(value.grammar), constraint=value)
        check_argument(name, value)
        return MAKE[name](value)
    return AnswerFormat()


def check_argument(name: str, value: object) -> None:
    """TypeError where the value belongs to another argument."""
    own = {"schema": JsonSchema, "items": Tokens, "grammar": Grammar}.get(name, ())
    if isinstance(value, (Grammar, Constraint)) and not isinstance(value, own):
        kind = "compiled constraint" if isinstance(value, Constraint) else f"gl.{type(value).__name__}"
        raise TypeError(f"{name} is a {kind}; pass it as grammar=")
    if name == "grammar" and isinstance(value, type) and issubclass(value, Grammar):
        raise TypeError(f"grammar is the class gl.{value.__name__}; pass one of its grammars: gl.{value.__name__}(...)")
    if name == "grammar" and isinstance(value, os.PathLike):
        raise TypeError(
            f"grammar is the path {os.fspath(value)!r:.80}, and a file does not say what it is written in: "
            "gl.Lark(path.read_text()), gl.Gbnf(...) or gl.Ebnf(...)"
        )
    if name == "grammar" and (isinstance(value, (dict, bool)) or is_python_type(value)):
        raise TypeError(f"grammar is {type_and_value(value)}; a JSON schema or a Python type is schema=")
    if name == "grammar" and isinstance(value, str):
        raise TypeError(
            f"grammar is {type_and_value(value)}, and a text does not say what it is written in; {notation_of(value)}"
        )
    if name == "regex" and isinstance(value, re.Pattern):
        raise TypeError(
            f"regex is {type_and_value(value)}, compiled by re; pass its text, with its flags written in it: (?i)..."
        )


def type_and_value(value: object) -> str:
    return (
        f"{type(value).__name__} {value!s:.60}" if isinstance(value, type) else f"{type(value).__name__}: {value!r:.60}"
    )


def notation_of(text: str) -> str:
    """A guess which notation a grammar's text is written in."""
    if re.search(r"^\s*[A-Za-z_]\w*(-\w+)*\s*::=", text, re.MULTILINE):
        return "it looks like gl.Gbnf(text), llama.cpp's, or gl.Ebnf(text), xgrammar's"
    if re.search(r"^\s*[?!]?[A-Za-z_]\w*(\.-?\d+)?\s*:", text, re.MULTILINE):
        return "it looks like gl.Lark(text)"
    return "there are gl.Lark(text), gl.Gbnf(text), gl.Ebnf(text) and regex=text; a file is read by pathlib.Path(...).read_text()"


def of_schema(schema: Schema) -> AnswerFormat:
    """A dict, JSON text, a path (only os.PathLike: a str is never one), a gl.JsonSchema, a Python type, or a function, which stands
    for its arguments.
    """
    if isinstance(schema, JsonSchema):
        kind = schema.python_type
        return AnswerFormat(schema, json_value if kind is None else reader_of(kind))
    if isinstance(schema, os.PathLike):
        return AnswerFormat(JsonSchema(read_schema(schema)), json_value)
    if isinstance(schema, dict) and (within := wrapped(schema)):
        raise ValueError(f"schema is OpenAI's {schema['type']!r}, which holds a schema; pass that: {within}")
    if isinstance(schema, (dict, bool, str)):
        return AnswerFormat(JsonSchema(schema), json_value)
    if is_python_type(schema) or inspect.isroutine(schema):
        return AnswerFormat(JsonSchema(schema), reader_of(schema))
    kind = type(schema).__name__
    if is_python_type(type(schema)) and type(schema).__module__ != "builtins":
        raise TypeError(f"schema is an instance of {kind}: {brief(schema, 60)}; pass the class: schema={kind}")
    raise TypeError(
        f"schema is {kind}: {schema!s:.60}; it takes a dict, JSON text, a pathlib.Path, a Python type such as "
        "a pydantic model, or a function whose arguments are meant"
    )


def wrapped(schema: dict[str, Any]) -> str:
    """Where the schema lies in an OpenAI tool or response format; empty in a schema."""
    if schema.get("type") == "function":
        return "schema['function']['parameters']" if "function" in schema else "schema['parameters']"
    if schema.get("type") == "json_schema":
        return "schema['json_schema']['schema']" if "json_schema" in schema else "schema['schema']"
    return ""


def json_value(text: str) -> Any:
    """The JSON value, with numbers of any length and size."""
    import json

    return json.loads(text, parse_int=integer, parse_float=fraction)


def integer(digits: str) -> int | Decimal:
    """Python reads at most 4,300 digits as an int; more become a Decimal, which is as exact."""
    try:
        return int(digits)
    except ValueError:
        return Decimal(digits)


def fraction(digits: str) -> float | Decimal:
    """A float that would overflow to infinity becomes a Decimal."""
    number = float(digits)
    return number if math.isfinite(number) else Decimal(digits)


def of_regex(pattern: Pattern) -> AnswerFormat:
    return AnswerFormat(Regex(pattern))


def of_choices(choices: Iterable[Choice]) -> AnswerFormat:
    """Texts; and integers, which are written as Python does and are their own value. Of an Enum class, or some of its members: what
    these stand for, and the member is the value."""
    if get_origin(choices) is Literal:
        choices = get_args(choices)
    if isinstance(choices, (str, bytes)) or not isinstance(choices, Iterable):
        return AnswerFormat(Choices(choices))  # type: ignore[arg-type]  # which says what is wrong
    listed: list[Any] = list(choices)
    if listed and all(isinstance(one, Enum) for one in listed):
        return of_members(listed)
    numbers = {str(one): one for one in listed if is_integer(one)}
    if not numbers:
        return AnswerFormat(Choices(listed))
    both = next((one for one in listed if isinstance(one, str) and one in numbers), None)
    if both is not None:
        raise ValueError(f"choices holds {both!r} and {numbers[both]!r}, which are one text; give one of them")
    texts = [str(one) if is_integer(one) else one for one in listed]
    return AnswerFormat(Choices(texts), lambda text: numbers.get(text, text))


def of_members(listed: list[Enum]) -> AnswerFormat:
    members: dict[str, Enum] = {}
    for member in listed:
        kind = type(member).__name__
        if not isinstance(member.value, str) and not is_integer(member.value):
            raise TypeError(
                f"choices holds {brief(member, 80)}, which stands for neither a text nor an integer; schema={kind} has answers "
                "that are JSON"
            )
        if members.setdefault(str(member.value), member) is not member:
            raise ValueError(f"choices holds {brief(member)} and another one with the same text; give one of them")
    return AnswerFormat(Choices(members), members.__getitem__)


def is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def of_grammar(grammar: Grammar) -> AnswerFormat:
    if not isinstance(grammar, Grammar):
        raise TypeError(
            f"grammar is {type(grammar).__name__}; pass a grammar such as gl.Regex(...) or gl.Choices([...]), or what "
            "gl.compile made of one"
        )
    if isinstance(grammar, JsonSchema):
        return of_schema(grammar)
    return of_items(grammar) if isinstance(grammar, Tokens) else AnswerFormat(grammar)


def of_items(items: Items) -> AnswerFormat:
    tokens = items if isinstance(items, Tokens) else Tokens(items)
    if tokens.strings is None:
        return AnswerFormat(tokens, find=finder(tokens))
    rows = {text: row for row, text in reversed(list(enumerate(tokens.strings)))}  # the first of equal strings
    return AnswerFormat(tokens, None if tokens.ids is None else lambda text: name_of(tokens, rows[text]))


def name_of(items: Tokens, row: int) -> Any:
    """The caller's id of an item; a numpy number or string becomes Python's."""
    assert items.ids is not None
    name = items.ids[row]
    return name.item() if hasattr(name, "item") else name


def finder(items: Tokens) -> FindItem:
    """A function from an item's tokens to its id; without ids, to the tokens themselves."""

    def find(tokens: list[int]) -> Any:
        if items.ids is None:
            return tuple(tokens)
        at = 0
        for chunk in items.chunks():
            width = chunk.shape[1]
            row = np.array([*tokens, *[-1] * (width - len(tokens))], np.int64)
            found = np.flatnonzero((np.asarray(chunk) == row).all(axis=1)) if len(row) == width else row[:0]
            if len(found):
                return name_of(items, at + int(found[0]))
            at += len(chunk)
        raise AssertionError("the tokens are no item")

    return find


MAKE: dict[str, Callable[[Any], AnswerFormat]] = {
    "schema": of_schema,
    "regex": of_regex,
    "grammar": of_grammar,
    "choices": of_choices,
    "items": of_items,
    "response_format": lambda given: of_grammar(response_format(given)),
}
