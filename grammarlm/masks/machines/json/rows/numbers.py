"""Numbers as rows: a row a shape (grammars/json_schema/numbers/rows.py), written once."""

from __future__ import annotations

from fractions import Fraction

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.numbers.decimals import decimal
from grammarlm.grammars.json_schema.numbers.plans import beyond_caps
from grammarlm.grammars.json_schema.numbers.rows import pack
from grammarlm.grammars.json_schema.shapes.shapes import Node, NumberShape
from grammarlm.layout.numbers import Flag, Number

from .template import NUMBER_TYPES, TEMPLATE_AT

NUMBERS_AT = {shape: TEMPLATE_AT[name] for name, shape in NUMBER_TYPES.items()}


class NumberRows:
    """The numbers of one program."""

    def __init__(self, rows: list[int], blob: bytearray, is_tidy: bool):
        self._rows, self._blob, self._is_tidy = rows, blob, is_tidy
        self._written = NUMBERS_AT.copy()
        self._compared: dict[NumberShape, int | None] = {}  # single values of items that must differ; None: not written

    def row(self, shape: NumberShape, node: Node) -> int:
        if shape in self._compared:
            return self._compared_row(shape, node)
        known = self._written.get(shape)
        if known is None:
            if numbers.is_empty(shape):  # a row without numbers would be a dead end
                raise UnsupportedFeature(beyond_caps(shape), pointer=node.pointer)
            known = self._written[shape] = len(self._rows)
            self._rows += pack(shape, tidy=self._is_tidy, pointer=node.pointer)
        return known

    def compare(self, values: list[NumberShape]) -> None:
        """From now on the rows of these single values have the text by which items that must differ are compared."""
        for value in values:
            self._compared.setdefault(value)

    def _compared_row(self, value: NumberShape, node: Node) -> int:
        known = self._compared[value]
        if known is None:
            assert value.low is not None
            row, text = pack(value, tidy=self._is_tidy, pointer=node.pointer), _canonical(value.low)
            known = self._compared[value] = len(self._rows) + 2
            self._rows += (len(self._blob), len(text), *row)
            self._rows[known + Number.FLAGS] |= Flag.SINGLE
            self._blob += text
        return known


def _canonical(value: Fraction) -> bytes:
    """The text that json_unique.number_ended makes of a number."""
    if not value:
        return b"n"
    digits, power = decimal(abs(value))
    return b"n" + (b"-" if value < 0 else b"") + str(digits).encode() + (power + 65536).to_bytes(3, "little")
