"""STree (Speculative Tree Decoding for Hybrid State-Space Models): Mamba and Mamba 2 of transformers, read by their states.

Texts go on, and trees are read, without reading a text again. Their own forwards go on from a state by one token at a time, for
texts of equal length; here a forward reads the nodes of trees, of which a text is one. The weights are the model's, and all else
is called as it is there: norms, projections, activations. It costs no state for each branch. Of no use for hybrids with
attention: these have a cache.
"""

from __future__ import annotations

from typing import Any

import torch

from grammarlm.decoding.readers.model_facts import device_of, width_of
from grammarlm.decoding.systems import STATE_SPACES, system

from .tree_nodes import Mixer, Nodes

PIECE = 64  # nodes that are read at once, of a text


class StateSpaceModel:
    """A RecurrentModel (recurrent.py) of a transformers model of one of these kinds."""

    def __init__(self, model: Any):
        self._model, self._device = model, device_of(model)
        self._layers = model.backbone.layers
        kind = system(STATE_SPACES[model.config.model_type])
        self._mixers: list[Mixer] = [kind(layer.mixer) for layer in self._layers]
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
