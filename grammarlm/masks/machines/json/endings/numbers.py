"""What ends a number: texts that a kernel finds, few bytes first.

    {"multipleOf": 9973, "minimum": 1000000}     "1"       007273
    {"minimum": 1e300}                           "1"       e300
    {"multipleOf": 0.01}                         "0.123"   nothing ends it, but then the machine does not read it either

A number is live only if it can be ended. So digits are tried where the number stays live under a cap that leaves room for no more
than may still be written (kernels/cpu/json/number_rests.py). With an exponent the place of the digits is free: such texts are
looked for apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.json import ROW
from grammarlm.layout.json_calls import RESTS, Rests
from grammarlm.layout.numbers import (
    AT_ZERO,
    COUNT,
    COUNT_MASK,
    EXPONENT,
    INTEGER,
    PLACE,
    SIGN,
    Bound,
    Number,
)
from grammarlm.masks.filters.budget import INFINITE

from .reader import Reader

FEW = 4  # ends of one length of which the one with the fewest tokens is taken
MANY = 1024  # different numbers of one length
SHORT = 24  # bytes: so far lengths are tried one by one
EXCLUDED = 2  # digits more, so that not all multiples are excluded ones
SPELLED = 2  # bytes: .0


class NumberEndings:
    """What ends the numbers of one program."""

    def __init__(self, reader: Reader):
        self._reader, self._rows = reader, reader.rows

    def shortest(self, c: int, x: int, y: int) -> bytes | None:
        """The rest of a number: of the shortest ones, that with the fewest tokens."""
        for texts in self._by_length(c, x, y, FEW):
            if texts:
                return min(texts, key=self._reader.measure)
        return None

    def several(self, c: int, x: int, y: int) -> Iterator[bytes]:
        """The rests of different numbers, short ones first."""
        known = set()
        for text in (text for texts in self._by_length(c, x, y, MANY) for text in texts):
            value = text[:-2] if text.endswith(b".0") else text
            if value not in known:
                known.add(value)
                yield text

    def ceiling(self, c: int, x: int, y: int) -> int:
        """Tokens that end a number before its point, whatever its remainder: as many digits reach a multiple as the divisor has,
        with some to spare for those that are excluded. INFINITE where bounds or the number of digits may be in the way."""
        row = c >> 11 & ROW
        if x & 15 != INTEGER:
            return INFINITE
        rows, at = self._rows, row + (Number.NEGATIVE if x & SIGN else Number.POSITIVE)
        count, place = x >> COUNT & COUNT_MASK, (x >> PLACE) - AT_ZERO
        more = len(str(rows[row + Number.STEP])) + EXCLUDED + max(rows[row + Number.FINEST], 0)
        digits = max(more, rows[at + Bound.LOW] + 1 - place)
        is_free = place + digits < rows[at + Bound.HIGH] and count + digits <= rows[row + Number.DIGITS]
        return digits + SPELLED if is_free else INFINITE

    def _by_length(self, c: int, x: int, y: int, most: int) -> Iterator[list[bytes]]:
        """Texts of each length, then of ever more lengths together."""
        row, exponents = c >> 11 & ROW, (0, 1) if x & 15 < EXPONENT else (1,)
        shortest = longest = 0
        while longest < self._rows[row + Number.DIGITS] - self._rows[row + Number.LEAST] + SHORT:
            self._reader.program.clock.check()
            yield [text for exponent in exponents for text in self._texts(row, x, y, shortest, longest, exponent, most)]
            shortest, longest = longest + 1, longest + 1 if longest < SHORT else 2 * longest

    def _texts(self, row: int, x: int, y: int, shortest: int, longest: int, exponent: int, most: int) -> list[bytes]:
        """Rests of so many bytes, at most `most`; without an exponent (0), or with one (1)."""
        order, texts = np.zeros(Rests.LENGTH, np.int64), np.empty((longest + 1) * most, np.uint8)
        order[: Rests.TIGHT] = row, x, y, shortest, longest, exponent, most, entries.address_of(texts)
        size = entries.json_call(self._reader.machine.address, RESTS, entries.address_of(order), 0, 0)
        return texts[:size].tobytes().split(b"\n")[:-1]
