"""Checks that a schema is JSON: a Python dict may have keys that are no strings, values that are no JSON, and cycles."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from grammarlm.errors import GrammarError, brief

from .document import below, escape

# Annotations, whose values are never read.
FOR_READERS = frozenset(["default", "examples", "example", "title", "description", "$comment"])
OPEN, DONE = 1, 2
PLAIN = frozenset([str, int, bool, type(None)])
CONTAINERS = frozenset([dict, list])
USUAL = PLAIN | CONTAINERS
Path: TypeAlias = "tuple[Path, str | int] | None"  # the keys and positions to a value, the last one outermost
FEW = 2_000  # dicts and lists that are looked at in one go


def check_json(schema: Any, tick: Callable[[], None] = lambda: None) -> None:
    """Raises a GrammarError that names the key, or the location of the value. Shared parts are visited once."""
    tick()
    if _is_usual(schema):
        return
    seen: dict[int, int] = {}
    todo: list[tuple[Any, Path, str]] = [(schema, None, "schema")]
    while todo:
        tick()
        here, path, reading = todo.pop()
        if reading == "end":
            seen[id(here)] = DONE
        elif not isinstance(here, (dict, list, tuple)):
            _check_scalar(here, path)
        elif seen.get(id(here)) == OPEN:
            pointer = pointer_of(path)
            raise GrammarError(f"{pointer or '#'}: the schema holds itself; say it with a $ref", pointer=pointer)
        elif id(here) not in seen:
            seen[id(here)] = OPEN
            todo.append((here, path, "end"))
            todo += _inside(here, path, reading)


def pointer_of(path: Path) -> str:
    """The JSON pointer of a path. Only errors need one: written for each value of a deep schema they would take gigabytes."""
    keys = []
    while path is not None:
        path, key = path
        keys.append(f"/{escape(key)}" if isinstance(key, str) else f"/{key}")
    return "".join(reversed(keys))


def _is_usual(schema: Any) -> bool:
    """True for a small schema of the usual types, in a quarter of the time that a look at each value with its location takes."""
    todo = [schema] if type(schema) in CONTAINERS else []
    keys: set[type] = set()
    values: set[type] = set()
    for here in todo:  # it grows
        inner = here
        if type(here) is dict:
            keys.update(map(type, here))
            inner = here.values()
        values.update(map(type, inner))
        todo += [value for value in inner if type(value) in CONTAINERS]
        if len(todo) > FEW:
            return False
    return bool(todo) and keys <= {str} and values <= USUAL


def _inside(here: Any, path: Path, reading: str) -> list[tuple[Any, Path, str]]:
    if not isinstance(here, dict):
        if PLAIN.issuperset(map(type, here)):  # most long lists
            return []
        inner = "schema" if reading == "list" else "data"
        return [(value, (path, i), inner) for i, value in enumerate(here)]
    found: list[tuple[Any, Path, str]] = []
    for key, value in here.items():
        if not isinstance(key, str):
            pointer = pointer_of(path)
            raise GrammarError(
                f"{pointer or '#'}: the key {brief(key)} is of type {type(key).__name__}; the keys of JSON are strings",
                pointer=pointer,
            )
        if reading != "schema" or key not in FOR_READERS:
            found.append((value, (path, key), below(reading, key, value)))
    return found


def _check_scalar(value: Any, path: Path) -> None:
    is_finite = isinstance(value, (str, int, Fraction, type(None))) or (
        isinstance(value, float) and math.isfinite(value)
    )
    if not is_finite and not (isinstance(value, Decimal) and value.is_finite()):
        pointer = pointer_of(path)
        raise GrammarError(
            f"{pointer or '#'}: {brief(value)} of type {type(value).__name__} is no JSON value: a schema has dicts with strings "
            "as keys, lists, strings, finite numbers, True, False and None",
            pointer=pointer,
        )
