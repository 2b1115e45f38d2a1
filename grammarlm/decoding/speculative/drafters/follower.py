"""A draft model's reader, which follows texts that grow, are taken back and come to an end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Reader, open_reader

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row

ROOM = 4096


class Follower:
    def __init__(self, model: Any, cache: str | None = None):
        self.model, self.cache = model, cache
        self.rows: list[Row] = []  # whose texts the reader has read
        self._reader: Reader | None = None
        self._read: list[list[int]] = []  # what it has read of each

    def begin(self) -> None:
        self._reader, self.rows, self._read = None, [], []

    def read(self, rows: list[Row], texts: list[list[int]]) -> torch.Tensor:
        """Reads up to the ends of the texts; [rows, V], the logits there. Other rows are forgotten."""
        chunks = self._catch_up(rows, texts)
        assert self._reader is not None
        logits = self._reader.read(chunks, [1] * len(rows))
        self._read = [list(text) for text in texts]
        return logits

    def read_trees(self, trees: Sequence[DraftTree]) -> torch.Tensor:
        """The logits after the last id of each text, and then after each node of its tree; the texts stay what they are."""
        assert self._reader is not None
        self._reader.rollback([1] * len(self.rows))  # a forward reads one id of each text at least
        lasts = [text[-1:] for text in self._read]
        logits = self._reader.read_trees(lasts, [1] * len(lasts), trees)
        self._reader.keep([[] for _ in trees])
        return logits

    def _catch_up(self, rows: list[Row], texts: list[list[int]]) -> list[list[int]]:
        """Makes the reader's batch these rows, and takes back what is not in their texts; what it has yet to read of each."""
        if self._reader is None or not set(rows) <= set(self.rows):
            self._reader = open_reader(self.model, [text[:-1] or text for text in texts], ROOM, self.cache)
            self.rows = rows
            return [list(text) for text in texts]
        if rows != self.rows:
            places = [self.rows.index(row) for row in rows]
            self._reader.select(places)
            self.rows, self._read = rows, [self._read[place] for place in places]
        common = [shared(read, text[:-1]) for read, text in zip(self._read, texts, strict=True)]
        self._reader.rollback([len(read) - count for read, count in zip(self._read, common, strict=True)])
        return [text[count:] for text, count in zip(texts, common, strict=True)]


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    """How many ids both begin with."""
    if list(first[: len(second)]) == list(second[: len(first)]):
        return min(len(first), len(second))
    return next(at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
