"""The canvas without a grammar: every id may stand everywhere that is neither special nor a stop id.

With `ends` a text may end before the row does: then a stop id, and after it stop ids only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from grammarlm.masks.canvas.protocol import Draw
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

from .look import Allowed


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
        return self._filled(tokens, logits, lambda scores: int(scores.argmax()), np.max)

    def drawn(self, tokens: Sequence[int], logits: Any, draw: Draw) -> list[int]:
        """A row by softmax of the sum of the logits."""
        return self._filled(tokens, logits, draw, np.logaddexp.reduce)

    def _filled(
        self, tokens: Sequence[int], logits: Any, pick: Draw, worth: Callable[[np.ndarray], float]
    ) -> list[int]:
        """`pick` takes one of some scores; `worth` is the score of having that choice."""
        low, high = self.edges(tokens)
        if low > high:
            raise ValueError("the row cannot be completed")
        row, numbers = np.array(tokens, np.int64), np.asarray(logits, np.float64)
        masked = np.flatnonzero(row < 0).tolist()
        end = high
        if low < high:  # the score of each end: of the text before it, and the stop ids after it
            before, after = np.zeros(self.length + 1), np.zeros(self.length + 1)
            for at in masked:
                before[at + 1 :] += worth(numbers[at, self.ids["text"]])
                after[: at + 1] += worth(numbers[at, self.ids["stops"]])
            end = low + pick((before + after)[low : high + 1])
        for at in masked:
            ids = self.ids["text" if at < end else "stops"]
            row[at] = ids[pick(numbers[at, ids])]
        filled: list[int] = row.tolist()
        return filled

    def explain(self, tokens: Sequence[int], position: int, token: int) -> str:
        return f"id {token} is special or a stop id, and there is no grammar that allows it at position {position}"


class FreeRows(Allowed):
    """What may stand at each position: text before the end, stop ids after it."""

    def __init__(self, canvas: FreeCanvas, low: int, high: int):
        self.canvas, self.low, self.high = canvas, low, high

    def row(self, position: int) -> np.ndarray:
        if self.low > self.high:
            return np.zeros_like(self.canvas.rows["text"])
        return self.canvas.rows["text" if position < self.low else "stops" if position >= self.high else "both"]
