"""Attention in two parts: to what was read before, and to what is read now with its tree of drafts (LongSpec).

    model.set_attn_implementation(prefix_and_tree.register())

What was read before is seen alike by all that is read now, so that part needs no mask of its own for each of them: the same few
keys are hidden from all, and a kernel for plain attention does it, which matters where the text is long. What is read now sees
itself through the mask of the tree, which is small. Each part gives its mean of values and the logarithm of its sum of weights,
and by these the two means are merged.

Only for attention that sees all of the text: a sliding window hides other keys from each position, and is refused.
"""

from __future__ import annotations

from typing import Any

import torch

from grammarlm.errors import UnsupportedFeature

NAME = "prefix_and_tree"


def register() -> str:
    """Makes the name known to transformers, as an implementation of attention."""
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.masking_utils import eager_mask
    except ImportError:
        raise UnsupportedFeature(f"attention {NAME!r} needs transformers 4.53 or newer") from None
    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, eager_mask)
    return NAME


def attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """As transformers calls it: [B, heads, Q, d], twice [B, key heads, K, d], [B, 1, Q, K] that is added -> [B, Q, heads, d]."""
    if options.get("sliding_window") is not None:
        raise UnsupportedFeature(f"attention {NAME!r} is for models without a sliding window")
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    before = key.shape[2] - query.shape[2]
    tree = part(query, key[:, :, before:], value[:, :, before:], attention_mask[..., before : key.shape[2]], scale)
    if not before:
        return tree[0].transpose(1, 2).contiguous(), None
    hidden = attention_mask[:, :, -1:, :before]  # the last position is no pad: what it may see, all may
    prefix = part(query, key[:, :, :before], value[:, :, :before], hidden, scale)
    return merged(prefix, tree).transpose(1, 2).contiguous(), None


Part = tuple[torch.Tensor, torch.Tensor]


def part(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scale: float) -> Part:
    """The mean of the values [B, heads, Q, d], and the logarithm of the sum of their weights [B, heads, Q, 1]."""
    scores = query @ key.transpose(2, 3) * scale + mask
    logs = scores.logsumexp(-1, keepdim=True)
    return torch.exp(scores - logs) @ value, logs


def merged(first: Part, second: Part) -> torch.Tensor:
    """The mean over what both parts have seen."""
    share = torch.sigmoid(first[1] - second[1])
    return share * first[0] + (1 - share) * second[0]
