"""method="awrs": independent draws with weights, by rejection where a predicate is asked.

    out = gl.generate(model, prompt, regex="...", where=compiles, method="awrs", temperature=1.0)
    out.log_weight                               # log of an unbiased estimate of the mass that the constraint left on the way

With remember=True draws share what they have learned (CARS: remembering.py): each dead end is entered once, and the weights become
alike.

It draws from the model's whole distribution at the temperature, and costs one or two checks of where= more than the tokens that it
refuses.

Purpose: the model's own law. Forwards: one a token. Law: the model's given the grammar and where=, once draws are weighed by
exp(log_weight). Not without where= or a use for weights: "masked" draws the same answers.

Source: AWRS (Fast Controlled Generation from Language Models with Adaptive Weighted Rejection Sampling).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_choice
from grammarlm.decoding.methods.searches.search import check_whole_distribution
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.branches import Branches
from grammarlm.published.methods.rejection import Rejection

from .draws import FURTHER, WeightedDraws
from .particles import run_particles
from .remembering import Remembering


def awrs(request: Request, *, remember: bool = False, **options: Any) -> list[Result]:
    """Weighted draws, independent unless remember=True; further options are the fields of `Rejection`. At temperature 0 nothing
    is drawn: the most probable token that where= accepts is taken, and there is no weight.

    A text that where= does not let go on has weight 0, and no value ("unsatisfied").
    """
    check_choice("remember", remember, (True, False))
    how = Rejection(**options)
    sampling = request.specs[0].settings.sampling
    if remember and not sampling.temperature:
        raise ValueError("remember=True is about draws, and at temperature 0 nothing is drawn; give a temperature")
    how = how if sampling.temperature else replace(how, weights="none")
    check_whole_distribution(sampling, "awrs")
    branches = Branches(request, sampling)
    starts = [text for text in branches.beginnings() for _ in range(request.n)]
    seeds = [sampling.of_sample(slot % request.n) for slot in range(len(starts))]
    is_weighted = how.weights != "none"
    if remember:
        memory, warm = Remembering(branches, how), [replace(one, temperature=1.0) for one in seeds]
        made = [memory.draw(text, own) for text, own in zip(starts, warm, strict=True)]
        return [
            replace(branches.result(text, number=slot, ending=ending), log_weight=weight if is_weighted else None)
            for slot, (text, weight, ending) in enumerate(made)
        ]
    draws = WeightedDraws(branches, seeds, how, are_independent=True)
    found = run_particles(starts, draws, np.copy, threshold=0)
    results = []
    for slot, (text, log_weight) in enumerate(zip(found.texts, found.log_weights.tolist(), strict=True)):
        result = branches.result(text, number=slot, ending=draws.endings.get(slot))
        results.append(replace(result, log_weight=log_weight if is_weighted else None))
    return results


awrs.further = FURTHER  # type: ignore[attr-defined]
