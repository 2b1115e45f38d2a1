"""Reader made of several: the models of a blend (methods/blends/) read the same answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch

from .draft_tree import DraftTree
from .reader import Reader


class BlendedReader:
    """Several readers as one: each reads the same answers, and the function makes one row of their rows."""

    def __init__(self, readers: Sequence[Reader], function: Callable[..., torch.Tensor], name: str):
        self._readers, self._function, self._name = readers, function, name
        self.beginnings = readers[0].beginnings
        self._is_started = False
        self.keeps_states, self.gives_copies = False, True
        self.states: list[torch.Tensor] | None = None

    @property
    def width(self) -> int | None:
        """The least of all: models of one tokenizer may differ in how many ids they add to its own."""
        widths = [reader.width for reader in self._readers]
        known = [width for width in widths if width is not None]
        return min(known) if len(known) == len(widths) else None

    @property
    def nbytes(self) -> int:
        return sum(reader.nbytes for reader in self._readers)

    @property
    def unequal_is_cheap(self) -> bool:
        return all(reader.unequal_is_cheap for reader in self._readers)

    @property
    def rollback_is_cheap(self) -> bool:
        return all(reader.rollback_is_cheap for reader in self._readers)

    @property
    def reads_trees(self) -> bool:
        return False

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        return self._blend([reader.read(self._own(reader, chunks), scored) for reader in self._readers])

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        return self._blend([reader.read_trees(self._own(reader, chunks), scored, trees) for reader in self._readers])

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        for reader in self._readers:
            reader.keep(paths)

    def _blend(self, logits: list[torch.Tensor]) -> torch.Tensor:
        self._is_started = True
        width = min(one.shape[1] for one in logits)
        with torch.no_grad():
            blended = self._function(*(one[:, :width] for one in logits))
        return checked_rows(blended, (logits[0].shape[0], width), self._name)

    def _own(self, reader: Reader, chunks: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        """The first chunks begin with the prompt, which is another one for each reader."""
        if self._is_started or reader is self._readers[0]:
            return chunks
        pairs = zip(self.beginnings, reader.beginnings, chunks, strict=True)
        return [[*own, *chunk[len(first) :]] for first, own, chunk in pairs]

    def select(self, texts: Sequence[int]) -> None:
        for reader in self._readers:
            reader.select(texts)

    def rollback(self, counts: Sequence[int]) -> None:
        for reader in self._readers:
            reader.rollback(counts)

    def taken(self, texts: Sequence[int]) -> BlendedReader:
        other = copy(self)
        other._readers = [reader.taken(texts) for reader in self._readers]
        return other

    def join(self, other: BlendedReader) -> None:
        if not (self._is_started and other._is_started):
            raise ValueError(
                "a blend takes in texts once both have read their prompts, which differ from model to model"
            )
        for own, its in zip(self._readers, other._readers, strict=True):
            own.join(its)


def checked_rows(blended: Any, shape: tuple[int, int], name: str) -> torch.Tensor:
    """float32 [rows, V] on the CPU: what the function of a blend returned; TypeError or ValueError where these are no rows."""
    if not isinstance(blended, torch.Tensor):
        raise TypeError(f"the blend {name} returned {type(blended).__name__}; it returns a tensor of logits")
    if tuple(blended.shape) != shape or not blended.is_floating_point():
        raise ValueError(
            f"the blend {name} returned {blended.dtype} {list(blended.shape)}; it must be a floating-point tensor "
            f"{list(shape)}, one row for each row of its arguments"
        )
    return blended.detach().to("cpu", torch.float32).contiguous()
