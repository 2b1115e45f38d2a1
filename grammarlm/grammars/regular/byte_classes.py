"""Byte equivalence classes of a language: the columns of its transition table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .terms import CHARS, LAZY, SCOPE, WORDS, Term
from .utf8 import Edges

EVERY_BYTE = (1 << 256) - 1


@dataclass(frozen=True)
class BytePartition:
    """Classes of bytes that no transition of a language distinguishes."""

    class_of: np.ndarray  # uint8 [256]
    samples: list[int]  # one byte of each class, as a 256-bit integer
    used: list[int]  # the byte sets that the language mentions
    known: dict[int, list[int]] = field(default_factory=dict)  # cache: byte set -> its classes

    def classes_in(self, bits: int) -> list[int]:
        """The classes that make up the byte set."""
        classes = self.known.get(bits)
        if classes is None:
            if bits & (bits - 1):
                classes = [index for index, sample in enumerate(self.samples) if bits & sample]
            else:  # one byte, the most frequent case
                classes = [int(self.class_of[bits.bit_length() - 1])] if bits else []
            self.known[bits] = classes
        return classes


def byte_partition(*roots: Term, sets: Iterable[int] = ()) -> BytePartition:
    """Bytes are in one class iff each byte set in the terms, and each of `sets`, contains all or none of them."""
    sets = sorted({*byte_sets(roots, ()), *sets})
    packed = np.frombuffer(b"".join([bits.to_bytes(32, "little") for bits in sets]), np.uint8).reshape(-1, 32)
    columns = np.packbits(np.unpackbits(packed, axis=1, bitorder="little"), axis=0).T
    # A byte's membership in all sets, as a bit string. numpy strips trailing zero bytes, which makes no two of them equal.
    members = np.ascontiguousarray(columns).view(f"S{columns.shape[1]}").ravel().tolist()
    first = dict(zip(reversed(members), range(255, -1, -1), strict=True))  # the first byte of each class
    order = sorted(first.values())
    index = {members[byte]: place for place, byte in enumerate(order)}
    class_of = np.frombuffer(bytes([index[member] for member in members]), np.uint8)
    return BytePartition(class_of, [1 << byte for byte in order], sets)


def byte_sets(roots: Iterable[Term], below: Iterable[Edges]) -> list[int]:
    """All byte sets of the terms and the character automata reachable from them; bits that stand for no byte are removed."""
    sets: set[int] = {0}
    letters: set[int] = set()  # of words: sets of one byte
    terms, seen = list(roots), set(roots)
    nodes: list[Any] = list(below)
    known = {id(node) for node in nodes}
    while terms:
        term = terms.pop()
        kind = term.kind
        if kind == WORDS:
            words, low, high, depth = term.data
            if high == low + 1:
                letters.update(words.value[low][depth:])
            else:
                letters.update(_letters(b"".join([w[depth:] for w in words.value[low:high]])))
        elif kind == LAZY:
            source, key = term.data
            sets.update(source.byte_sets(key))
        elif kind == CHARS or kind == SCOPE:
            for root in (term.data,) if kind == CHARS else term.data:
                if id(root) not in known:
                    known.add(id(root))
                    nodes.append(root)
        for part in term.parts:
            if part not in seen:
                seen.add(part)
                terms.append(part)
    while nodes:
        for bits, target in nodes.pop():
            sets.add(bits & EVERY_BYTE)
            if isinstance(target, tuple) and id(target) not in known:
                known.add(id(target))
                nodes.append(target)
    sets.update([1 << byte for byte in letters])
    return sorted(sets)


def _letters(text: bytes) -> Iterable[int]:
    """The bytes of the text, deduplicated if it is long."""
    if len(text) < 4096:
        return text
    found: list[int] = np.flatnonzero(np.bincount(np.frombuffer(text, np.uint8), minlength=256)).tolist()
    return found
