"""Mamba 2's layer over trees: a recurrence h = a h + b with one a for each head, as a sum over the nodes above (STree).

A product of a's on the way between two nodes is the exponential of a difference of sums, so that a tree is read at once and no
state but the first is held.
"""

from __future__ import annotations

from typing import Any

import torch

from .tree_nodes import Convolution, Nodes


class Mamba2:
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
