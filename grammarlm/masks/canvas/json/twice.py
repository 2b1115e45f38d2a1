"""The first key that a completion has twice in one object."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .texts import decoded, texts_of

if TYPE_CHECKING:
    from .grid import JsonGrid

PARTS = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t\r\n]*(:?)|[{}\[\]]', re.S)


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
