"""Shared code of schemas.py's parts: refusals, strings, values of Literals, Enums and Flags, and probes of what this version's
pydantic validators do."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from . import texts

Schema = dict[str, Any]
MOST_FLAGS = 8  # most flags whose combinations are listed


SCALARS = ["string", "number", "boolean", "null"]


class Refused(Exception):
    """A type that has no exact schema: which one, what to use instead, and its path, innermost first."""

    def __init__(self, what: str):
        super().__init__(what)
        self.place: list[str] = []

    def __str__(self) -> str:
        return ": ".join([*([".".join(reversed(self.place))] if self.place else []), str(self.args[0])])


def string(pattern: str, **more: Any) -> Schema:
    return {"type": "string", "pattern": texts.whole_text(pattern), **more}


def refuse_bounds(core: Schema, name: str, *words: str) -> None:
    found = [word for word in words or ("gt", "ge", "lt", "le") if core.get(word) is not None]
    if found:
        raise Refused(f"{found[0]}= of a {name} is not enforced: leave it to a validator of your own")


@contextmanager
def within(place: str) -> Iterator[None]:
    """Adds a place to whatever is raised: to pydantic's own errors, too, some of which it takes for a case to leave out."""
    try:
        yield
    except Exception as error:
        vars(error).setdefault("place", []).append(place)
        raise


class Base:
    """What the mixins use of pydantic's generator."""

    closed: bool
    definitions: dict[Any, Schema]
    generate_inner: Callable[[Any], Schema]
    key_schema: Callable[[Any], Schema]
    _of_pydantic: Callable[[Any], Schema | None]

    def option(self, name: str) -> Any:
        """An option of the model's configuration; None where this pydantic does not have it."""
        return getattr(self._config, name, None)  # type: ignore[attr-defined]


@cache
def takes_negative_multiples(step: float) -> bool:
    from pydantic_core import SchemaValidator, ValidationError

    validator = SchemaValidator({"type": "float", "multiple_of": step})
    try:
        for times in (1, 2, 3, 7, 20):
            validator.validate_python(-times * float(step))
    except ValidationError:
        return False
    return True


@cache
def reads_hex() -> bool:
    """Older versions do not support hexadecimal bytes, and read them as text."""
    from pydantic_core import SchemaError, SchemaValidator

    try:
        found = SchemaValidator({"type": "bytes"}, {"val_json_bytes": "hex"}).validate_json('"6f"')
    except SchemaError:
        return False
    return bool(found == b"o")


def read_back(core: Schema, values: list[Any], name: str) -> list[Any]:
    """The values in JSON, each checked to be read back."""
    from pydantic_core import SchemaValidator, ValidationError

    validator = SchemaValidator(core)
    found = []
    for value in values:
        bare = value.value if isinstance(value, enum.Enum) else value
        try:
            written = json.dumps(bare, allow_nan=False)
            validator.validate_json(written)
        except (TypeError, ValueError, ValidationError):
            raise Refused(f"{name}: nothing in JSON is read as {value!r:.80}") from None
        found.append(json.loads(written))
    return found


def flag_values(values: list[int], core: Schema) -> list[int]:
    """The flags, and their combinations where there are few."""
    from pydantic_core import SchemaValidator, ValidationError

    if len(values) > MOST_FLAGS:
        return values
    combined = {0}
    for value in values:
        combined |= {other | value for other in combined}
    validator, found = SchemaValidator(core), []
    for value in sorted(combined):
        try:
            validator.validate_json(json.dumps(value))
            found.append(value)
        except ValidationError:
            continue
    return found


def key_values(core: Schema) -> list[str]:
    """The keys that a Literal or an Enum is read from."""
    from pydantic_core import SchemaValidator, ValidationError

    inner = {word: value for word, value in core.items() if word not in ("metadata", "ref", "serialization")}
    validator = SchemaValidator({"type": "dict", "keys_schema": inner})
    found = []
    members = core["members"] if core["type"] == "enum" else core["expected"]
    for member in members:
        value = member.value if isinstance(member, enum.Enum) else member
        key = value if isinstance(value, str) else str(value)
        try:
            validator.validate_json(json.dumps({key: None}))
            found.append(key)
        except ValidationError:
            raise Refused(f"{member!r:.80} as a key of a dict: a JSON object's keys are strings") from None
    return found
