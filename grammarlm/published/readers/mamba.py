"""Mamba's layer over trees: a recurrence h = a h + b with a factor of its own for each number, from node to node (STree)."""

from __future__ import annotations

from typing import Any

import torch

from .tree_nodes import Convolution, Nodes


class Mamba:
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
