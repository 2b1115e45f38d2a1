"""The last hidden states of a transformers model, taken where its trunk returns them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def caught_states(model: Any, wanted: bool) -> Iterator[list[torch.Tensor]]:
    """What the trunk returns during a forward, [B, width, hidden]; nothing where it is not wanted, or the model has no trunk."""
    found: list[torch.Tensor] = []
    trunk = getattr(model, "base_model", model)
    if not wanted or trunk is model:
        yield found
        return

    def catch(module: Any, given: Any, output: Any) -> None:
        states = getattr(output, "last_hidden_state", None)
        if states is not None:
            found.append(states.detach())

    hook = trunk.register_forward_hook(catch)
    try:
        yield found
    finally:
        hook.remove()
