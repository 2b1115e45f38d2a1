"""How many cases a schema may come down to, and the refusals of those that have more."""

from __future__ import annotations

from typing import Any

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape

MULTIPLIED = ("oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "contains")  # keywords that multiply cases
MOST_ALTERNATIVES = 512
MOST_UNFINISHED = 4_096  # shapes of one type, before all keywords are applied


def check_size(size: int, what: str, pointer: str | None = None) -> None:
    if size > MOST_ALTERNATIVES:
        where = "" if pointer is None else f"{pointer or '#'}: "
        raise UnsupportedFeature(
            f"{where}{what}: more than {MOST_ALTERNATIVES} cases; write the schema with fewer alternatives",
            pointer=pointer,
            keywords=MULTIPLIED,
        )


def check_unfinished(size: int, pointer: str | None = None) -> None:
    if size > MOST_UNFINISHED:
        check_size(size, "alternatives", pointer)


def check_alternatives(shapes: Any, pointer: str) -> None:
    """Refuses too many; single numbers from a list are not counted."""
    if len(shapes) > MOST_ALTERNATIVES:
        points = sum(isinstance(s, NumberShape) and s.low is not None and s.low == s.high for s in shapes)
        check_size(len(shapes) - points, "alternatives", pointer)
