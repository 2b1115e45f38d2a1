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
# Bytes in the order in which they are tried: those with a short spelling first.
ORDER = bytes(dict.fromkeys([
    *range(97, 123), *range(48, 58), *range(65, 91), *(b for b in range(0x20, 256) if b not in (0x22, 0x5C)), *range(256),
]))  # fmt: skip


def spelled(text: bytes) -> bytes:
    """Bytes of a decoded string as JSON spells them between quotes."""
    if text.isalnum():
        return text
    return b"".join(map(SPELLED.__getitem__, text))


def preferred(bits: int) -> int:
    """Of a set of bytes, one with a short spelling."""
    return next(byte for byte in ORDER if bits >> byte & 1)


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


def short_names() -> Iterator[bytes]:
    """Short names: "", "a", ..., "z", "aa", ..."""
    yield b""
    names = [b""]
    while True:
        names = [name + bytes([letter]) for name in names for letter in range(97, 123)]
        yield from names


def decoded(text: bytes) -> bytes:
    """The inverse of `spelled`."""
    return json.loads(b'"' + text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass") + b'"').encode(
        "utf-8", "surrogateescape"
    )
