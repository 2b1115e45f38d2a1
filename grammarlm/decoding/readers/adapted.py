"""Reader of a model that changes while it is read: after each forward a function of the caller's looks at the logits, may change
parameters, and says whether to read again.

Read again means all of it: the texts' caches were made by the parameters before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grammarlm.decoding.failures import RowFailure, message_of

from .draft_tree import DraftTree
from .reader import Reader

Adapt = Callable[[Any, torch.Tensor, list[list[int]]], bool]


class AdaptedReader:
    """As the model's own reader, which is opened anew for each repeat."""

    keeps_states = False
    gives_copies = True
    states: list[torch.Tensor] | None = None
    rollback_is_cheap = False
    reads_trees = False

    def __init__(
        self,
        model: Any,
        opener: Callable[[list[list[int]]], Reader],
        prompts: Sequence[list[int]],
        step: Adapt,
        most: int,
    ):
        """step   of the model, float32 [texts, V], the logits after each text, and the ids of the texts that the model has read"""
        self._model, self._opener, self._prompts, self._step, self._most = model, opener, list(prompts), step, most
        self._reader = opener(self._prompts)
        self.beginnings, self.width = self._reader.beginnings, self._reader.width
        self._texts: list[list[int]] = [[] for _ in self._prompts]
        self._trees: Sequence[DraftTree] = ()

    @property
    def nbytes(self) -> int:
        return self._reader.nbytes

    @property
    def unequal_is_cheap(self) -> bool:
        return self._reader.unequal_is_cheap

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        logits = self._reader.read(chunks, scored)
        for _ in range(self._most):
            if not self._is_read_again(logits, scored):
                break
            self._reader = self._opener(self._prompts)
            logits = self._reader.read(self._texts, scored)
        return logits

    def _is_read_again(self, logits: torch.Tensor, scored: Sequence[int]) -> bool:
        rows = [at for at, count in enumerate(scored) if count]
        last = torch.tensor([scored[at] for at in rows]).cumsum(0) - 1
        try:
            found = self._step(self._model, logits[last], [list(self._texts[at]) for at in rows])
        except Exception as error:
            raise RowFailure(f"step= raised {message_of(error)}") from error
        if not isinstance(found, bool):
            raise TypeError(
                f"step= returned {found!r:.60}; it returns True where the model is to read again, and else False"
            )
        return found

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        """Trees are read as the model is now: nobody looks at them."""
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        self._trees = trees
        return self._reader.read_trees(chunks, scored, trees)

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        self._reader.keep(paths)
        for text, tree, path in zip(self._texts, self._trees, paths, strict=True):
            text += [tree.tokens[node] for node in path]

    def rollback(self, counts: Sequence[int]) -> None:
        self._reader.rollback(counts)
        for text, count in zip(self._texts, counts, strict=True):
            del text[len(text) - count :]

    def select(self, texts: Sequence[int]) -> None:
        self._reader.select(texts)
        self._texts, self._prompts = ([list(each[at]) for at in texts] for each in (self._texts, self._prompts))

    def taken(self, texts: Sequence[int]) -> AdaptedReader:
        prompts = [self._prompts[at] for at in texts]
        other = AdaptedReader(self._model, self._opener, prompts, self._step, self._most)
        other._reader, other._texts = self._reader.taken(texts), [list(self._texts[at]) for at in texts]
        return other

    def join(self, other: AdaptedReader) -> None:
        self._reader.join(other._reader)
        self._texts, self._prompts = self._texts + other._texts, self._prompts + other._prompts
