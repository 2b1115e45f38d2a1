"""What ends a number: its digits are computed, not searched.

    {"multipleOf": 9973, "minimum": 1000000}     "1"       007273
    {"minimum": 1e300}                           "1"       e300
    {"multipleOf": 0.01}                         "0.123"   nothing ends it, but then the machine does not read it either

If n more digits are written, the number is d 10^n + r, where 0 <= r < 10^n and d are the digits so far. Whether it is a multiple of
m depends on the remainder of d, which the state has; whether it is within the bounds depends on d where its digits are those of a
bound, and then they are known. So the least r follows, then r + m, r + 2m, ... With an exponent the place of the digits is free:
then they are a multiple of the part of m without twos and fives, and the state after the `e` has the exponents that are left.

What is computed is read by the machine before it counts: it excludes multiples (`not`), and has the rules of a plain spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from math import gcd
from typing import NamedTuple

from grammarlm.layout.json import ROW
from grammarlm.layout.numbers import (
    AT_ZERO,
    COUNT,
    COUNT_MASK,
    EQUAL,
    EXPONENT,
    EXPONENT_BIAS,
    EXPONENT_BITS,
    EXPONENT_MASK,
    GREATER,
    HIGH_ORDER,
    INTEGER,
    LEAST_TIDY,
    LESS,
    LOW_ORDER,
    MINUS,
    MOST_TIDY,
    NOUGHT,
    NOUGHT_POINT,
    NOUGHTS,
    PLACE,
    SIGN,
    START,
    TRAILING,
    Bound,
    Flag,
    Number,
)
from grammarlm.masks.filters.budget import INFINITE

from .reader import Reader

FEW = 4  # ends of one length of which the one with the fewest tokens is taken
SHORT = 2  # bytes: no exponent is shorter
SOON = 3  # digits that are tried first, without an exponent and before one
ZEROS = {START: (b"0", b"0.0"), MINUS: (b"0", b"0.0"), NOUGHT: (b"", b".0"), NOUGHT_POINT: (b"0",)}  # what makes 0
EXCLUDED = 2  # digits more, so that not all multiples are excluded ones
SHORT_EXPONENT = 8  # bytes of an end with an exponent that is taken before more than a few digits are tried
FEW_MULTIPLES = 12  # that are tried before an exponent
TRIED = 64  # texts of one run that the machine refuses one after the other; ten excluded multiples exclude at most 45 in a row


class Begun(NamedTuple):
    """What was read of a number before an exponent."""

    phase: int
    length: int  # digits from the first that is not 0
    trailing: int  # zeros at their end
    rest: int  # the remainder of the digits before these
    place: int  # power of ten of the first digit as written
    decimals: int | None  # digits after the point; None: before it, where digits may come
    low_order: int  # of the digits against as many of the bounds
    high_order: int


class NumberEndings:
    """What ends the numbers of one program."""

    def __init__(self, reader: Reader):
        self._reader, self._rows = reader, reader.rows

    def shortest(self, c: int, x: int, y: int) -> bytes | None:
        """The rest of a number: of the shortest ones, in digits and with an exponent, that with the fewest tokens."""
        for stage in self._stages(c, x, y):
            found: list[bytes] = []
            for runs in stage:
                if found and len(found[0]) <= SHORT:
                    break
                of_length: list[bytes] = []
                for text in self._ends(c, x, y, runs):
                    if of_length and len(text) != len(of_length[0]):
                        break
                    of_length.append(text)
                    if len(of_length) == FEW:
                        break
                found += of_length
            if found:
                return min(found, key=self._reader.measure)
        return None

    def several(self, c: int, x: int, y: int) -> Iterator[bytes]:
        """The rests of different numbers, short ones first."""
        known = set()
        for text in (text for stage in self._stages(c, x, y) for runs in stage for text in self._ends(c, x, y, runs)):
            value = text[:-2] if text.endswith(b".0") else text
            if value not in known:
                known.add(value)
                yield text

    def ceiling(self, c: int, x: int, y: int) -> int:
        """Tokens that end a number before its point, whatever its remainder: as many digits reach a multiple as the divisor has,
        with some to spare for those that are excluded. INFINITE where bounds or the number of digits may be in the way."""
        row, phase = c >> 11 & ROW, x & 15
        if phase != INTEGER:
            return INFINITE
        begun, at = _begun(x, y), row + (Number.NEGATIVE if x & SIGN else Number.POSITIVE)
        digits = max(len(str(self._rows[row + Number.STEP])) + EXCLUDED, self._rows[at + Bound.LOW] + 1 - begun.place)
        is_free = (
            begun.place + digits < self._rows[at + Bound.HIGH]
            and begun.length + digits <= self._rows[row + Number.DIGITS]
        )
        return max(digits, SHORT_EXPONENT) if is_free else INFINITE

    # ------------------------------------------------------------------ texts

    def _ends(self, c: int, x: int, y: int, runs: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
        """Those of the texts that the machine reads as the rest of the number."""
        for run in runs:
            self._reader.program.clock.check()
            refused = 0
            for text in run:
                after = self._read(c, x, y, text)
                if after:
                    yield text
                refused = 0 if after else refused + 1
                if refused == TRIED:
                    break

    def _read(self, c: int, x: int, y: int, text: bytes) -> bool:
        with self._reader.scratch():
            record = self._reader.record(c, x, y, 0)
            after = self._reader.read(record, text) if text else record
            return bool(after) and self._reader.ends(after)

    def _stages(self, c: int, x: int, y: int) -> Iterator[list[Iterable[Iterable[bytes]]]]:
        """Texts that may be the rest of a number: first few digits, and few with an exponent; then more digits; then more with an
        exponent. Those of a run differ in their digits alone."""
        row, phase = c >> 11 & ROW, x & 15
        if phase >= EXPONENT:
            most = self._rows[row + Number.EXPONENT_DIGITS]
            yield [[(b"",)], _rests_of_exponent(y, phase, self._rows[row + Number.FLAGS], most)]
            return
        begun = _begun(x, y)
        sides = [(b"", x & SIGN)] if phase != START else [(b"", 0), (b"-", SIGN)]
        numbers = [_Numbers(self, row, sign, negative, begun) for sign, negative in sides]
        numbers = [each for each in numbers if each.bottom <= each.top]
        most = max([each.most for each in numbers], default=0)

        def in_digits(counts: Iterable[int]) -> Iterable[Iterable[bytes]]:
            return (run for count in counts for each in numbers for run in each.digits(count))

        def with_exponents(counts: Iterable[int]) -> Iterable[Iterable[bytes]]:
            return (each.with_exponent(c, x, y, count) for count in counts for each in numbers)

        zeros = [ZEROS.get(phase, (b"",))]
        yield [zeros, in_digits(range(1, SOON + 1)), with_exponents(range(SOON))]
        yield [in_digits(range(SOON + 1, most + 1))]
        yield [with_exponents(range(SOON, most + 1))]

    def exponents(self, c: int, x: int, y: int, text: bytes) -> list[bytes]:
        """The exponents nearest to zero that may follow a mantissa."""
        with self._reader.scratch():
            after = self._reader.read(self._reader.record(c, x, y, 0), text + b"e")
            if not after:
                return []
            _, _, limits, _ = self._reader.threads(after)[0]
        return _nearest(limits, self._rows[(c >> 11 & ROW) + Number.FLAGS])

    @property
    def rows(self) -> memoryview:
        return self._rows


class _Numbers:
    """The numbers of one sign that go on from what was read."""

    def __init__(self, endings: NumberEndings, row: int, sign: bytes, negative: int, begun: Begun):
        self._endings, self._sign, self._begun = endings, sign, begun
        rows, at = endings.rows, row + (Number.NEGATIVE if negative else Number.POSITIVE)
        self._room = rows[row + Number.DIGITS] - begun.length
        self.most = self._room if begun.length else self._room + rows[row + Number.ZEROS] - (begun.decimals or 0)
        self._step, self._finest = rows[row + Number.STEP], rows[row + Number.FINEST]
        self._is_free = not rows[row + Number.FLAGS] & Flag.PLAIN
        self._is_tidy = rows[row + Number.FLAGS] & Flag.TIDY
        self.bottom, self.top = rows[at + Bound.LOW], rows[at + Bound.HIGH]
        self._low, self._high = (_digits_of(rows, at + column) for column in (Bound.LOW_LENGTH, Bound.HIGH_LENGTH))

    def digits(self, count: int) -> Iterator[Iterable[bytes]]:
        """Rests of so many digits, with a point wherever it may stand."""
        begun = self._begun
        if begun.decimals is not None:
            if begun.phase == NOUGHT:
                yield (b"." + b"%0*d" % (count, more) for more in self._multiples(0, count))
            else:
                yield (b"%0*d" % (count, more) for more in self._multiples(0, count))
            return
        fewest = 0 if begun.length else 1  # digits before the point
        least, most = max(self.bottom - begun.place, fewest), max(self.top - begun.place, fewest)
        for whole in range(min(count, most), least - 1, -1):
            if whole != 1 and count > self._room:
                continue  # zeros before the first other digit are not counted
            if whole == count or (self._is_free and not (self._is_tidy and begun.place + whole > MOST_TIDY)):
                texts = (self._sign + b"%0*d" % (count, more) for more in self._multiples(whole, count - whole))
                yield texts if whole == count else (_pointed(text, whole - count) for text in texts)

    def _multiples(self, whole: int, decimals: int) -> Iterator[int]:
        """What so many digits before the point, and after it, may be as one number. Zeros at the end of a fraction are left out."""
        begun, count = self._begun, whole + decimals
        limits = self._limits(whole, decimals)
        if limits is None:
            return
        step, place = self._step, self._finest + (begun.decimals or 0) + decimals
        known, tens = begun.rest * 10**begun.trailing, max(min(place, count), 0)
        if step > 1 and place < 0:
            step //= gcd(step, 10**-place)
        if place > count:  # the digits are zeros, and those before them end in enough of them
            if begun.trailing < place - count or known // 10 ** (place - count) % step:
                return
            step = 1
        unit = 10**tens
        first, step = -known * 10 ** (count - tens) % step * unit, step * unit
        low, high = limits
        low += (first - low) % step
        is_shorter = (begun.decimals or 0) + decimals > 1  # the same number without its last zero
        if is_shorter and step % 10 == 0 and low % 10 == 0:
            return
        for more in range(low, high + 1, step):
            if more % 10 or not is_shorter:
                yield more

    def _limits(self, whole: int, decimals: int) -> tuple[int, int] | None:
        """Between which numbers the next digits are, so that the value is within the bounds."""
        begun, count = self._begun, whole + decimals
        low, high = 0, 10**count - 1
        if not begun.length:  # of a number before the point the first digit is no zero, unless it stands alone
            after = (begun.decimals or 0) + decimals
            low = max(1, 10 ** (count - 1) if whole > 1 else 0, -(-_units(self.bottom, self._low or "1", after) // 1))
            return low, min(high, _units(self.top, self._high, after) // 1)
        power = begun.place + whole
        if not self.bottom <= power <= self.top:
            return None
        if power == self.bottom and begun.low_order != GREATER:
            low = 10**count if begun.low_order == LESS else _next(self._low, begun.length, count, 1)
        if power == self.top and begun.high_order != LESS:
            high = -1 if begun.high_order == GREATER else _next(self._high, begun.length, count, 0)
        return low, high

    def with_exponent(self, c: int, x: int, y: int, count: int) -> Iterator[bytes]:
        """So many digits, and an exponent."""
        begun = self._begun
        if not self._is_free or (not begun.length and not count):
            return
        whole = begun.decimals is None and not begun.length  # one digit before the point
        if whole and count > self._room:
            return
        for more in self._mantissas(count, whole):
            text = self._sign + (b"%0*d" % (count, more) if count else b"")
            if count > whole and (begun.phase == NOUGHT or (begun.decimals is None and self._is_tidy)):
                text = _pointed(text, whole - count)
            for exponent in self._endings.exponents(c, x, y, text):
                yield text + b"e" + exponent

    def _mantissas(self, count: int, whole: bool) -> Iterator[int]:
        """What so many digits may be before an exponent: multiples, and the digits of the bounds."""
        begun, most = self._begun, 10**count
        least = 10 ** (count - 1) if whole else 0 if begun.length else 1
        for step in dict.fromkeys((_coprime_to_ten(self._step), self._step)):
            low = least + (-begun.rest * 10 ** (begun.trailing + count) - least) % step
            yield from islice((more for more in range(low, most, step) if more % 10 or count < 2), FEW_MULTIPLES)
        for order, digits, up in ((begun.low_order, self._low, 1), (begun.high_order, self._high, 0)):
            if order == EQUAL and digits and least <= (more := _next(digits, begun.length, count, up)) < most:
                yield more


def _coprime_to_ten(step: int) -> int:
    for factor in (2, 5):
        while step % factor == 0:
            step //= factor
    return step


def _begun(x: int, y: int) -> Begun:
    phase = x & 15
    if phase <= NOUGHTS:
        decimals = None if phase <= MINUS else x >> PLACE if phase == NOUGHTS else 0
        return Begun(phase, 0, 0, 0, -1, decimals, EQUAL, EQUAL)
    count, place = x >> COUNT & COUNT_MASK, (x >> PLACE) - AT_ZERO
    decimals = None if phase == INTEGER else count - 1 - place
    return Begun(phase, count, x >> TRAILING & COUNT_MASK, y, place, decimals, x >> LOW_ORDER & 3, x >> HIGH_ORDER & 3)


def _digits_of(rows: memoryview, at: int) -> str:
    """The digits of a bound: sixteen a word, the first one in the lowest bits."""
    length, first = rows[at], rows[at + 1]
    return "".join(str(rows[first + (i >> 4)] >> ((i & 15) << 2) & 15) for i in range(length))


def _next(digits: str, read: int, count: int, up: int) -> int:
    """The digits of a bound after those that were read, as a number: rounded up, or down."""
    more = int(digits[read : read + count].ljust(count, "0") or 0)
    return more + (up and bool(digits[read + count :].strip("0")))


def _units(power: int, digits: str, after: int) -> Fraction:
    """A bound in units of 10^-after."""
    return int(digits) * Fraction(10) ** (power - len(digits) + 1 + after)


def _pointed(text: bytes, place: int) -> bytes:
    return text[:place] + b"." + text[place:]


def _nearest(limits: int, flags: int) -> list[bytes]:
    """The exponents nearest to zero between those that a state after an `e` has; a plain spelling has none of few digits."""
    low, high = (((limits >> shift) & EXPONENT_MASK) - EXPONENT_BIAS for shift in (0, EXPONENT_BITS))
    if not flags & Flag.TIDY:
        return [b"%d" % max(low, min(high, 0))]
    found = [max(low, MOST_TIDY + 1), min(high, LEAST_TIDY - 1)]
    return [b"%+03d" % power for power in found if low <= power <= high]


def _rests_of_exponent(y: int, phase: int, flags: int, most: int) -> Iterator[Iterable[bytes]]:
    """Rests of an exponent that has begun."""
    if phase == EXPONENT:
        yield _nearest(y, flags)
        return
    low, high, value = (y >> shift & EXPONENT_MASK for shift in (0, EXPONENT_BITS, 2 * EXPONENT_BITS))
    for count in range(1, most + 1 - (y >> 3 * EXPONENT_BITS)):
        begun, wide = value * 10**count, 10**count
        yield (b"%0*d" % (count, more) for more in range(max(low - begun, 0), min(high - begun, wide - 1) + 1))
