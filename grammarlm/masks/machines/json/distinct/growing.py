"""What grows as a text is read: the values of a container, the bytes of a string.

What is longer shares what it was made of. Each step of a text keeps its own, so copies would take memory by the square of the
text's length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

Value = Any
BLOCK = 32  # values that are copied at most
CHUNK = 128  # bytes that are copied at most
Block = tuple[tuple[Value, ...], frozenset[Value], "Block | None"]  # values in order, as a set, and the blocks before


class Values:
    """The items of an array in order, or the members of an object: pairs of key and value, equal in any order."""

    __slots__ = ("_blocks", "_hash", "_length", "_recent", "is_object")

    def __init__(
        self,
        is_object: bool,
        blocks: Block | None = None,
        recent: tuple[Value, ...] = (),
        length: int = 0,
        hashed: int = 0,
    ):
        self.is_object = is_object
        self._blocks, self._recent, self._length, self._hash = blocks, recent, length, hashed

    def with_(self, value: Value) -> Values:
        hashed = self._hash ^ hash(value) if self.is_object else hash((self._hash, value))
        blocks, recent = self._blocks, (*self._recent, value)
        if len(recent) == BLOCK:
            blocks, recent = cast("Block", (recent, frozenset(recent), blocks)), ()
        return Values(self.is_object, blocks, recent, self._length + 1, hashed)

    def whole(self) -> frozenset[Value] | tuple[Value, ...]:
        return frozenset(self) if self.is_object else tuple(self)

    def __len__(self) -> int:
        return self._length

    def __contains__(self, value: Value) -> bool:
        if value in self._recent:
            return True
        block = self._blocks
        while block is not None:
            if value in block[1]:
                return True
            block = block[2]
        return False

    def __iter__(self) -> Iterator[Value]:
        found, block = [self._recent], self._blocks
        while block is not None:
            found.append(block[0])
            block = block[2]
        for values in reversed(found):
            yield from values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Values) or self._hash != other._hash or self._length != other._length:
            return False
        return self is other or (self.is_object is other.is_object and self.whole() == other.whole())

    def __hash__(self) -> int:
        return self._hash


class Lexeme:
    """The bytes of a string after its quote, of a number or literal."""

    __slots__ = ("_before", "_chunk", "escapes")

    def __init__(self, chunk: bytes = b"", before: Lexeme | None = None, escapes: bool = False):
        self._before, self._chunk = before, chunk
        self.escapes = escapes  # is the next character escaped?

    def with_(self, data: bytes) -> Lexeme:
        rest = data.rstrip(b"\\")
        escapes = ((len(data) - len(rest)) % 2 == 1) ^ (self.escapes and not rest)
        if len(self._chunk) < CHUNK:
            return Lexeme(self._chunk + data, self._before, escapes)
        return Lexeme(data, self, escapes)

    def whole(self) -> bytes:
        found, here = [self._chunk], self._before
        while here is not None:
            found.append(here._chunk)
            here = here._before
        found.reverse()
        return b"".join(found)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Lexeme) and self.whole() == other.whole())

    def __hash__(self) -> int:
        return hash(self.whole())


NOTHING = Lexeme()
