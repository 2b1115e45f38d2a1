"""DEL (Context-Aware Dynamic Exit Layer): the target's first layers as a draft model, as many as save most.

It costs a cache of its own, and its layers' share of a forward for each token; to find out how many pay, a few drafts by each.
With `eta=` or `adapter=` an exit shares with the target what its layers have read (early_exit.py). Of no use where the first
layers decide little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Drafter, Target

from .early_exit import SharedExit
from .layers import OwnLayers, Transform

AUTO = "auto"
TRIES = 6  # rounds with an exit before it is judged


class Exit(OwnLayers):
    """The first layers: half of them, as many as given, or "auto": as many as save most, by what was drawn (DEL)."""

    name = "exit"

    def __init__(self, layers: Sequence[int] | int | str | None = None, transform: Transform | None = None):
        if isinstance(layers, str) and layers != AUTO:
            raise ValueError(f"layers={layers!r}; it takes a number of layers, or {AUTO!r}")
        self._chooses = layers == AUTO
        if not self._chooses:
            check_integer("layers", layers, 1, optional=True)
        super().__init__(layers, transform)
        self._target: Target | None = None
        self._count = self._used = 0  # layers that there are, and of the exit
        self._drawn: dict[int, list[float]] = {}  # layers -> tokens that were drawn, rounds

    def kept(self, count: int) -> list[int]:
        self._count = count
        self._used = self._best() if self._chooses else self.layers or max(1, count // 2)
        if self._used >= count:
            raise ValueError(f"layers={self._used}: the model has {count}, and an exit comes before the last one")
        return list(range(self._used))

    def begin(self, target: Target) -> None:
        super().begin(target)
        self._target = target

    def _best(self) -> int:
        """Of the exits that have been tried often enough the one with most tokens for its time; first one that has not been."""
        for layers in range(1, self._count):
            if self._drawn.get(layers, [0.0, 0.0])[1] < TRIES:
                return layers
        return max(range(1, self._count), key=self._gain)

    def _gain(self, layers: int) -> float:
        """Tokens a round by its time: the target's forward, and as many passes of the layers as tokens are drafted."""
        drawn, rounds = self._drawn[layers]
        return (1 + drawn / rounds) / (1 + self.length * layers / self._count)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        if self._chooses and tree:
            seen = self._drawn.setdefault(self._used, [0.0, 0.0])
            seen[0], seen[1] = seen[0] + len(nodes), seen[1] + 1

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        if self._chooses and self._target is not None and self._best() != self._used:
            self.begin(self._target)
        super().open(growths)


def early_exit(
    layers: int | str | None = None,
    eta: float | None = None,
    adapter: Callable[[torch.Tensor], torch.Tensor] | None = None,
    transform: Transform | None = None,
) -> Drafter:
    """What the name "exit" stands for."""
    if eta is None and adapter is None:
        return Exit(layers, transform)
    if transform is not None or isinstance(layers, str):
        raise ValueError(
            "eta= and adapter= share layers with the target: no transform= of what they give, and a number of layers"
        )
    return SharedExit(layers, eta or 0.0, adapter)
