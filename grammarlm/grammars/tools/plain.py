"""Schemas of the simple form that most tools have, closed by hand: reading them by the general rules takes ten times as long.

closed({"type": "object", "properties": {"a": {"type": "string"}}})     the same with "additionalProperties": False
closed({"type": "object", "minProperties": 2})                          None: not of this form
"""

from __future__ import annotations

from typing import Any

ANNOTATIONS = frozenset(["title", "description", "default", "examples"])
SCALARS = frozenset(["string", "integer", "number", "boolean", "null"])
DEEPEST = 50


def closed(schema: Any, depth: int = 0) -> dict[str, Any] | None:
    """A copy without undeclared properties, where that is plain to see, and that there is a value; else None."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return None
    kind, words = schema.get("type"), frozenset(schema) - ANNOTATIONS
    if kind == "object":
        return _object(schema, words, depth)
    if kind == "array" and words <= {"type", "items", "maxItems"}:
        items = closed(schema.get("items"), depth + 1)
        return None if items is None or schema.get("maxItems", 1) is True else {**schema, "items": items}
    if words == {"anyOf"}:
        sides = schema["anyOf"] if isinstance(schema["anyOf"], list) else []
        found = [closed(side, depth + 1) for side in sides]
        return {**schema, "anyOf": found} if found and None not in found else None
    if words == {"type"}:
        kinds = kind if isinstance(kind, list) else [kind]
        return schema if kinds and all(isinstance(name, str) and name in SCALARS for name in kinds) else None
    if "enum" in words and words <= {"type", "enum"} and kind in ("string", None):
        listed = schema["enum"]
        has_one = isinstance(listed, list) and bool(listed) and all(isinstance(value, str) for value in listed)
        return schema if has_one else None
    if kind in ("integer", "number") and words <= {"type", "minimum", "maximum"}:
        low, high = schema.get("minimum", 0), schema.get("maximum", schema.get("minimum", 0))
        return schema if type(low) is int and type(high) is int and low <= high else None
    return None


def _object(schema: dict[str, Any], words: frozenset[str], depth: int) -> dict[str, Any] | None:
    declared, required = schema.get("properties"), schema.get("required", [])
    if not words <= {"type", "properties", "required", "additionalProperties"} or not isinstance(declared, dict):
        return None
    if schema.get("additionalProperties") not in (None, False) or not isinstance(required, list):
        return None
    found = {name: closed(inner, depth + 1) for name, inner in declared.items() if isinstance(name, str)}
    if None in found.values() or len(found) < len(declared) or not all(isinstance(name, str) for name in required):
        return None
    if not set(required) <= found.keys():
        return None
    return {**schema, "properties": found, "additionalProperties": False}
