"""A model read in two halves: what its first layers have read ahead is not read by them again.

    reader = SplitReader(model, prompts, at=2)
    logits = reader.ahead({0: [5]})               # the first two layers read on, and the model's output guesses after them
    logits = reader.read([[5, 8], [7]], [2, 1])   # they read 8 and 7 alone; the other layers read 5, 8 and 7

Each half is a reader with a cache of its own: the first one's texts are ahead of the second one's by what has been drafted. The
second one's ids are the numbers of the states that the first one has made, so that it is a reader like any other: it reads whole
texts again where it must, and goes back. What is read ahead is a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.model_layers import after_layer, entered, layers_of, with_layers
from grammarlm.decoding.speculative.drafters.follower import shared

Adapter = Callable[[torch.Tensor], torch.Tensor]
NEEDED = "layers that read ahead need a transformers model with a list of layers and a key-value cache"


class Half(CachedReader):
    """Without a cache there are no halves: what one has read is not given to the other again."""

    def _go_without(self, why: str) -> None:
        raise ValueError(f"{NEEDED}: {why}")


class SplitReader(Half):
    """The second half, which has the first one read before it; `adapter`: from the first one's states to those that its guesses
    are made of."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], at: int, adapter: Adapter = lambda states: states):
        def passed(states: torch.Tensor) -> torch.Tensor:
            self._left = states.detach()
            return adapter(states)

        def enters(ids: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
            return torch.stack([torch.stack([self._states[number] for number in row]) for row in ids.tolist()])

        _, layers = layers_of(model, "layers that read ahead need")
        first = with_layers(model, range(at), {at - 1: after_layer(layers[at - 1], passed)})
        self._first, self._states = Half(first, prompts, 0, "dynamic"), list[torch.Tensor]()
        # That the first half has read ahead of each text: ids, and the numbers of their states.
        self._ahead: list[list[tuple[int, int]]] = [[] for _ in prompts]
        super().__init__(entered(model, range(at, len(layers)), at, enters, 0), prompts, 0, "dynamic")

    def ahead(self, ids: Mapping[int, Sequence[int]]) -> dict[int, torch.Tensor]:
        """Makes `ids[i]` what the first half has read ahead of text i; the logits after the last id of each that was not."""
        known = [[token for token, _ in pairs] for pairs in self._ahead]
        wanted = [ids.get(at, said) for at, said in enumerate(known)]
        counts = list(map(shared, known, wanted))
        self._first.rollback([len(said) - count for said, count in zip(known, counts, strict=True)])
        self._ahead = [pairs[:count] for pairs, count in zip(self._ahead, counts, strict=True)]
        rest = [list(way[count:]) for way, count in zip(wanted, counts, strict=True)]
        if not any(rest):
            return {}
        logits = self._first.read(rest, [min(1, len(chunk)) for chunk in rest])
        for at, chunk in enumerate(rest):  # what has been read may be more: whole texts again
            first = len(self._states)
            self._states += self._left[at][len(self._left[at]) - len(chunk) :]
            self._ahead[at] += zip(chunk, range(first, first + len(chunk)), strict=True)
        return dict(zip([at for at, chunk in enumerate(rest) if chunk], logits, strict=True))

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        """The first half's texts go on with these chunks, and no further; the states are the second one's from now on."""
        self.ahead(dict(enumerate(chunks)))
        numbers = [[number for _, number in pairs] for pairs in self._ahead]
        self._ahead = [[] for _ in chunks]
        return super().read(numbers, scored)

    def select(self, texts: Sequence[int]) -> None:
        super().select(texts)
        self._first.select(texts)
        self._ahead = [list(self._ahead[text]) for text in texts]

    def rollback(self, counts: Sequence[int]) -> None:
        self._first.rollback([len(pairs) + count for pairs, count in zip(self._ahead, counts, strict=True)])
        self._ahead = [[] for _ in counts]
        super().rollback(counts)

    def _refuse(self, *given: Any) -> Any:
        raise ValueError("what is read ahead is a chain of one batch: its texts neither join others nor are taken out")

    taken = join = read_trees = _refuse  # type: ignore[assignment]
