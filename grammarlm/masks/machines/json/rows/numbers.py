"""Numbers as rows: a row a shape (grammars/json_schema/numbers/rows.py), written once."""

from __future__ import annotations

from fractions import Fraction

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.numbers.plans import beyond_caps
from grammarlm.grammars.json_schema.numbers.rows import in_halves, pack
from grammarlm.grammars.json_schema.shapes.shapes import Node, NumberShape
from grammarlm.layout.numbers import Flag, Number

from .template import NUMBER_TYPES, TEMPLATE_AT

NUMBERS_AT = {shape: TEMPLATE_AT[name] for name, shape in NUMBER_TYPES.items()}


class NumberRows:
    """The numbers of one program."""

    def __init__(self, rows: list[int], blob: bytearray, is_tidy: bool):
        self._rows, self._blob, self.is_tidy = rows, blob, is_tidy
        self._written = NUMBERS_AT.copy()
        self._compared: dict[NumberShape, int | None] = {}  # single values of items that must differ; None: not written

    def row(self, shape: NumberShape, node: Node) -> int:
        if shape in self._compared:
            return self._compared_row(shape, node)
        known = self._written.get(shape)
        if known is None:
            if numbers.is_empty(shape):  # a row without numbers would be a dead end
                raise UnsupportedFeature(beyond_caps(shape), pointer=node.pointer)
            row = pack(shape, self._rows, tidy=self.is_tidy, pointer=node.pointer)
            known = self._written[shape] = len(self._rows)
            self._rows += row
        return known

    def compare(self, values: list[NumberShape]) -> None:
        """From now on the rows of these single values have the text by which items that must differ are compared."""
        for value in values:
            self._compared.setdefault(value)

    def _compared_row(self, value: NumberShape, node: Node) -> int:
        known = self._compared[value]
        if known is None:
            assert value.low is not None
            row, text = pack(value, self._rows, tidy=self.is_tidy, pointer=node.pointer), _canonical(value.low)
            known = self._compared[value] = len(self._rows) + 2
            row[Number.FLAGS] |= Flag.SINGLE
            self._rows += [len(self._blob), len(text), *row]
            self._blob += text
        return known


def halves_of(shape: NumberShape) -> list[NumberShape]:
    """The shapes that plain spelling needs in place of one."""
    halves = in_halves(shape)
    return halves if len(halves) == 1 else [half for half in halves if _is_written(half)]


def _is_written(half: NumberShape) -> bool:
    """Does the half of a shape have a number, with not too many digits?"""
    try:
        return not numbers.is_empty(half)
    except UnsupportedFeature:
        return False


def _canonical(value: Fraction) -> bytes:
    """The text that json_unique.number_ended makes of a number."""
    if not value:
        return b"n"
    power, digits = 0, abs(value)
    while digits.denominator != 1:
        digits, power = digits * 10, power - 1
    whole = int(digits)
    while whole % 10 == 0:
        whole, power = whole // 10, power + 1
    return b"n" + (b"-" if value < 0 else b"") + str(whole).encode() + (power + 65536).to_bytes(3, "little")
