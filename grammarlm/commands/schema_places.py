"""Which subschemas of a JSON schema describe a value: `/properties/orders/items` for the value at ("orders", 0)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TOGETHER = ("allOf", "anyOf", "oneOf")
BESIDE = ("then", "else")
MOST = 16  # bound on the subschemas that are followed at once


def schema_places(schema: Any, path: tuple[str | int, ...]) -> list[str]:
    """JSON pointers of the subschemas that describe the value at a path, as far as property names and indices lead there.

    References within the document are followed. Which alternative of anyOf etc. the value takes is unknown here, so all are listed.
    """
    found = spread(schema, [""])
    for step in path:
        found = spread(schema, [one for place in found for one in below(place, schema, step)][:MOST])
    return found


def spread(schema: Any, places: list[str]) -> list[str]:
    """These places, and those that references and applicators add for the same value."""
    found: list[str] = []
    while places and len(found) < MOST:
        place = places.pop(0)
        here = at(schema, place)
        if place in found or here is None:
            continue
        found.append(place)
        if isinstance(here, dict):
            reference = here.get("$ref")
            if isinstance(reference, str) and reference.startswith("#"):
                places.append(reference[1:])
            for name in TOGETHER:
                parts = here.get(name)
                places += [f"{place}/{name}/{i}" for i in range(len(parts))] if isinstance(parts, list) else []
            places += [f"{place}/{name}" for name in BESIDE if name in here]
    return found


def below(place: str, schema: Any, step: str | int) -> Iterator[str]:
    """The places that describe a property or an item."""
    here = at(schema, place)
    if not isinstance(here, dict):
        return
    if isinstance(step, str):
        yield from of_property(place, here, step)
        return
    for name in ("prefixItems", "items"):
        parts = here.get(name)
        if isinstance(parts, list):
            if step < len(parts):
                yield f"{place}/{name}/{step}"
                return
        elif parts is not None:
            yield f"{place}/{name}"
            return
    if "additionalItems" in here:
        yield f"{place}/additionalItems"


def of_property(place: str, here: dict[str, Any], key: str) -> Iterator[str]:
    is_named = False
    if key in as_dict(here.get("properties")):
        is_named = True
        yield f"{place}/properties/{escaped(key)}"
    for pattern in as_dict(here.get("patternProperties")):
        if matches(pattern, key):
            is_named = True
            yield f"{place}/patternProperties/{escaped(pattern)}"
    if not is_named and "additionalProperties" in here:
        yield f"{place}/additionalProperties"


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def matches(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:  # ECMA-262 has patterns that Python does not
        return False


def at(schema: Any, place: str) -> Any:
    """The value at a JSON pointer; None where there is none."""
    for step in place.split("/")[1:]:
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


def pointer(path: tuple[str | int, ...]) -> str:
    return "".join(f"/{escaped(step)}" for step in path)
