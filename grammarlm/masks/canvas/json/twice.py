"""The keys that a text has twice in one object, be it a whole text or the beginning of one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .texts import decoded, texts_of

if TYPE_CHECKING:
    from .grid import JsonGrid

PARTS = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t\r\n]*(:?)|[{}\[\]]', re.S)


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


class Clash(NamedTuple):
    """Two equal keys of one object in a completion: the positions of the tokens of each, quotes included; none of one that precedes
    the row."""

    key: bytes
    first: range
    second: range


def clash_of(grid: JsonGrid, row: Sequence[int]) -> Clash | None:
    """The first key of a completion that its object has had."""
    texts, begun = texts_of(grid.vocab), grid.begun
    parts = [texts[token] for token in grid.text(row)]
    lead = b'"' + begun.key if begun.key is not None else b'"' if begun.is_string else b""
    ends = list(accumulate(map(len, parts), initial=len(lead)))
    outer: dict[bytes, range] = dict.fromkeys(begun.keys, range(0))
    whole, is_open = lead + b"".join(parts), list[dict[bytes, range]]()
    for part in PARTS.finditer(whole):
        byte = whole[part.start()]
        if byte in b"{[":
            is_open.append({})
        elif byte in b"}]":
            is_open and is_open.pop()
        elif part[2]:
            first = max(0, int(np.searchsorted(ends, part.start(), "right")) - 1)
            here = range(first, int(np.searchsorted(ends, part.end(1) + 1, "left")))
            had, key = is_open[-1] if is_open else outer, part[1]
            if key in had:
                return Clash(decoded(key) or key, had[key], here)
            had[key] = here
    return None
