"""The cut of plausible tokens: what is much less probable than the best allowed one cannot be drawn, whatever lifts it."""

from __future__ import annotations

import math

import torch

from grammarlm.decoding.arguments import check_number


def check_cut(cut: object) -> None:
    check_number("cut", cut, lambda share: 0 <= share <= 1, "from 0 (nothing is cut) to 1 (all but the best)")


def plausible(logits: torch.Tensor, cut: float) -> torch.Tensor:
    """bool [rows, V]: the tokens with at least this share of the best one's probability, and a finite logit.

    It goes by masked logits: a cut by all tokens could leave none of those that the grammar allows.
    """
    least = logits.amax(dim=1, keepdim=True) + (math.log(cut) if cut else -math.inf)
    return (logits >= least) & (logits > -math.inf)
