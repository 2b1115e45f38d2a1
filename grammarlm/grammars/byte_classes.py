"""Which bytes a language does not tell apart: the columns of its transition table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .terms import CHARS, SCOPE, WORDS, Term
from .utf8 import Edges

EVERY_BYTE = (1 << 256) - 1


@dataclass(frozen=True)
class BytePartition:
    """Classes of bytes that no transition of a language tells apart."""

    class_of: np.ndarray  # uint8 [256]
    samples: list[int]  # for each class one of its bytes, as a 256-bit integer
    used: list[int]  # the byte sets that the language mentions
    known: dict[int, list[int]] = field(default_factory=dict)  # byte set -> its classes

    def classes_in(self, bits: int) -> list[int]:
        """The classes that the byte set is made of."""
        classes = self.known.get(bits)
        if classes is None:
            classes = self.known[bits] = [index for index, sample in enumerate(self.samples) if bits & sample]
        return classes


def byte_partition(*roots: Term, sets: Iterable[int] = ()) -> BytePartition:
    """Bytes are in one class iff each byte set in the terms, and each of `sets`, contains all or none of them."""
    sets = sorted({*byte_sets(roots, ()), *sets})
    packed = np.frombuffer(b"".join(bits.to_bytes(32, "little") for bits in sets), np.uint8).reshape(-1, 32)
    columns = np.packbits(np.unpackbits(packed, axis=1, bitorder="little"), axis=0).T  # a byte's membership in all sets
    width, memberships = columns.shape[1], columns.tobytes()
    classes: dict[bytes, int] = {}
    class_of = [classes.setdefault(memberships[b * width : (b + 1) * width], len(classes)) for b in range(256)]
    samples = [1 << class_of.index(c) for c in range(len(classes))]
    return BytePartition(np.array(class_of, np.uint8), samples, sets)


def byte_sets(roots: Iterable[Term], below: Iterable[Edges]) -> list[int]:
    """Each byte set that a term or a character automaton below it mentions; what stands for no byte is left out."""
    sets: set[int] = {0}
    terms, seen = list(roots), set(roots)
    nodes: list[Any] = list(below)
    known = {id(node) for node in nodes}
    while terms:
        term = terms.pop()
        if term.kind == WORDS:
            words, low, high, depth = term.data
            letters = np.unique(np.frombuffer(b"".join(w[depth:] for w in words.value[low:high]), np.uint8))
            sets.update(1 << int(b) for b in letters)
        roots = (term.data,) if term.kind == CHARS else term.data if term.kind == SCOPE else ()
        for root in roots:
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
    return sorted(sets)
