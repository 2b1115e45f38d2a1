"""SpecMemo (Speculative Decoding is in Your Pocket): drafts within a budget of memory.

What one node of a draft holds is known beforehand, so that each row may have so many. It costs nothing. Of no use where memory is
not short: drafts get shorter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.model_facts import text_config
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Drafter, Target
from grammarlm.decoding.speculative.schedule import Schedule

COPIES = 3  # of a node's logits in float32: those of the target, of the draft, and masked
OBJECTS = 1024  # bytes of a node's entries in lists, and of its matcher


class Memory(Schedule):
    """All drafts of a batch together hold at most so many megabytes: logits, cache, masks and states of their nodes.

    What one node holds is computed beforehand from the widths of the model; the rows of a batch get equal shares,
    since a batch is as wide as its widest row.
    """

    limits_rooms = True

    def __init__(self, megabytes: float):
        check_number("megabytes", megabytes, lambda size: 0 < size < math.inf, "above 0 megabytes")
        self.most = int(megabytes * 1e6)
        self._fixed = 0  # bytes of a node
        self._by_length = 0  # and for each id of its text

    def begin(self, target: Target, drafter: Drafter) -> None:
        size = itemsize(target.model)
        width = max(target.vocab.size, getattr(text_config(target.model), "vocab_size", 0))
        self._fixed = width * (size + 4 * COPIES) + target.vocab.words * 4 + cached_bytes(target.model, size) + OBJECTS
        self._by_length = size  # a row of the mask of ancestors

    def rooms(self, rows: Sequence[Row], rooms: Sequence[int]) -> Sequence[int]:
        share = self._share(rows)
        return [min(room, share) for room in rooms]

    def begin_round(self, rows: Sequence[Row], growths: Sequence[DraftBuilder]) -> None:
        share = self._share(rows)
        for growth in growths:
            growth.most = min(growth.most, share)

    def _share(self, rows: Sequence[Row]) -> int:
        """How many nodes each row may have."""
        longest = max(len(row.ids) for row in rows)
        return self.most // (len(rows) * (self._fixed + self._by_length * 2 * longest))


def itemsize(model: Any) -> int:
    """Bytes of one number of the model's."""
    weights = model.parameters() if isinstance(model, torch.nn.Module) else ()
    return next((each.element_size() for each in weights if each.is_floating_point()), 4)


def cached_bytes(model: Any, size: int) -> int:
    """Of keys and values of one id; 0 for a callable, which keeps none."""
    config = text_config(model)
    if config is None:
        return 0
    all_heads: int = getattr(config, "num_attention_heads", 1)
    heads: int = getattr(config, "num_key_value_heads", None) or all_heads
    width: int = getattr(config, "head_dim", None) or getattr(config, "hidden_size", 0) // all_heads
    layers: int = getattr(config, "num_hidden_layers", 1)
    return 2 * layers * heads * width * size
