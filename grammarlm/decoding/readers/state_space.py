"""Transformers' Mamba and Mamba 2, read by their states: texts go on, and trees are read, without reading a text again.

Their own forwards go on from a state by one token at a time, for texts of equal length. Here a forward reads the nodes of trees, of
which a text is one: each node goes on from its parent (STree). Two parts of a layer look back. The convolution sees the last few
inputs on the way to a node. The recurrence, h = a h + b with one a for each channel (Mamba) or head (Mamba 2), goes from node to
node, or, where a is one number a head, sums over the nodes above: a product of a's on the way between two nodes is the exponential
of a difference of sums, so that a tree is read at once and no state but the first is held.

The weights are the model's, and all else is called as it is there: norms, projections, activations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from .model_facts import device_of, width_of

PIECE = 64  # nodes that are read at once, of a text


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


class Mamba:
    """A recurrence with a factor of its own for each number of the state, from node to node."""

    def __init__(self, mixer: Any):
        self._mixer, self._convolution = mixer, Convolution(mixer.conv1d, mixer.act)
        self.width = self._convolution.width
        self.size = self._convolution.size + mixer.A_log.numel()

    def __call__(self, entering: torch.Tensor, state: torch.Tensor, nodes: Nodes) -> tuple[torch.Tensor, torch.Tensor]:
        own, every = self._mixer, torch.arange(len(entering), device=entering.device)
        inputs, gate = own.in_proj(entering).chunk(2, -1)
        kept, state = state.split([self._convolution.size, own.A_log.numel()], 1)
        inputs, kept = self._convolution(inputs, kept, nodes)
        step, enter, leave = own.x_proj(inputs).split([own.time_step_rank, own.ssm_state_size, own.ssm_state_size], -1)
        step = torch.nn.functional.softplus(own.dt_proj(step)).to(state.dtype)
        factor = torch.exp(-step[..., None] * torch.exp(own.A_log.float()))
        more = step[..., None] * enter[:, :, None] * inputs[..., None]
        states = [state.reshape(-1, *own.A_log.shape)]
        for node in range(entering.shape[1]):
            before = states[node] if nodes.is_chain else torch.stack(states, 1)[every, nodes.parents[:, node] + 1]
            states.append(factor[:, node] * before + more[:, node])
        all_states = torch.stack(states, 1)
        out = torch.einsum("btcn,btn->btc", all_states[:, 1:], leave.to(state.dtype)) + inputs * own.D
        out = out * torch.nn.functional.silu(gate)
        after = all_states[every, nodes.last].flatten(1)
        return own.out_proj(out.to(entering.dtype)), torch.cat((kept.to(state.dtype), after), 1)


class Mamba2:
    """A recurrence with one factor a head, as a sum over the nodes above."""

    def __init__(self, mixer: Any):
        self._mixer, self._convolution = mixer, Convolution(mixer.conv1d, mixer.act)
        self.width = self._convolution.width
        self._held = mixer.num_heads, mixer.head_dim, mixer.ssm_state_size
        self.size = self._convolution.size + mixer.num_heads * mixer.head_dim * mixer.ssm_state_size

    def __call__(self, entering: torch.Tensor, state: torch.Tensor, nodes: Nodes) -> tuple[torch.Tensor, torch.Tensor]:
        own, (heads, width, size) = self._mixer, self._held
        batch, count = entering.shape[:2]
        parts = own.in_proj(entering).split([own.intermediate_size, own.conv_dim, heads], -1)
        gate, inputs, step = parts
        kept, state = state.split([self._convolution.size, heads * width * size], 1)
        inputs, kept = self._convolution(inputs, kept, nodes)
        inputs, enter, leave = inputs.split([own.intermediate_size, *[own.n_groups * size] * 2], -1)
        values = inputs.reshape(batch, count, heads, width).to(state.dtype)
        enter, leave = (
            each.reshape(batch, count, own.n_groups, size).repeat_interleave(heads // own.n_groups, 2).to(state.dtype)
            for each in (enter, leave)
        )
        step = torch.nn.functional.softplus(step + own.dt_bias).clamp(*own.time_step_limit).to(state.dtype)
        first = state.reshape(batch, heads, width, size)

        above = nodes.above
        sums = torch.einsum("btm,bmh->bth", above.to(state.dtype), -step * torch.exp(own.A_log.float()))
        between = (
            (sums[:, :, None] - sums[:, None]).masked_fill(~above[..., None], -torch.inf).exp()
        )  # [B, T, T, heads]
        more = values * step[..., None]
        out = torch.einsum("bthn,bmhn,btmh,bmhp->bthp", leave, enter, between, more)
        out = out + torch.einsum("bth,bthn,bhpn->bthp", sums.exp(), leave, first) + values * own.D[:, None]
        out = own.norm(out.flatten(2).to(entering.dtype), gate)

        every, at = torch.arange(batch, device=entering.device), (nodes.last - 1).clamp(min=0)
        after = torch.einsum("bmh,bmhp,bmhn->bhpn", between[every, at], more, enter)
        after = after + sums[every, at].exp()[..., None, None] * first
        after = torch.where((nodes.last > 0)[:, None, None, None], after, first)
        return own.out_proj(out), torch.cat((kept.to(state.dtype), after.flatten(1)), 1)


KINDS: dict[str, Callable[[Any], Mixer]] = {"mamba": Mamba, "mamba2": Mamba2}  # by config.model_type


class StateSpaceModel:
    """A RecurrentModel (recurrent.py) of a transformers model of one of these kinds."""

    def __init__(self, model: Any):
        self._model, self._device = model, device_of(model)
        self._layers = model.backbone.layers
        self._mixers: list[Mixer] = [KINDS[model.config.model_type](layer.mixer) for layer in self._layers]
        self.vocab_size = width_of(model) or model.config.vocab_size
        self._weights = next(each.dtype for each in model.parameters() if each.is_floating_point())
        self._dtype = self._weights if self._weights == torch.float64 else torch.float32

    def start(self, count: int) -> torch.Tensor:
        return torch.zeros(count, len(self._mixers), self._mixers[0].size, dtype=self._dtype, device=self._device)

    def read(self, states: torch.Tensor, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = []
        for first in range(0, ids.shape[1], PIECE):
            piece = ids[:, first : first + PIECE]
            parents = torch.arange(-1, piece.shape[1] - 1).expand(len(ids), -1)
            own, states = self._forward(states, piece, parents, (lengths - first).clamp(0, piece.shape[1]))
            rows.append(own)
        return torch.cat(rows, 1), states

    def read_trees(self, states: torch.Tensor, ids: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        return self._forward(states, ids, parents, torch.zeros(len(ids), dtype=torch.long))[0]

    def output(self, rows: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model.get_output_embeddings()(rows.to(self._weights)).cpu()
        return logits

    def _forward(
        self, states: torch.Tensor, ids: torch.Tensor, parents: torch.Tensor, last: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        nodes = Nodes.of(parents.to(self._device), last.to(self._device), self._mixers[0].width)
        hidden, after = self._model.backbone.embeddings(ids.to(self._device)), []
        for number, (layer, mixer) in enumerate(zip(self._layers, self._mixers, strict=True)):
            beside = hidden.float() if layer.residual_in_fp32 else hidden
            out, state = mixer(layer.norm(hidden.to(layer.norm.weight.dtype)), states[:, number], nodes)
            hidden = beside + out
            after.append(state)
        return self._model.backbone.norm_f(hidden), torch.stack(after, 1)


def is_state_space(model: Any) -> bool:
    """Is it of a kind that is read so? Not where its layers are on several devices."""
    devices = set(getattr(model, "hf_device_map", {}).values())
    kind = getattr(getattr(model, "config", None), "model_type", None)
    return kind in KINDS and hasattr(model, "backbone") and len(devices) < 2
