"""What the target's first layers say of the next token, while its other layers go on (Mirror-SD)."""

from __future__ import annotations

from threading import Event, current_thread
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.readers.model_layers import layers_of

NORMS = (
    "norm",
    "ln_f",
    "norm_f",
    "final_layernorm",
    "final_layer_norm",
)  # what models call the one before their output


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

    def wait(self) -> np.ndarray | None:
        """float32 [rows, V]; None where the forward has ended without."""
        self._came.wait()
        return self._logits

    def stop(self) -> None:
        """The forward has ended."""
        self._came.set()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
