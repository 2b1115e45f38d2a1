"""Which subschemas of a JSON schema describe a value: `/properties/orders/items` for the value at ("orders", 0)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

COMBINED = ("allOf", "anyOf", "oneOf")
CONDITIONAL = ("then", "else")
MOST = 16  # bound on the subschemas that are followed at once


def schema_pointers(schema: Any, path: tuple[str | int, ...]) -> list[str]:
    """JSON pointers of the subschemas that describe the value at a path, as far as property names and indices lead there.

    References within the document are followed. Which alternative of anyOf etc. the value takes is unknown here, so all are listed.
    """
    found = spread(schema, [""])
    for step in path:
        found = spread(schema, [one for pointer in found for one in below(pointer, schema, step)][:MOST])
    return found


def spread(schema: Any, pointers: list[str]) -> list[str]:
    """These pointers, and those that references and applicators add for the same value."""
    found: list[str] = []
    while pointers and len(found) < MOST:
        pointer = pointers.pop(0)
        here = at(schema, pointer)
        if pointer in found or here is None:
            continue
        found.append(pointer)
        if isinstance(here, dict):
            reference = here.get("$ref")
            if isinstance(reference, str) and reference.startswith("#"):
                pointers.append(reference[1:])
            for name in COMBINED:
                subschemas = here.get(name)
                pointers += (
                    [f"{pointer}/{name}/{i}" for i in range(len(subschemas))] if isinstance(subschemas, list) else []
                )
            pointers += [f"{pointer}/{name}" for name in CONDITIONAL if name in here]
    return found


def below(pointer: str, schema: Any, step: str | int) -> Iterator[str]:
    """The pointers that describe a property or an item."""
    here = at(schema, pointer)
    if not isinstance(here, dict):
        return
    if isinstance(step, str):
        yield from of_property(pointer, here, step)
        return
    for name in ("prefixItems", "items"):
        subschemas = here.get(name)
        if isinstance(subschemas, list):
            if step < len(subschemas):
                yield f"{pointer}/{name}/{step}"
                return
        elif subschemas is not None:
            yield f"{pointer}/{name}"
            return
    if "additionalItems" in here:
        yield f"{pointer}/additionalItems"


def of_property(pointer: str, here: dict[str, Any], key: str) -> Iterator[str]:
    is_named = False
    if key in as_dict(here.get("properties")):
        is_named = True
        yield f"{pointer}/properties/{escaped(key)}"
    for pattern in as_dict(here.get("patternProperties")):
        if matches(pattern, key):
            is_named = True
            yield f"{pointer}/patternProperties/{escaped(pattern)}"
    if not is_named and "additionalProperties" in here:
        yield f"{pointer}/additionalProperties"


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def matches(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:  # ECMA-262 has patterns that Python does not
        return False


def at(schema: Any, pointer: str) -> Any:
    """The value at a JSON pointer; None where there is none."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and name in schema:
            schema = schema[name]
        elif isinstance(schema, list) and name.isdecimal() and int(name) < len(schema):
            schema = schema[int(name)]
        else:
            return None
    return schema


def escaped(step: str | int) -> str:
    """A step of a JSON pointer, escaped."""
    return str(step).replace("~", "~0").replace("/", "~1")


def pointer_of(path: tuple[str | int, ...]) -> str:
    return "".join(f"/{escaped(step)}" for step in path)
