"""Bytes with a header and a checksum: a magic word, a version, the content, a checksum.

A checksum finds accidents, not forgeries: readers check every value of the content as untrusted input. Every failure is
a GrammarError.
"""

from __future__ import annotations

import hashlib

from grammarlm.errors import GrammarError

_CHECKSUM = 16  # bytes
_WIDEST = 19  # bytes of an encoded number: 133 bits


def seal(magic: bytes, version: int, content: bytes) -> bytes:
    sealed = magic + bytes([version]) + content
    return sealed + _checksum(sealed)


def unseal(magic: bytes, version: int, data: object, what: str) -> SealedReader:
    """A reader of the content; GrammarError where it is not this `what`, or damaged."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{what} is bytes, not {type(data).__name__}")
    data = bytes(data)
    if data[: len(magic)] != magic:
        raise GrammarError(f"this is no {what}: it begins with {data[:8]!r}, not {magic!r}")
    if len(data) <= len(magic) + _CHECKSUM or _checksum(data[:-_CHECKSUM]) != data[-_CHECKSUM:]:
        raise GrammarError(f"the {what} is damaged: its checksum is not that of its content")
    if data[len(magic)] != version:
        raise GrammarError(
            f"the {what} has version {data[len(magic)]}; this grammarlm reads version {version}: make it anew"
        )
    return SealedReader(data[len(magic) + 1 : -_CHECKSUM], what)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM).digest()


def number(value: int) -> bytes:
    """Varint (LEB128) of a number, 0 or more: seven bits a byte, the lowest first, the top bit set in all but the last."""
    out = bytearray()
    while value > 0x7F:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    out.append(value)
    return bytes(out)


class SealedReader:
    """Reads content from its beginning; whatever is missing or wrong is a GrammarError."""

    def __init__(self, data: bytes, what: str):
        self._data, self._at, self._what = data, 0, what

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise self.error("it ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self) -> int:
        value = 0
        for place in range(_WIDEST):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise self.error("a number is too long")

    def string(self) -> bytes:
        return self.take(self.number())

    def error(self, problem: str) -> GrammarError:
        return GrammarError(f"the {self._what} cannot be read: {problem} (at byte {self._at} of its content)")
