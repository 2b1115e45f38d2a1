"""Retrieval: what followed the last tokens in a collection of texts that is given beforehand (REST, RASD)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .drafter import Target
from .suffix import Suffix

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row


class Datastore(Suffix):
    """`texts`: ids, or texts that the target's vocabulary can encode. Answers are looked up, and not added."""

    def __init__(self, texts: Iterable[str | Sequence[int]]):
        super().__init__()
        self._texts: list[str | Sequence[int]] = list(texts)

    def begin(self, target: Target) -> None:
        for text in self._texts:
            self.add(target.vocab.encode(text) if isinstance(text, str) else text)
        self._texts = []

    def drop(self, row: Row) -> None:
        self.forget(row)
