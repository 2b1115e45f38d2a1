"""A draft model's reader, which follows texts that grow, are taken back, come to an end, begin later, and wait for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Groups, Reader, open_reader

from .contexts import Context, Contexts
from .drafter import Drafter, Target

ROOM = 4096


class Follower:
    def __init__(self, model: Any, cache: str | None = None):
        self.model, self.cache = model, cache
        self._groups: Groups[Row] = Groups()
        self._read: dict[Row, list[int]] = {}  # what has been read of each text
        self._reader: Reader | None = None  # of the rows read last
        self.keeps_states = False  # set it to True for `states`
        self.states: list[torch.Tensor] | None = None  # of the last read, as those of a reader
        self.rows: list[Row] = []

    def read(self, rows: list[Row], texts: list[list[int]]) -> torch.Tensor:
        """Reads up to the ends of the texts; [rows, V], the logits there. The texts of other rows are kept."""
        self._open([(row, text) for row, text in zip(rows, texts, strict=True) if row not in self._read])
        reader = self._gather(rows)
        common = [shared(self._read[row], text[:-1]) for row, text in zip(rows, texts, strict=True)]
        reader.rollback([len(self._read[row]) - count for row, count in zip(rows, common, strict=True)])
        chunks = [text[count:] for text, count in zip(texts, common, strict=True)]
        reader.keeps_states = self.keeps_states
        logits = reader.read(chunks, [1] * len(rows))
        self.states = reader.states
        self._read |= {row: list(text) for row, text in zip(rows, texts, strict=True)}
        return logits

    def _open(self, new: list[tuple[Row, list[int]]]) -> None:
        """Texts that begin beside others are read by a forward of their own, up to their last ids."""
        if not new:
            return
        rows, texts = [row for row, _ in new], [text[:-1] for _, text in new]
        reader = open_reader(self.model, [text[:-1] or text for _, text in new], ROOM, self.cache)
        is_alone = bool(self._read) and all(texts)
        if is_alone:
            reader.read(texts, [1] * len(texts))
        self._groups.open(rows, reader)
        self._read |= {row: text if is_alone else [] for row, text in zip(rows, texts, strict=True)}

    def _gather(self, rows: list[Row]) -> Reader:
        self._reader, self.rows = self._groups.gather(rows), rows
        return self._reader

    def read_trees(self, trees: Sequence[DraftTree]) -> torch.Tensor:
        """The logits after the last id of each text, and then after each node of its tree; the texts stay what they are."""
        assert self._reader is not None
        self._reader.rollback([1] * len(self.rows))  # a forward reads one id of each text at least
        lasts = [self._read[row][-1:] for row in self.rows]
        logits = self._reader.read_trees(lasts, [1] * len(lasts), trees)
        self.states = self._reader.states
        self._reader.keep([[] for _ in trees])
        return logits

    def drop(self, row: Row) -> None:
        if row in self._read:
            self._groups.drop([row])
            del self._read[row]
            self.rows = [each for each in self.rows if each is not row]


class Following(Drafter):
    """A drafter with a model that follows the answers; `context` of a prompt: the ids that this model gets instead."""

    def __init__(self, model: Any, cache: str | None = None, context: Context | None = None):
        self.model, self.cache, self._contexts = model, cache, Contexts(context, self.by_row())
        self._follower = Follower(model, cache)

    def begin(self, target: Target) -> None:
        self._follower = Follower(self.model, self.cache)

    def drop(self, row: Row) -> None:
        super().drop(row)
        self._follower.drop(row)


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    """How many ids both begin with."""
    if list(first[: len(second)]) == list(second[: len(first)]):
        return min(len(first), len(second))
    return next(at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
