"""Sets of code points as sorted, disjoint, non-adjacent ranges: `((0x61, 0x7A), (0xE9, 0xE9))`.

Surrogates are never members: no UTF-8 text contains them. A set of thousands of characters is a few hundred ranges (letters: 650),
so union and complement cost microseconds. Unicode properties come from the `regex` package, by one scan over all characters per
property (milliseconds, cached).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

from .unicode_cache import code_points

CharSet = tuple[tuple[int, int], ...]
T = TypeVar("T")

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
ALL: CharSet = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST))
NEWLINE: CharSet = ((10, 10),)
DIGITS: CharSet = ((48, 57),)
SPACES: CharSet = ((9, 13), (32, 32))
WORD: CharSet = ((48, 57), (65, 90), (95, 95), (97, 122))


MOST_RANGES = 1000  # of a set that functions remember what they made of: letters have 650; those that strangers write may have more


def remembers_sets(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorates a function of a set: the answers for the last `most` sets are kept, but of none that is larger than usual."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        known = lru_cache(maxsize=most)(function)

        @wraps(function)
        def asked(chars: CharSet, *more: Any) -> T:
            return (known if len(chars) <= MOST_RANGES else function)(chars, *more)

        return asked

    return decorate


def union(*sets: Iterable[tuple[int, int]]) -> CharSet:
    """The union of the sets (which may be unsorted and overlap), without surrogates."""
    ranges = sorted(r for s in sets for r in s)
    merged: list[list[int]] = []
    for low, high in ranges:
        if merged and low <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return _without_surrogates(merged)


def _without_surrogates(ranges: list[list[int]]) -> CharSet:
    first, last = SURROGATES
    out = []
    for low, high in ranges:
        if high < first or low > last:
            out.append((low, high))
            continue
        if low < first:
            out.append((low, first - 1))
        if high > last:
            out.append((last + 1, high))
    return tuple(out)


@remembers_sets(512)
def negate(chars: CharSet) -> CharSet:
    """Every character that is not in the set."""
    out, start = [], 0
    for low, high in chars:
        if low > start:
            out.append([start, low - 1])
        start = high + 1
    if start <= LAST:
        out.append([start, LAST])
    return _without_surrogates(out)


def intersect(a: CharSet, b: CharSet) -> CharSet:
    return negate(union(negate(a), negate(b)))


def partition(chars: CharSet, sets: Iterable[CharSet]) -> list[tuple[CharSet, int]]:
    """The characters by the sets that they are in, whose numbers are bits."""
    atoms: list[tuple[CharSet, int]] = [(chars, 0)]
    for index, other in enumerate(sets):
        inside = [(intersect(atom, other), bits | 1 << index) for atom, bits in atoms]
        outside = [(intersect(atom, negate(other)), bits) for atom, bits in atoms]
        atoms = [(atom, bits) for atom, bits in inside + outside if atom]
    return atoms


def contains(chars: CharSet, code_point: int) -> bool:
    return any(low <= code_point <= high for low, high in chars)


@lru_cache(maxsize=256)
def unicode_property(name: str) -> CharSet:
    """The characters of `\\p{name}`; KeyError where the name is unknown."""
    if not re.fullmatch(r"[\w .=:-]{1,100}", name, re.ASCII):  # it becomes part of a pattern, and of a file's name
        raise KeyError(name)
    file = "property-" + re.sub("[ _-]", "", name.lower())  # names are compared in this normal form
    nothing = (1, 0)  # a table has at least one row
    rows = code_points(file, lambda: list(_property(name)) or [nothing])
    return tuple((low, high) for low, high in rows if low <= high)


def _property(name: str) -> CharSet:
    import regex

    try:
        pattern = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        raise KeyError(name) from None
    return _matching(pattern)


@lru_cache(maxsize=8)
def unicode_category(letter: str) -> CharSet:
    """What Python's `re` matches for `\\d`, `\\s` or `\\w` in Unicode mode."""
    ranges = code_points(f"category-{letter}", lambda: list(_matching(re.compile(rf"\{letter}+"))))
    return tuple((low, high) for low, high in ranges)


def _matching(pattern) -> CharSet:
    matches = pattern.finditer(_every_character())
    return union((m.start(), m.end() - 1) for m in matches if m.end() > m.start())


@lru_cache(maxsize=1)
def _every_character() -> str:
    """Character i at index i; surrogates are kept as they are and removed from every set afterwards."""
    return np.arange(LAST + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@remembers_sets(512)
def ignore_case(chars: CharSet, unicode: bool) -> CharSet:
    """All characters that `re` matches for those of the set under IGNORECASE.

    ASCII mode pairs a-z with A-Z only. Unicode mode compares simple lower case, and lower-case letters that share an upper-case
    letter count as equal (k and the Kelvin sign, s and the long s).
    """
    if not unicode:
        shifted = [
            (max(low, a) + d, min(high, z) + d) for low, high in chars for a, z, d in ((65, 90, 32), (97, 122, -32))
        ]
        return union(chars, (r for r in shifted if r[0] <= r[1]))
    low, members, groups = _case_members()
    extra: list[tuple[int, int]] = []
    for first, last in chars:
        for place in range(bisect_left(low, first), bisect_right(low, last)):
            extra += [(other, other) for other in groups[members[place]]]
    return union(chars, extra)


@lru_cache(maxsize=1)
def _case_members() -> tuple[list[int], list[int], dict[int, list[int]]]:
    """Characters with case partners, sorted; the number of each one's group; the groups."""
    pairs = code_points(
        "case", lambda: sorted((c, number) for number, group in enumerate(_case_groups()) for c in group)
    )
    groups: dict[int, list[int]] = {}
    for c, number in pairs:
        groups.setdefault(number, []).append(c)
    return [c for c, _ in pairs], [number for _, number in pairs], groups


@lru_cache(maxsize=1)
def _case_groups() -> tuple[tuple[int, ...], ...]:
    groups: dict[str, list[int]] = {}
    for low, high in unicode_property("Changes_When_Casemapped"):
        for c in range(low, high + 1):
            lower = chr(c).lower()[0]  # more than one only for the dotted capital I, which `re` maps to i
            groups.setdefault(lower.upper(), []).append(c)
    return tuple(tuple(g) for g in groups.values() if len(g) > 1)
