"""method="contrast": away from what another model, or another prompt, would make of the answer.

    leading = "I think the total is 40. What is the total?\\n"
    gl.generate(model, "What is the total?\\n", schema=Answer, method="contrast", against=leading, alpha=0.5)
    gl.generate(large, prompt, schema=Answer, method="contrast", against=small)
    gl.generate(model, prompt, schema=Answer, method="contrast", against=(model, "Answer:\\n"), alpha=0.5)

A token's logit becomes (1 + alpha) l - alpha l', where l' is that of `against`: what both find probable for the same reason
cancels. Of two prompts the second one has the cue that is to lose its influence (a leading question); of two models the weaker
one has the mistakes that are to be avoided; a prompt without the question makes it guidance by the question, at the scale 1 +
alpha.

Implausible tokens could be lifted far by a small l'. So those are cut first that have less than `cut` of the probability of the
best allowed token, by generate()'s own model.

Purpose: steered by another model. Forwards: two a step, one of each. Law: its own, renormalised step by step over the allowed
tokens that the cut leaves; alpha=0 is "masked", and nothing is cut there. Not where answers should follow the model's law, or
be calibrated: they are sharper than it.

Sources: LQCD (Towards Analyzing and Mitigating Sycophancy in Large Vision-Language Models), Contrastive Decoding (Open-ended
Text Generation as Optimization), classifier-free guidance (Stay on Topic with Classifier-Free Guidance).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.blending import BlendRow
from grammarlm.decoding.request import Request

from .blend import blend
from .cutting import check_cut, plausible


def checked(request: Request, *, alpha: float, cut: float, **_: object) -> None:
    check_number("alpha", alpha, lambda a: -1 <= a < math.inf, "-1 (the other one alone) or more (0: no contrast)")
    check_cut(cut)


@blend("against", masked=True, begin=checked)
def contrast(
    rows: Sequence[BlendRow], logits: torch.Tensor, against: torch.Tensor, *, alpha: float = 1.0, cut: float = 0.1
) -> torch.Tensor:
    """(1 + alpha) times the logits, minus alpha times those of `against`; -inf where the cut is."""
    if alpha == 0:
        return logits
    kept = plausible(logits, cut)
    return torch.where(kept, (1 + alpha) * logits - alpha * against, -math.inf)
