"""What stands between the items of a list: a string, spelled by any tokens that make it up exactly.

", "        ", "  or  ","  " "          never  ", r": an item begins at the beginning of a token
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from grammarlm.errors import UnsatisfiableGrammar
from grammarlm.grammars.compose import encode
from grammarlm.vocab.vocabulary import Vocabulary


class Separator:
    """Offsets in the string are states; an offset that no tokens complete is never entered."""

    def __init__(self, text: str, vocab: Vocabulary, tick: Callable[[], None]):
        self._data, self._vocab, self._tick = encode(text), vocab, tick
        if self._rests[0] is None:
            raise UnsatisfiableGrammar(f"no tokens of this vocabulary spell the separator {text!r:.80}")

    def __len__(self) -> int:
        return len(self._data)

    def ids(self, offset: int) -> np.ndarray:
        """The tokens that may come at an offset."""
        return np.array(sorted(self._tokens[offset]), np.int64)

    def after(self, offset: int, token: int) -> int:
        """The offset after a token, 0 where it may not come."""
        return self._tokens[offset].get(token, 0)

    def rest(self, offset: int) -> list[int]:
        """The fewest tokens that complete the string."""
        rest = []
        while offset < len(self._data):
            way = self._rests[offset]
            assert way is not None
            rest.append(way[1])
            offset = self._fitting[offset][way[1]]
        return rest

    @cached_property
    def _fitting(self) -> list[dict[int, int]]:
        """For each offset the tokens that fit there, and the offsets after them."""
        found = []
        for at in range(len(self._data)):
            self._tick()
            tokens = tokens_at(self._vocab, self._vocab.text_ids, self._data, at)
            found.append({t: at + length for t, length in tokens})
        return found

    @cached_property
    def _rests(self) -> list[tuple[int, int] | None]:
        """For each offset the number of tokens that complete the string, and the first of them."""
        rests: list[tuple[int, int] | None] = [None] * len(self._data) + [(0, -1)]
        for at in range(len(self._data) - 1, -1, -1):
            ways = [(rest[0] + 1, t) for t, after in self._fitting[at].items() if (rest := rests[after]) is not None]
            rests[at] = min(ways, default=None)
        return rests

    @cached_property
    def _tokens(self) -> list[dict[int, int]]:
        return [{t: after for t, after in d.items() if self._rests[after] is not None} for d in self._fitting]


def tokens_at(vocab: Vocabulary, ids: np.ndarray, data: bytes, at: int) -> list[tuple[int, int]]:
    """Those of the tokens whose bytes stand in `data` at an offset, and their numbers of bytes."""
    if not len(ids) or at >= len(data):
        return []
    first = vocab.data[vocab.offsets[ids]]
    likely = ids[(first == data[at]) & (vocab.offsets[ids + 1] - vocab.offsets[ids] <= len(data) - at)]
    pairs = ((t, vocab.token_bytes(t)) for t in likely.tolist())
    return [(t, len(spelled)) for t, spelled in pairs if data.startswith(spelled, at)]
