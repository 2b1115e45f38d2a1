"""JSON with a header and a checksum: a magic word, a version, the content, a checksum.

A checksum finds accidents, not forgeries: readers check every value of the content as untrusted input. Every failure is
a GrammarError.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from grammarlm.errors import GrammarError

_CHECKSUM = 16  # bytes


def as_json(content: object) -> bytes:
    """JSON text; half of a surrogate pair stays what it is."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def bytes_as_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def text_as_bytes(text: str) -> bytes:
    """ValueError where no bytes were written so."""
    return base64.b64decode(text, validate=True)


def seal(magic: bytes, version: int, content: bytes) -> bytes:
    sealed = magic + bytes([version]) + content
    return sealed + _checksum(sealed)


def unseal(magic: bytes, version: int, data: object, what: str) -> Any:
    """The value of the JSON; GrammarError where it is not this `what`, or damaged."""
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
    try:
        return json.loads(data[len(magic) + 1 : -_CHECKSUM].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise unreadable(what, str(error)) from None


def unreadable(what: str, problem: str) -> GrammarError:
    return GrammarError(f"the {what} cannot be read: {problem}")


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM).digest()
