"""Texts of completions: how JSON spells a string's content, and small pieces that are put together."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from grammarlm.grammars.regular.terms import Term
from grammarlm.masks.machines.regular.completion import Completions

Item = TypeVar("Item")
Thread = tuple[int, int, int, int]
Pieces = tuple[bytes, ...]  # of a text; each is tokenized alone, or all together
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
    """What a search yields, for many readers: each begins at its first item. A search that was cut off is begun again."""

    def __init__(self, search: Callable[[], Iterator[Item]]):
        self._found: list[Item] = []
        self._search, self._items = search, search()

    def __iter__(self) -> Iterator[Item]:
        for i in itertools.count():
            while i >= len(self._found):
                try:
                    item = next(self._items, None)
                except BaseException:
                    self._found, self._items = [], self._search()
                    raise
                if item is None:
                    return
                self._found.append(item)
            yield self._found[i]


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
