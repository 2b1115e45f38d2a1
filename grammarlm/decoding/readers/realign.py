"""Holes in a key-value cache, closed: the ids of each text are moved to the right end of the cache (EQSPEC).

Drafts of which each text of a batch keeps another number leave pads in the middle of the cache. They are masked, but each forward
reads past them. Moving what is left is exact where attention uses only position ids and the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

SHARE, SLACK = (
    1.25,
    16,
)  # a cache is realigned once it has so many times the slots of its longest text, and so many more


def has_many_holes(slots: Sequence[Sequence[int]]) -> bool:
    """`slots` of each text, 1: an id, 0: a pad."""
    return len(slots[0]) > SHARE * max(map(sum, slots)) + SLACK


def realign(cache: Any, slots: Sequence[Sequence[int]], device: torch.device) -> list[list[int]]:
    """Moves the ids of each text together and cuts what is not needed; the slots that are left."""
    longest = max(map(sum, slots))
    places = []
    for row in slots:
        ids = [at for at, is_id in enumerate(row) if is_id]
        places.append([0] * (longest - len(ids)) + ids)
    index = torch.tensor(places, device=device)[:, None, :, None]
    with torch.inference_mode():
        for layer in cache.layers:
            for name in ("keys", "values"):
                held = getattr(layer, name)
                own = index.to(held.device).expand(-1, held.shape[1], -1, held.shape[3])
                setattr(layer, name, held.gather(2, own))
    return [[0] * (longest - sum(row)) + [1] * sum(row) for row in slots]
