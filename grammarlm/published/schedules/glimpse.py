"""Mirror-SD: what the target's first layers say of the next token, while its other layers go on; for Parallel(layers=).

The model's output, on what its first layers have made of the last ids, gives the candidates with which the draft goes on
meanwhile. It costs one product with the output matrix. Of no use where the first layers decide little.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread, current_thread
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.model_layers import layers_of, output_of
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates


class Glimpse:
    """Of the last id of each row of a forward: the model's output on what its first `layers` layers have made of it; nothing where
    that is None."""

    def __init__(self, layers: int | None):
        self.layers = layers
        self._layer: Any = None
        self._output: Any = None
        self._hook: Any = None
        self._came = Event()
        self._rows: Sequence[Row] = ()
        self._logits: np.ndarray | None = None

    def begin(self, model: Any) -> None:
        if self.layers is None:
            return
        _, layers = layers_of(model, "candidates from the target's first layers need")
        if not 0 < self.layers < len(layers):
            raise ValueError(
                f"layers={self.layers}: the model has {len(layers)}, and candidates come before the last one"
            )
        self._layer, self._output = layers[self.layers - 1], output_of(model)

    def watch(self, drafting: Thread, rows: Sequence[Row]) -> None:
        """The next forward that is not in this thread, of these rows, is looked at."""
        self._rows = rows
        self._came.clear()
        self._logits = None

        def see(module: Any, given: Any, output: Any) -> None:
            if current_thread() is not drafting and not self._came.is_set():
                states = output[0] if isinstance(output, tuple) else output
                with torch.no_grad():
                    self._logits = self._output(states[:, -1]).float().cpu().numpy()
                self._came.set()

        if self._layer is not None:
            self._hook = self._layer.register_forward_hook(see)

    def likely(self, tips: Sequence[tuple[DraftBuilder, int]]) -> list[Candidates] | None:
        """What may come after these nodes, once the layers have read; None where the forward of the rows ends without."""
        if self._layer is None:
            return None
        self._came.wait()
        logits = self._logits
        if logits is None or len(logits) != len(self._rows):  # rows that have nothing more to choose are read, too
            return None
        return [Candidates.of(growth, node, logits[self._rows.index(growth.row)]) for growth, node in tips]

    def stop(self) -> None:
        """The forward has ended."""
        self._came.set()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
