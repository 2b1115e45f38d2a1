"""method="grounded": towards words that a description of the matter makes probable somewhere.

    seen = "A steel lamp, seven of them, not paid yet."
    gl.generate(model, seen + "\\nAs JSON: ", schema=Order, method="grounded", description=seen)

The model reads the description once, by itself, and each position of it gives a law q_j of the next token. A token that one of
these finds probable belongs to the matter; the divergence of the token from q_j is -log q_j, and the least of them is its
distance. So a token's logit becomes log p + weight * max_j log q_j. Only plausible tokens are compared: those with at least
`cut` of the probability of the best allowed one. Usually the prompt has the description as well: what it says is in p only if
the model reads it.

Purpose: steered by another model. Forwards: one more, over the description, for each prompt; a step costs an addition. Law: its
own, renormalised step by step over the allowed tokens that the cut leaves; weight=0 is "masked", and nothing is cut there. Not
for answers that need words which no description can have, such as results of a calculation: it knows words, not whether they
are true.

Source: VDGD (Mitigating LVLM Hallucinations in Cognitive Prompts by Bridging the Visual Perception Gap). There a picture is
described by the model first; here the caller has the description, of whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.blending import BlendRow
from grammarlm.decoding.readers.model_facts import is_encoder_decoder
from grammarlm.decoding.request import Request

from .blend import blend
from .cutting import check_cut, plausible
from .sources import Source, prompts_of

AT_ONCE = 64  # ids of a description that are read at once: as many rows of logits are in memory


def best_of_description(request: Request, *, description: Any, weight: float, cut: float) -> list[dict[str, Any]]:
    """For each prompt the row max_j log q_j of its description; equal ones are read once."""
    check_number("weight", weight, lambda w: 0 <= w < math.inf, "0 (the model alone) or more")
    check_cut(cut)
    if is_encoder_decoder(request.model):
        raise TypeError(
            'method="grounded" reads its description as a text that the model could have written; '
            f"{type(request.model).__name__} has an encoder for it, which gives no law of its tokens: it takes a causal model"
        )
    ids = prompts_of("description=", description, request.model, request)
    best = {one: best_row(request, list(one)) for one in set(map(tuple, ids))}
    return [{"best": best[tuple(one)]} for one in ids]


def best_row(request: Request, ids: list[int]) -> torch.Tensor:
    """float32 [V]: for each token its largest log-probability after any beginning of these ids."""
    reader = Source("description=", request.model, [ids]).reader(request)
    found = []
    for at in range(0, len(ids), AT_ONCE):
        chunk = ids[at : at + AT_ONCE]
        found.append(reader.read([chunk], [len(chunk)]).log_softmax(-1).amax(0))
    return torch.stack(found).amax(0)


@blend(masked=True, begin=best_of_description)
def grounded(
    rows: Sequence[BlendRow], logits: torch.Tensor, *, description: Any, weight: float = 1.0, cut: float = 0.1
) -> torch.Tensor:
    """The logits plus `weight` times the largest log-probability that any position of the description gives the token."""
    if weight == 0:
        return logits
    kept = plausible(logits, cut)
    best = torch.stack([row.memory["best"] for row in rows])
    width = min(best.shape[1], logits.shape[1])
    logits[:, :width] += weight * best[:, :width]
    return torch.where(kept, logits, -math.inf)
