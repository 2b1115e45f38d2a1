"""The keys of a completion by their objects, and the first that comes twice in one."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from grammarlm.masks.canvas.json.begun import Begun
from grammarlm.masks.canvas.json.texts import decoded, texts_of
from grammarlm.vocab.vocabulary import Vocabulary

PARTS = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t\r\n]*(:?)|[{}\[\]]', re.S)
OUTER = 0  # the object that a matcher is in, or none; those around it are below


class KeyPlace(NamedTuple):
    """A key of a completion, as it is spelled."""

    owner: int  # its object
    key: bytes
    tokens: range  # the positions of its tokens, quotes included; none of one that precedes the row


class Clash(NamedTuple):
    """Two equal keys of one object in a completion."""

    key: bytes
    first: range
    second: range


class Objects:
    """Those of one completion. Objects and arrays have numbers in the order of their beginnings."""

    def __init__(self, vocab: Vocabulary, begun: Begun, text: Sequence[int]):
        texts = texts_of(vocab)
        parts = [texts[token] for token in text]
        lead = b'"' + begun.key if begun.key is not None else b'"' if begun.is_string else b""
        self._ends = ends = list(accumulate(map(len, parts), initial=len(lead)))
        self.keys = [KeyPlace(OUTER - n, key, range(0)) for n, keys in enumerate(begun.keys) for key in sorted(keys)]
        self._offsets, self._owners = [0], [OUTER]  # from these bytes on the innermost one is another
        whole, count = lead + b"".join(parts), OUTER
        is_open = [OUTER - n for n in range(max(1, len(begun.keys)))][::-1]
        for part in PARTS.finditer(whole):
            byte = whole[part.start()]
            if part[2]:
                first = max(0, bisect_right(ends, part.start()) - 1)
                tokens = range(first, bisect_left(ends, part.end(1) + 1))
                self.keys.append(KeyPlace(is_open[-1], part[1], tokens))
            elif byte in b"{[":
                count += 1
                is_open.append(count)
            elif byte in b"}]" and len(is_open) > 1:
                is_open.pop()
            if self._owners[-1] != is_open[-1]:
                self._offsets.append(part.start())
                self._owners.append(is_open[-1])

    def clash(self) -> Clash | None:
        """The first key that its object has had."""
        had: dict[tuple[int, bytes], range] = {}
        for owner, key, tokens in self.keys:
            if (owner, key) in had:
                return Clash(decoded(key) or key, had[owner, key], tokens)
            had[owner, key] = tokens
        return None

    def beside(self, position: int) -> frozenset[bytes]:
        """The keys of the objects that a token is in, begins or ends, but for those that it is part of."""
        if position + 1 >= len(self._ends):
            return frozenset()
        first = bisect_right(self._offsets, self._ends[position]) - 1
        owners = set(self._owners[first : bisect_left(self._offsets, self._ends[position + 1], first)])
        return frozenset(k.key for k in self.keys if k.owner in owners and position not in k.tokens)
