"""Trees as a state-space layer sees them: each node goes on from its parent; a convolution sees the last inputs on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch


@dataclass(frozen=True)
class Nodes:
    """Trees of T nodes in each of B texts."""

    parents: torch.Tensor  # int64 [B, T]: an earlier node, or -1, the state
    windows: (
        torch.Tensor
    )  # int64 [B, T, K]: what the convolution sees: 0 .. K - 2 are inputs kept in the state, K - 1 + i is node i
    above: torch.Tensor  # bool [B, T, T]: is the second node on the way to the first, or the same?
    is_chain: bool  # are they texts: is each node's parent the one before it?
    last: torch.Tensor  # int64 [B]: one more than the node whose state is wanted; 0: the state as it is

    @classmethod
    def of(cls, parents: torch.Tensor, last: torch.Tensor, width: int) -> Nodes:
        """For a convolution of this width."""
        batch, count = parents.shape
        every = torch.arange(batch, device=parents.device)
        up = torch.cat((torch.arange(width - 1, device=parents.device).expand(batch, -1) - 1, parents + width - 1), 1)
        at = torch.arange(count, device=parents.device).expand(batch, -1) + width - 1
        seen = [at]
        for _ in range(width - 1):
            at = up.gather(1, at)
            seen.insert(0, at)
        is_chain = bool((parents == torch.arange(-1, count - 1, device=parents.device)).all())
        above = torch.ones(batch, count, count, dtype=torch.bool, device=parents.device).tril()
        for node in range(0 if is_chain else count):
            parent = parents[:, node]
            above[:, node] = above[every, parent.clamp(min=0)] & (parent >= 0)[:, None]
            above[:, node, node] = True
        return cls(parents, torch.stack(seen, 2), above, is_chain, last)


class Mixer(Protocol):
    """What of a layer looks back."""

    size: int  # of its state
    width: int  # of its convolution

    def __call__(self, entering: torch.Tensor, state: torch.Tensor, nodes: Nodes) -> tuple[torch.Tensor, torch.Tensor]:
        """[B, T, hidden] and [B, size] -> what leaves it, and the state after `nodes.last`."""


class Convolution:
    def __init__(self, layer: Any, act: Any):
        self._layer, self._act = layer, act
        self.channels, _, self.width = layer.weight.shape
        self.size = self.channels * (self.width - 1)

    def __call__(self, inputs: torch.Tensor, state: torch.Tensor, nodes: Nodes) -> tuple[torch.Tensor, torch.Tensor]:
        every = torch.arange(len(inputs), device=inputs.device)
        before = state.reshape(-1, self.width - 1, self.channels).to(inputs.dtype)
        seen = torch.cat((before, inputs), 1)[every[:, None, None], nodes.windows]  # [B, T, K, channels]
        out = torch.einsum("btkc,ck->btc", seen, self._layer.weight[:, 0])
        out = out if self._layer.bias is None else out + self._layer.bias
        after = seen[every, (nodes.last - 1).clamp(min=0), 1:]
        after = torch.where((nodes.last > 0)[:, None, None], after, before)
        return self._act(out), after.flatten(1)
