"""The canvas without a grammar: every id may stand everywhere that is neither special nor a stop id.

With `ends` a text may end before the row does: then a stop id, and after it stop ids only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

ROWS = ("text", "stops", "both")


class FreeCanvas:
    """Rows of `length` ids; the same methods as a constraint's canvas."""

    def __init__(self, length: int, vocab: Vocabulary, *, never: Iterable[int] = (), ends: bool = False):
        self.length, self.ends = length, ends
        stops = set(vocab.stop_ids)
        text = set(range(vocab.size)) - set(vocab.special_ids) - stops - set(never)
        self.ids = {"text": sorted(text), "stops": sorted(stops), "both": sorted(text | stops)}
        self.rows = {kind: pack_ids(ids, (vocab.size + 31) // 32) for kind, ids in self.ids.items()}
        self._stops = stops

    def edges(self, tokens: Sequence[int]) -> tuple[int, int]:
        """The text's end lies between these two; the first is the larger one where the row cannot be completed."""
        known = [(at, int(token) in self._stops) for at, token in enumerate(tokens) if token >= 0]
        low = max((at + 1 for at, is_stop in known if not is_stop), default=0)
        high = min((at for at, is_stop in known if is_stop), default=self.length)
        return (low, high) if self.ends else (self.length, self.length)

    def is_completable(self, tokens: Sequence[int]) -> bool:
        low, high = self.edges(tokens)
        return low <= high

    def allowed(self, tokens: Sequence[int]) -> FreeRows:
        return FreeRows(self, *self.edges(tokens))

    def commit(
        self, tokens: Sequence[int], positions: Sequence[int], ids: Sequence[int], *, partial: bool = False
    ) -> list[int]:
        row = [int(token) for token in tokens]
        for position, token in zip(positions, ids, strict=True):
            if self.allowed(row).test(position, [token])[0]:
                row[position] = int(token)
            elif not partial:
                raise ValueError(f"id {token} cannot stand at position {position}")
        return row

    def fill(self, tokens: Sequence[int], logits: Any) -> list[int]:
        """The most probable row."""
        return self._filled(
            tokens, np.asarray(logits, np.float64), lambda scores: (int(scores.argmax()), float(scores.max()))
        )

    def sample(self, tokens: Sequence[int], logits: Any, *, seed: int) -> list[int]:
        """A draw from softmax of the sum of the logits."""
        random = np.random.default_rng(seed)

        def drawn(scores: np.ndarray) -> tuple[int, float]:
            top = scores.max()
            weights = np.exp(scores - top)
            return int(random.choice(len(scores), p=weights / weights.sum())), float(top + np.log(weights.sum()))

        return self._filled(tokens, np.asarray(logits, np.float64), drawn)

    def _filled(self, tokens: Sequence[int], logits: np.ndarray, take: Any) -> list[int]:
        """`take` picks one of some scores, and gives the score of having that choice."""
        low, high = self.edges(tokens)
        if low > high:
            raise ValueError("the row cannot be completed")
        row = np.array(tokens, np.int64)
        masked = np.flatnonzero(row < 0)
        found, scores = {}, {}
        for kind in ("text", "stops") if self.ends else ("text",):
            picked = [take(logits[at, self.ids[kind]]) for at in masked]
            found[kind] = dict(zip(masked.tolist(), (self.ids[kind][index] for index, _ in picked), strict=True))
            scores[kind] = np.zeros(self.length)
            scores[kind][masked] = [score for _, score in picked]
        end = high
        if low < high:
            before = np.concatenate([[0], scores["text"].cumsum()])
            after = np.concatenate([scores["stops"][::-1].cumsum()[::-1], [0]])
            end = low + take((before + after)[low : high + 1])[0]
        for at in masked.tolist():
            row[at] = found["text" if at < end else "stops"][at]
        filled: list[int] = row.tolist()
        return filled

    def explain(self, tokens: Sequence[int], position: int, token: int) -> str:
        return f"id {token} is special or a stop id, and there is no grammar that allows it at position {position}"


class FreeRows:
    """What may stand at each position: text before the end, stop ids after it."""

    def __init__(self, canvas: FreeCanvas, low: int, high: int):
        self.canvas, self.low, self.high = canvas, low, high

    def row(self, position: int) -> np.ndarray:
        if self.low > self.high:
            return np.zeros_like(self.canvas.rows["text"])
        return self.canvas.rows["text" if position < self.low else "stops" if position >= self.high else "both"]

    def test(self, position: int, ids: Sequence[int]) -> np.ndarray:
        words = self.row(position).view(np.uint32)
        at = np.asarray(ids, np.int64)
        return (words[at >> 5] >> (at & 31).astype(np.uint32) & 1).astype(bool)
