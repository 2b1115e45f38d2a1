"""A set of code points as an automaton over the bytes of UTF-8.

A node is what may follow: a tuple of edges `(bytes, next)`, where `bytes` is a 256-bit integer (bit b = byte b) and `next` is a
node, or None where the character is complete. Equal nodes are one object, so "any two continuation bytes" exists once.

    é or ü          ((1 << 0xC3, (((1 << 0xA9 | 1 << 0xBC), None),)),)

Characters are grouped by their leading byte: with n - 1 continuation bytes to come, a character c has lead bits c >> 6 (n - 1). A
range that covers a whole group is not expanded, so a node costs time proportional to its ranges, not its characters.
"""

from __future__ import annotations

from functools import lru_cache

from .charset import CharSet, remembers_sets

Edges = tuple[tuple[int, "Edges | int | None"], ...]
Leaf = int | None

# First and last code point by encoded length, and the marker bits of the leading byte.
LENGTHS = ((0x0, 0x7F, 0x00), (0x80, 0x7FF, 0xC0), (0x800, 0xFFFF, 0xE0), (0x10000, 0x10FFFF, 0xF0))


def byte_range(first: int, last: int) -> int:
    """The bytes first..last as a 256-bit integer."""
    return (1 << (last + 1)) - (1 << first)


@remembers_sets(1024)
def encode(chars: CharSet) -> Edges:
    """The automaton of one character from the set."""
    return encode_map(((chars, None),))


def encode_map(groups: tuple[tuple[CharSet, Leaf], ...]) -> Edges:
    """One character from disjoint sets; an edge that completes a character leads to its set's leaf instead of None."""
    edges: dict = {}
    for length, (first, last, lead) in enumerate(LENGTHS):
        ranges = [
            (max(low, first), min(high, last), leaf)
            for chars, leaf in groups
            for low, high in chars
            if high >= first and low <= last
        ]
        for bits, target in _edges(sorted(ranges, key=lambda r: r[0]), length, lead).items():
            edges[bits] = edges.get(bits, 0) | target
    return _interned(edges)


def _edges(ranges: list, missing: int, marker: int) -> dict:
    """{next: bytes} for characters whose first byte carries `marker`, with `missing` continuation bytes after it."""
    edges: dict = {}
    shift = 6 * missing
    block = (1 << shift) - 1
    partial: dict[int, list] = {}
    for low, high, leaf in ranges:
        first, last = low >> shift, high >> shift
        if low & block:  # the group of `low` is partly covered
            partial.setdefault(first, []).append((low & block, (high & block) if first == last else block, leaf))
            first += 1
        if first <= last and high & block != block:
            partial.setdefault(last, []).append(((low & block) if last < first else 0, high & block, leaf))
            last -= 1
        if first <= last:
            target = _anything(missing, leaf)
            edges[target] = edges.get(target, 0) | byte_range(marker | first, marker | last)
    for group, inside in partial.items():
        target = _interned(_edges(inside, missing - 1, 0x80))
        edges[target] = edges.get(target, 0) | 1 << (marker | group)
    return edges


@lru_cache(maxsize=1024)
def _anything(missing: int, leaf: Leaf):
    return leaf if missing == 0 else _interned({_anything(missing - 1, leaf): byte_range(0x80, 0xBF)})


_KNOWN: dict = {}


def _interned(edges: dict) -> Edges:
    node = tuple(sorted(((bits, target) for target, bits in edges.items()), key=lambda e: e[0] & -e[0]))
    if len(_KNOWN) > 100_000:  # equal nodes may then exist twice, which costs only a little memory
        _KNOWN.clear()
    return _KNOWN.setdefault(node, node)
