"""PPD, Hidden Transfer, ConFu: the target itself reads ahead, at positions beside its text, in the forward that verifies.

PPD (Parallel Prompt Decoding) reads trained embeddings after each id, Hidden Transfer maps of the state at a layer; the target's
own states there are its guesses. ConFu's ephemeral ids are `Rows(ahead, ephemeral=Ephemeral(ids=...))`. It costs as many ids more
for each token read. Of no use untrained, or for models whose attention takes no masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grammarlm.published.readers.ephemeral import Ephemeral

from .rows import Rows, Seen


def of_positions(seen: Seen, said: torch.Tensor) -> torch.Tensor | None:
    """The state of the m-th ephemeral position: the target's own guess at what follows m ids more."""
    ways, ahead = said.shape
    if seen.after is None or ahead > len(seen.after):
        return None
    return seen.after[ahead - 1].expand(ways, -1)


def prompt_tokens(embedded: torch.Tensor, **options: Any) -> Rows:
    """Embeddings [count, hidden] that have been trained to guess ahead, read after each id (PPD)."""
    ephemeral = Ephemeral(enter=lambda states: embedded.expand(len(states), -1, -1), count=len(embedded))
    return Rows(of_positions, ephemeral=ephemeral, **options)


def hidden_transfer(layer: int, maps: Sequence[Callable[[torch.Tensor], torch.Tensor]], **options: Any) -> Rows:
    """Maps of the state that enters a layer to the states that the next places would have there (Hidden Transfer)."""
    ephemeral = Ephemeral(
        enter=lambda states: torch.stack([each(states) for each in maps], 1), count=len(maps), layer=layer
    )
    return Rows(of_positions, ephemeral=ephemeral, **options)
