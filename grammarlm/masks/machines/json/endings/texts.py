"""Texts of completions: how JSON spells a string's content, and small pieces that are put together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Generic, TypeVar

from grammarlm.grammars.regular.terms import Term
from grammarlm.masks.machines.regular.completion import Completions

Item = TypeVar("Item")
Thread = tuple[int, int, int, int]
Pieces = tuple[bytes, bytes]
_SHORT = {0x22: b'\\"', 0x5C: b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r"}
SPELLED = [
    _SHORT.get(byte, bytes([byte]) if byte >= 0x20 else b"\\u%04x" % byte) for byte in range(256)
]  # within a string
_FIRST_BITS = [
    sum(1 << byte for byte in group)
    for group in (
        range(97, 123), range(48, 58), range(65, 91), [b for b in range(0x20, 0x7F) if b not in (0x22, 0x5C)], range(0x7F, 256),
    )
]  # fmt: skip


def spelled(text: bytes) -> bytes:
    """Bytes of a decoded string as JSON spells them between quotes."""
    if text.isalnum():
        return text
    return b"".join(map(SPELLED.__getitem__, text))


def preferred(bits: int) -> int:
    """Of a set of bytes, one with a short spelling."""
    for group in _FIRST_BITS:
        if bits & group:
            bits &= group
            break
    return (bits & -bits).bit_length() - 1


class SpelledCompletions(Completions):
    """The shortest rests of strings in a language, as JSON spells them."""

    def _letter(self, bits: int) -> bytes:
        return SPELLED[preferred(bits)]

    def _word(self, term: Term) -> bytes:
        return spelled(super()._word(term))


class Replayed(Generic[Item]):
    """An endless list, computed lazily and replayed for each reader."""

    def __init__(self, source: Iterator[Item]):
        self._made: list[Item] = []
        self._source = source

    def __iter__(self) -> Iterator[Item]:
        at = 0
        while True:
            if at == len(self._made):
                try:
                    self._made.append(next(self._source))
                except StopIteration:
                    return
            yield self._made[at]
            at += 1


def joined(*parts: bytes | None) -> bytes | None:
    """The concatenated parts; None where one of them is not known."""
    if None in parts:
        return None
    return b"".join(parts)  # type: ignore[arg-type]


def paired(one: bytes | None, other: bytes | None) -> Pieces | None:
    return None if one is None or other is None else (one, other)


def short_names() -> Iterator[bytes]:
    """Short names: "", "a", ..., "z", "aa", ..."""
    yield b""
    names = [b""]
    while True:
        names = [name + bytes([letter]) for name in names for letter in range(97, 123)]
        yield from names


def few(found: Iterator[Item], most: int) -> Iterator[Item]:
    return (each for each, _ in zip(found, range(most), strict=False))


def by_spelling(byte: int) -> tuple[int, int]:
    """Sort key: bytes with a short spelling first."""
    return next((i for i, group in enumerate(_FIRST_BITS) if group >> byte & 1), len(_FIRST_BITS)), byte


def decoded(text: bytes) -> bytes:
    """The inverse of `spelled`."""
    return json.loads(b'"' + text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass") + b'"').encode(
        "utf-8", "surrogateescape"
    )


def chained(first: list[bytes], then: Iterator[bytes], most: int) -> Iterator[bytes]:
    yield from first
    yield from few(then, most)
