"""Python types as JSON schemas, by pydantic: models, dataclasses, TypedDict, Enum, Literal, list[T], unions, functions' arguments.

schema_of(Event)            the schema
reader_of(Event)(text)      an instance
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from grammarlm.errors import UnsupportedFeature

INTEGER_DIGITS = 18  # of an integer without other bounds
LARGEST_INTEGER = 10**INTEGER_DIGITS - 1
BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
SCHEMAS = ("items", "prefixItems", "additionalProperties", "propertyNames", "anyOf", "oneOf", "allOf", "contains")
MAPS = ("properties", "patternProperties", "$defs", "definitions")  # the caller's names -> schemas
NAMES = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"))


def is_python_type(kind: Any) -> bool:
    """A class, a typing construct, or a pydantic TypeAdapter; a function, too, stands for its arguments."""
    if isinstance(kind, (type, types.UnionType, typing.TypeVar)) or kind is Any or inspect.isroutine(kind):
        return True
    return any(hasattr(kind, mark) for mark in ("__origin__", "__supertype__", "__value__")) or _is_adapter(kind)


def _is_adapter(kind: Any) -> bool:
    return type(kind).__name__ == "TypeAdapter" and hasattr(kind, "validate_json")


def schema_of(kind: Any, extra: str = "forbid") -> dict[str, Any]:
    """The JSON schema of a type, or of a function's arguments; its integers are bounded on both sides.

    extra    "forbid": objects have no keys that their type does not declare, unless it asks for them
    """
    known: tuple[type[Exception], ...] = (*_pydantic(kind), TypeError, ValueError, ImportError, RecursionError)
    from .schemas import type_schema

    try:
        schema = type_schema(_adapter(kind), extra == "forbid")
    except UnsupportedFeature as refusal:
        raise UnsupportedFeature(f"{_name(kind)}: {refusal}") from None
    except known as error:
        where = ".".join(reversed(vars(error).get("place", ()))) or _name(kind)
        raise UnsupportedFeature(f"pydantic makes no JSON schema of {where}: {_told(error)}") from None
    _read_as_python(schema)
    return schema


def _told(error: Exception) -> str:
    """What pydantic says, without its links and advice: types that it only holds instances of have no JSON."""
    text = str(error).partition("For further information")[0].strip()
    what, advice, _ = text.partition(". Set `arbitrary_types_allowed=True`")
    return f"{what:.300}; write it as a dataclass, a TypedDict or a pydantic model" if advice else f"{text:.300}"


def _name(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) else f"{kind!r:.80}"


def _read_as_python(schema: Any) -> None:
    """Adds, in place, the type and the bounds of each integer."""
    todo = [schema]
    while todo:
        here = todo.pop()
        if isinstance(here, list):
            todo += here
        if not isinstance(here, dict):
            continue
        _name_types(here)
        if here.get("type") == "integer":
            _bound(here)
        todo += [here[word] for word in SCHEMAS if word in here]
        todo += [inner for word in MAPS for inner in here.get(word, {}).values()]


def _name_types(schema: dict[str, Any]) -> None:
    """The type for values of a Literal or an Enum: a 1 among them is an integer, which 1.0 is not in Python."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if "type" not in schema and any(type(value) is int for value in values):
        found = {next((name for kind, name in NAMES if isinstance(value, kind)), "null") for value in values}
        if "number" not in found:
            schema["type"] = sorted(found)
        else:  # an integer and a number are spelled differently
            whole = [value for value in values if type(value) is int]
            schema.pop("enum")
            others = [value for value in values if type(value) is not int]
            schema["anyOf"] = [{"type": "integer", "enum": whole}, {"enum": others}]


def _bound(schema: dict[str, Any]) -> None:
    """At most INTEGER_DIGITS digits on each open side, more where the other bound or the step has more."""
    named = [abs(schema[word]) for word in BOUNDS if isinstance(schema.get(word), (int, float))]
    largest = max([LARGEST_INTEGER, *(10 * int(value) for value in named if value > LARGEST_INTEGER // 10)])
    if not any(word in schema for word in ("maximum", "exclusiveMaximum")):
        schema["maximum"] = largest
    if not any(word in schema for word in ("minimum", "exclusiveMinimum")):
        schema["minimum"] = -largest


def reader_of(kind: Any) -> Callable[[str], Any]:
    """A function that makes an instance from JSON text: ValueError where a validator of the type refuses it."""

    def read(text: str) -> Any:
        return _adapter(kind).validate_json(text)

    return read


def _pydantic(kind: Any) -> tuple[type[Exception], ...]:
    """The exceptions that pydantic raises for a type without schema."""
    try:
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
        from pydantic_core import SchemaError
    except ImportError:
        raise UnsupportedFeature(
            f"JsonSchema({kind!r:.80}) needs pydantic: pip install pydantic, or hand in the schema itself"
        ) from None
    return PydanticUserError, PydanticUndefinedAnnotation, SchemaError


def _adapter(kind: Any) -> Any:
    try:
        return _known_adapter(kind)
    except TypeError:  # an unhashable type, such as Literal[[]]
        return _known_adapter.__wrapped__(kind)


@lru_cache(maxsize=64)
def _known_adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    if _is_adapter(kind):
        return kind
    if inspect.isroutine(kind):
        kind = arguments_of(kind)
    elif sys.version_info < (3, 12) and typing.is_typeddict(kind):
        kind = _as_pydantic_reads_it(kind)
    return TypeAdapter(kind)


def _as_pydantic_reads_it(kind: Any) -> Any:
    """An older Python's typing.TypedDict, without attributes that pydantic needs, converted to one of typing_extensions."""
    import typing_extensions

    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    fields, marks = {}, (typing_extensions.Required, typing_extensions.NotRequired)
    for name, hint in hints.items():
        bare = hint.__args__[0] if typing_extensions.get_origin(hint) in marks else hint
        fields[name] = bare if name in kind.__required_keys__ else typing_extensions.NotRequired[bare]
    made: Any = typing_extensions.TypedDict(kind.__name__, fields)  # type: ignore[misc]
    made.__pydantic_config__ = getattr(kind, "__pydantic_config__", {})  # type: ignore[attr-defined]
    return made


def arguments_of(function: Callable[..., Any]) -> Any:
    """A TypedDict of the arguments that the function takes by name: `function(**value)` can be called."""
    import typing_extensions
    from pydantic import ConfigDict

    name = getattr(function, "__qualname__", repr(function))
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError, NameError) as error:
        raise UnsupportedFeature(f"the arguments of {name} cannot be read: {error}") from None
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # it can be called without them
        if parameter.kind is parameter.POSITIONAL_ONLY:
            if parameter.default is not parameter.empty:
                continue
            raise UnsupportedFeature(
                f"{name} takes {parameter} by position only, but a JSON object has names; give it arguments by name"
            )
        hint = hints.get(parameter.name, Any)
        fields[parameter.name] = hint if parameter.default is parameter.empty else typing_extensions.NotRequired[hint]
    made: Any = typing_extensions.TypedDict(name, fields)  # type: ignore[misc]
    made.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return made
