"""The rows that every program begins with: any value, any value of each type."""

from __future__ import annotations

from grammarlm.grammars.json_schema.numbers.rows import pack
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape
from grammarlm.layout.json import ANY_STRING, Shape

LITERALS = {"true": 1, "false": 2, "null": 3}
NUMBER_TYPES = {
    "number": NumberShape(),
    "integer": NumberShape(integer=True),
    "plain integer": NumberShape(integer=True, plain=True),  # draft 4's: no fraction, no exponent
}
MOST_CHARACTERS = (1 << 38) - 1  # more than can ever be written


def template(tidy: bool) -> tuple[list[int], dict[str, int]]:
    """The rows that every program begins with, and their offsets: any value, any of each type. `tidy`: in plain spelling."""
    program = [0] * 8
    at = {"string": len(program)}
    program += [0, -1, 0, 0]
    at["nothing"] = len(program)
    program += [0, 0]
    for name, shape in NUMBER_TYPES.items():
        at[name] = len(program)
        program += pack(shape, tidy=tidy)
    at["anything"] = len(program)
    program += [7, 0] + [0] * 14
    ranks = len(program)
    program += [0, 0]
    at["object"] = len(program)
    program += [0, ranks, at["anything"], 0, 0, 0, -1, 0, 0, 0, 0, -1, ranks, 0, 0, 0]
    ways = len(program)
    program += [1, at["anything"], 0]
    items = len(program)
    program += [ways]
    at["array"] = len(program)
    program += [0, items, 0, -1, 0, 0, 0]
    alternatives = [
        (Shape.STRING, at["string"]), (Shape.NUMBER, at["number"]), (Shape.OBJECT, at["object"]), (Shape.ARRAY, at["array"]),
        (Shape.LITERAL, 1), (Shape.LITERAL, 2), (Shape.LITERAL, 3),
    ]  # fmt: skip
    for i, (kind, row_at) in enumerate(alternatives):
        program[at["anything"] + 2 + 2 * i : at["anything"] + 4 + 2 * i] = [int(kind), row_at]
    for name, (kind, row_at) in {
        "string": alternatives[0], "number": alternatives[1], "integer": (Shape.NUMBER, at["integer"]),
        "plain integer": (Shape.NUMBER, at["plain integer"]), "object": alternatives[2], "array": alternatives[3],
        "null": alternatives[6],
    }.items():  # fmt: skip
        at["type " + name] = len(program)
        program += [1, 0, int(kind), row_at]
    at["type boolean"] = len(program)
    program += [2, 0, int(Shape.LITERAL), 1, int(Shape.LITERAL), 2]
    at["end"] = len(program)
    return program, at


TEMPLATE, TEMPLATE_AT = template(False)
TEMPLATE_ROWS = {"any": TEMPLATE, "plain": template(True)[0]}  # by spelling
assert template(True)[1] == TEMPLATE_AT
assert TEMPLATE_AT["string"] == ANY_STRING


def bound(count: int | None) -> int:
    """A count of characters, keys or items; -1 where there is none."""
    return -1 if count is None else min(count, MOST_CHARACTERS)
