"""REST, RASD (Retrieval-Augmented Speculative Decoding): what followed the last tokens in texts that are given beforehand.

In a list beside a model, trees are fused without a node twice. It costs the memory of "suffix" for the texts. Of no use for texts
unlike the answers: "suffix" learns from these by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.drafters.drafter import Target
from grammarlm.decoding.speculative.drafters.suffix import Suffix


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
