"""How a number that has begun can become a given value.

    5     0.5      e-1
    0.    0.05     05
    1     120      20, 20.0, 2e1
    5e    50       1

Of the many spellings of a value one or two are enough: what the machine refuses is left out by whoever reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from grammarlm.grammars.json_schema.numbers.plans import values
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape

from .values import parts_of, scalar_of

MOST_ZEROS = 400
FEW = 256  # values of a number that are tried one by one


class FewValues:
    """The values of number rows that have few."""

    def __init__(self, shapes: dict[int, NumberShape]):
        self._shapes = shapes
        self._known: dict[int, list[Fraction] | None] = {}

    def of(self, row: int) -> list[Fraction] | None:
        if row not in self._known:
            shape = self._shapes.get(row)
            self._known[row] = None if shape is None else values(shape, FEW)
        return self._known[row]


def number_ends(lexeme: bytes, value: Fraction) -> Iterator[bytes]:
    """Texts after which the number being read is the value."""
    text = lexeme.decode().lower()
    mantissa, ended, exponent = text.partition("e")
    negative, digits, power = _decimal(value)
    own_sign, own, _ = parts_of(mantissa.encode() + (b"0" if mantissa == "-" else b""))
    if digits and own_sign is not negative:
        return
    if not digits:
        if not own:
            yield from (b"", b"0") if ended else (b"", b"0", b".0")
        return
    if not (digits + "0" * len(own)).startswith(own):
        return
    fraction = len(mantissa.partition(".")[2])
    power -= max(len(own) - len(digits), 0)
    more = digits[len(own) :]
    if ended:
        if not more:
            yield from _exponent_ends(exponent, power + fraction)
    elif "." in mantissa:
        zeros = "" if own else "0" * min(max(-power - fraction - len(digits), 0), MOST_ZEROS)
        yield from _with_exponent(zeros + more, power + fraction + len(zeros + more))
    else:
        yield from _whole_ends(mantissa, more, power)


def _decimal(value: Fraction) -> tuple[bool, str, int]:
    power = 0
    while value.denominator != 1:
        value, power = value * 10, power - 1
    _, negative, digits, more = scalar_of(str(int(value)).encode())
    return negative, digits, power + more


def _with_exponent(more: str, power: int) -> Iterator[bytes]:
    if power == 0:
        yield more.encode()
        yield more.encode() + b"0"
    yield f"{more}e{power}".encode()
    yield f"{more}0e{power}".encode()


def _whole_ends(mantissa: str, more: str, power: int) -> Iterator[bytes]:
    """Of a number without a point."""
    if 0 <= power <= MOST_ZEROS:
        yield (more + "0" * power).encode()
        yield (more + "0" * power + ".0").encode()
    elif power < 0:
        if len(more) > -power or (len(more) == -power and mantissa != "-"):
            yield f"{more[:power]}.{more[power:]}".encode()
        elif -power <= MOST_ZEROS:
            begun = "0." if mantissa == "-" else "."
            yield (begun + "0" * (-power - len(more)) + more).encode()
    yield f"{more}e{power}".encode()
    if more:
        yield f".{more}e{power + len(more)}".encode()


def _exponent_ends(exponent: str, power: int) -> Iterator[bytes]:
    sign, read = exponent[:1], exponent.lstrip("+-").lstrip("0")
    wanted = str(abs(power))
    if not exponent:
        yield str(power).encode()
    elif power == 0:
        if not read:
            yield b"" if exponent[-1:].isdigit() else b"0"
    elif (sign == "-") is (power < 0) and wanted.startswith(read):
        yield wanted[len(read) :].encode()
