"""The keys that a text has twice in one object, be it a whole text or the beginning of one."""

from __future__ import annotations

import json
from collections import Counter


def keys_twice(text: bytes) -> list[bytes]:
    """The keys that some object of a text, or of its beginning, has twice; the text may have other parts around it."""
    found: set[str] = set()

    def look(pairs: list[tuple[str, object]]) -> None:
        found.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    reader, left = json.JSONDecoder(object_pairs_hook=look), text.decode(errors="replace")
    while (at := left.find("{")) >= 0:
        left = left[at:]
        for closing in (b"", *closings(left.encode())):
            try:
                _, end = reader.raw_decode(left + closing.decode())
            except ValueError:
                continue
            left = left[end:]
            break
        else:
            left = left[1:]
    return sorted(key.encode() for key in found)


def closings(text: bytes) -> list[bytes]:
    """What may complete a beginning of a JSON text: the brackets that are open, after some value."""
    is_open, inside, escaped = bytearray(), False, False
    for byte in text:
        if inside:
            inside, escaped = escaped or byte != 34, not escaped and byte == 92
        elif byte == 34:
            inside = True
        elif byte in b"{[":
            is_open += b"}" if byte == 123 else b"]"
        elif byte in b"}]" and is_open:
            is_open.pop()
    end = bytes(reversed(is_open))
    return [end, b"0" + end, b":0" + end, b'":0' + end, b'"' + end, b'":0' + end, b'"":0' + end, b'0":0' + end]
