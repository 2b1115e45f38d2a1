"""What stands between the items of a list: a string, spelled by any tokens that make it up exactly.

", "        ", "  or  ","  " "          never  ", r": an item begins at the beginning of a token
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...errors import UnsatisfiableGrammar
from ...grammars.compose import encode
from ...vocab.vocabulary import Vocabulary


class Separator:
    """Offsets in the string are states; an offset that no tokens complete is never entered."""

    def __init__(self, text: str, vocab: Vocabulary):
        self._data, self._vocab = encode(text), vocab
        if self._rests[0] is None:
            raise UnsatisfiableGrammar(f"no tokens of this vocabulary spell the separator {text!r:.80}")

    def __len__(self) -> int:
        return len(self._data)

    def ids(self, offset: int) -> np.ndarray:
        """The tokens that may come at an offset."""
        return np.array(sorted(self._tokens[offset]), np.int64)

    def after(self, offset: int, token: int) -> int:
        """The offset behind a token, 0 where it may not come."""
        return self._tokens[offset].get(token, 0)

    def rest(self, offset: int) -> list[int]:
        """The fewest tokens that complete the string."""
        rest = self._rests[offset]
        assert rest is not None
        return list(rest)

    @cached_property
    def _fitting(self) -> list[dict[int, int]]:
        """For each offset the tokens that fit there, and the offsets behind them."""
        return [
            {t: at + length for t, length in tokens_at(self._vocab, self._vocab.text_ids, self._data, at)}
            for at in range(len(self._data))
        ]

    @cached_property
    def _rests(self) -> list[list[int] | None]:
        rests: list[list[int] | None] = [None] * len(self._data) + [[]]
        for at in range(len(self._data) - 1, -1, -1):
            ways = [(len(rest), t) for t, behind in self._fitting[at].items() if (rest := rests[behind]) is not None]
            if ways:
                token = min(ways)[1]
                rest = rests[self._fitting[at][token]]
                assert rest is not None
                rests[at] = [token, *rest]
        return rests

    @cached_property
    def _tokens(self) -> list[dict[int, int]]:
        return [{t: behind for t, behind in d.items() if self._rests[behind] is not None} for d in self._fitting]


def tokens_at(vocab: Vocabulary, ids: np.ndarray, data: bytes, at: int) -> list[tuple[int, int]]:
    """Of these tokens those whose bytes stand in `data` from an offset on, and the numbers of their bytes."""
    if not len(ids) or at >= len(data):
        return []
    first = vocab.data[vocab.offsets[ids]]
    likely = ids[(first == data[at]) & (vocab.offsets[ids + 1] - vocab.offsets[ids] <= len(data) - at)]
    pairs = ((t, vocab.token_bytes(t)) for t in likely.tolist())
    return [(t, len(spelled)) for t, spelled in pairs if data.startswith(spelled, at)]
