"""method="anchored": as close to the model as a budget of divergence from a safe one allows, over the whole answer.

    out = gl.generate(model, prompt, schema=Order, method="anchored", safe=careful, budget=20.0, temperature=1.0)
    sum(step["kl"] for step in out.stats.log)       # at most 20 nats

The safe model never saw what must not be repeated (licensed texts alone, say), and generate()'s model did. A token is drawn
from p = p_safe^(1 - x) p_model^x, renormalised, both masked first: the law next to the model's among all with KL(p, p_safe) as
small. x is the largest for which that stays within what is granted. Token t may use t budget / max_tokens, less what those
before it have used and less `debt`; so what is saved on harmless tokens is there for others. Along each answer the divergences
add up to `budget` at most, and so the law of whole answers is within `budget` nats of the safe model's, masked. budget=0 is the
safe model alone, math.inf the other one.

    safe     a model, another prompt, or (model, prompt): sources.py
    budget   nats for an answer of max_tokens tokens
    debt     nats that count as used from the start, such as what the prompt gives away; one for all, or a list, one for each prompt

out.stats.log has a dict for each choice: "token" (its number in the answer, from 0), "share" (x), "kl" (used) and "granted".
Tokens that are the only allowed ones use nothing and are not there. The temperature divides the logits of both models before
they are mixed; at temperature 0 the most probable token of p at temperature 1 is taken.

Purpose: steered by another model. Forwards: two a step, one of each. Law: its own, as above; what would change it after the
account is refused (filters, repetition_penalty, where=). Not where nothing may leak at all: take the safe model.

Source: Anchored Decoding (Provably Reducing Copyright Risk for Any Language Model).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.arguments import check_number, per_prompt
from grammarlm.decoding.loop.blending import BlendRow
from grammarlm.decoding.methods.searches.search import check_whole_distribution
from grammarlm.decoding.request import Request

from .blend import blend
from .mixture import Mixture


def checked(request: Request, *, budget: float, debt: Any, **_: object) -> list[dict[str, Any]]:
    """For each prompt what counts as used."""
    check_number("budget", budget, lambda nats: nats >= 0, "0 (the safe model alone) or more, in nats")
    sampling = request.specs[0].settings.sampling
    check_whole_distribution(sampling, "anchored")
    given = ["repetition_penalty"] if sampling.repetition_penalty != 1 else []
    given += ["where"] if any(spec.where is not None for spec in request.specs) else []
    if given:
        raise ValueError(
            f'{given[0]}= with method="anchored", which keeps account of the law that tokens are drawn from: it would change that '
            'afterwards; leave it out, or take method="masked"'
        )
    each = per_prompt("debt", debt, request.total if request.is_list else None)
    for one in each:
        check_number("debt", one, lambda nats: 0 <= nats < math.inf, "0 or more, in nats")
    return [{"used": float(one)} for one in each[request.first : request.first + len(request.prompts)]]


@blend("safe", masked=True, begin=checked)
def anchored(
    rows: Sequence[BlendRow], logits: torch.Tensor, safe: torch.Tensor, *, budget: float, debt: Any = 0.0
) -> torch.Tensor:
    """For each row log p, times its temperature, which divides it again."""
    for row, own, other in zip(rows, logits.numpy(), safe.numpy(), strict=True):
        if np.count_nonzero(own > -np.inf) == np.count_nonzero(other > -np.inf) == 1:
            continue  # forced: what is drawn does not depend on whether it was asked about
        granted = budget
        if budget < math.inf:  # a law that the safe one does not cover uses all of infinity
            granted = (len(row.tokens) + 1) * (budget / row.max_tokens) - row.memory["used"]
        mixture = Mixture.of(other, own, row.warmth)
        share, kl = mixture.largest(granted)
        row.memory["used"] += kl
        row.log.append({"token": float(len(row.tokens)), "share": share, "kl": kl, "granted": granted})
        if share == 0:
            own[:] = other
        elif kl < math.inf and (share < 1 or not mixture.is_within):
            own[:] = mixture.row(share) * row.warmth
    return logits
