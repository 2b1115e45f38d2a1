"""Sets of code points as sorted ranges, their UTF-8 byte sequences, and what a character class of Python matches.

Surrogates are no text: they are left out of every set. For a pattern of bytes the characters are 0 to 255, a byte each.
"""

import re
from functools import cache

Range = tuple[int, int]
Ranges = tuple[Range, ...]

ANYTHING: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
ANY_BYTE: Ranges = ((0, 0xFF),)
# Boundaries at which UTF-8 needs one more byte, and the surrogate gap, which no range may straddle.
_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xD7FF, 0xDFFF, 0xFFFF)


def intersect(a: Ranges, b: Ranges) -> Ranges:
    """The code points in both."""
    return tuple(
        (max(low_a, low_b), min(high_a, high_b))
        for low_a, high_a in a
        for low_b, high_b in b
        if max(low_a, low_b) <= min(high_a, high_b)
    )


def complement(a: Ranges, within: Ranges = ANYTHING) -> Ranges:
    """The code points that are in `within` and not in `a`."""
    outside = []
    start = 0
    for low, high in a:
        if start < low:
            outside.append((start, low - 1))
        start = high + 1
    outside.append((start, 0x10FFFF))
    return intersect(tuple(r for r in outside if r[0] <= r[1]), within)


@cache
def class_ranges(source: str | bytes, flags: int) -> Ranges:
    """The single characters that Python's own `re` matches with the class `source`: read off a run over all of them."""
    if isinstance(source, bytes):
        found = re.compile(b"(?:" + source + b")+", flags).finditer(bytes(range(256)))
        return tuple((run.start(), run.end() - 1) for run in found)
    runs = re.compile(f"(?:{source})+", flags)
    return tuple(
        (low + run.start(), low + run.end() - 1)
        for (low, _), text in zip(ANYTHING, _all_characters(), strict=True)
        for run in runs.finditer(text)
    )


@cache
def _all_characters() -> list[str]:
    return ["".join(map(chr, range(low, high + 1))) for low, high in ANYTHING]


@cache
def utf8_sequences(low: int, high: int) -> tuple[tuple[Range, ...], ...]:
    """Sequences of byte ranges that together spell exactly the characters low..high, each character once.

    A range whose ends differ in one of their leading bytes is cut until every trailing byte runs over all of 80..BF.
    """
    for last in _LAST_OF_LENGTH:
        if low <= last < high:
            return utf8_sequences(low, last) + utf8_sequences(last + 1, high)
    if 0xD800 <= low <= 0xDFFF:
        return ()
    for trailing in (1, 2, 3):
        mask = (1 << 6 * trailing) - 1
        if low & ~mask != high & ~mask and high > 0x7F:
            if low & mask:
                return utf8_sequences(low, low | mask) + utf8_sequences((low | mask) + 1, high)
            if high & mask != mask:
                return utf8_sequences(low, (high & ~mask) - 1) + utf8_sequences(high & ~mask, high)
    return (tuple(zip(chr(low).encode(), chr(high).encode(), strict=True)),)
