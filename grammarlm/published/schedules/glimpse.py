"""Mirror-SD: what the target's first layers say of the next token, while its other layers go on; for Parallel(layers=).

The model's output, on what its first layers have made of the last ids, gives the candidates with which the draft goes on
meanwhile. It costs one product with the output matrix. Of no use where the first layers decide little.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, current_thread
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates
from grammarlm.published.readers.model_layers import layers_of

# What models call the one before their output
NORMS = ("norm", "ln_f", "norm_f", "final_layernorm", "final_layer_norm")


class Glimpse:
    """Of the last id of each row of a forward: the model's output on what its first `layers` layers have made of it."""

    def __init__(self, layers: int):
        self.layers = layers
        self._layer: Any = None
        self._norm: Any = None
        self._output: Any = None
        self._hook: Any = None
        self._came = Event()
        self._logits: np.ndarray | None = None

    def begin(self, model: Any) -> None:
        found = layers_of(model)
        if found is None:
            raise ValueError(
                "candidates from the target's first layers need a transformers model with a list of layers"
            )
        way, layers = found
        if not 0 < self.layers < len(layers):
            raise ValueError(
                f"layers={self.layers}: the model has {len(layers)}, and candidates come before the last one"
            )
        holder = model.get_submodule(".".join(way[:-1]))
        self._layer, self._output = layers[self.layers - 1], model.get_output_embeddings()
        self._norm = next((getattr(holder, name) for name in NORMS if hasattr(holder, name)), torch.nn.Identity())

    def watch(self, drafting: str) -> None:
        """The next forward that is not in the thread of this name is looked at."""
        self._came.clear()
        self._logits = None

        def see(module: Any, given: Any, output: Any) -> None:
            if current_thread().name != drafting and not self._came.is_set():
                states = output[0] if isinstance(output, tuple) else output
                with torch.no_grad():
                    self._logits = self._output(self._norm(states[:, -1])).float().cpu().numpy()
                self._came.set()

        self._hook = self._layer.register_forward_hook(see)

    def likely(self, tips: Sequence[tuple[DraftBuilder, int]], rows: Sequence[Row]) -> list[Candidates] | None:
        """What may come after these nodes, once the layers have read; None where the forward of these rows ends without."""
        self._came.wait()
        logits = self._logits
        if logits is None or len(logits) != len(rows):  # rows that have nothing more to choose are read, too
            return None
        masked = [growth.masked(logits[rows.index(growth.row)], node) for growth, node in tips]
        return [Candidates((), ()) if each is None else Candidates((), (), each) for each in masked]

    def stop(self) -> None:
        """The forward has ended."""
        self._came.set()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
