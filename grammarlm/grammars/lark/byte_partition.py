"""Divides the bytes so that none of some sets of bytes distinguishes two in one piece."""

from __future__ import annotations

from collections.abc import Sequence

Piece = tuple[
    int, tuple[int, ...]
]  # bytes that some sets do not distinguish, the indices of the sets that contain them


def split(sets: Sequence[int]) -> list[Piece]:
    """The coarsest partition of which each given set is a union; each piece with the indices of the sets that contain it."""
    numbers: dict[int, list[int]] = {}
    for number, bits in enumerate(sets):
        numbers.setdefault(bits, []).append(number)
    pieces: list[tuple[int, int]] = []  # bytes; the sets that contain them, as bits
    owners = list(numbers.values())
    every = 0
    for number, bits in enumerate(numbers):
        mark, rest = 1 << number, bits
        if bits & every:
            refined: list[tuple[int, int]] = []
            for at, (known, marks) in enumerate(pieces):
                both = known & rest
                if not both:
                    refined.append((known, marks))
                    continue
                refined.append((both, marks | mark))
                if both != known:
                    refined.append((known ^ both, marks))
                rest ^= both
                if not rest:
                    refined += pieces[at + 1 :]
                    break
            pieces = refined
        if rest:
            pieces.append((rest, mark))
        every |= bits
    return [(bits, _members(marks, owners)) for bits, marks in pieces]


def _members(marks: int, owners: list[list[int]]) -> tuple[int, ...]:
    """The indices, in order, that belong to the marks."""
    if not marks & (marks - 1):
        return tuple(owners[marks.bit_length() - 1])
    found: list[int] = []
    while marks:
        lowest = marks & -marks
        found += owners[lowest.bit_length() - 1]
        marks ^= lowest
    return tuple(sorted(found))
