"""method="pool": several answers at once, of which some are forked and some dropped while they are written, and which then vote.

    out = gl.generate(model, prompt, schema=Answer, method="pool", candidates=4, budget=600, temperature=0.8)
    out.score, out.stats.log[-1]     # its share of the votes; {"paths": ..., "tokens": at most the budget}

Which paths go on is decided by how sure the model is (HyPER: expansion.py), with `predictor=` by predicted reward and length
(ZIP-RC: outlook.py), with `controller=` by a function of yours. Votes are by value, as in "vote": two spellings are one.

Purpose: more often right. Forwards: one a token, of as many rows as there are paths. Law: none. Not where no two answers agree.

Sources: HyPER (hypothesis paths, expanded and reduced), ZIP-RC (predicted reward and length).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_function, check_integer, check_number
from grammarlm.decoding.methods.pools.pool import Controller, PoolSettings, run
from grammarlm.decoding.methods.pools.reserved import reserving
from grammarlm.decoding.methods.pools.vote import elected
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result

from .expansion import confident, expand_and_reduce
from .outlook import MOST, BestSubset


def pool(
    request: Request,
    *,
    candidates: int = 4,
    budget: int | None = None,
    controller: Controller | None = None,
    predictor: Callable[[np.ndarray], Any] | None = None,
    reserved: Iterable[int] = (),
    alpha: float = 0.0,
    beta: float = 0.0,
) -> list[Result]:
    """What the answers of a pool agree on. Temperature 0 is taken as 1.

    candidates   paths that begin; budget: tokens that all of a prompt's write together, by default candidates * max_tokens
    controller   a function of paths (methods/pools/pool.py), which says what is forked and dropped
    predictor    a function of the model's logits, float32 [V]: probabilities [rewards from 0 to 1, remaining tokens from 0]
    reserved     ids that are never drawn, such as those that a predictor reads
    alpha, beta  with predictor=: what a token costs, and a token of the longest path, in rewards
    """
    check_function("controller", controller)
    check_function("predictor", predictor)
    check_number("alpha", alpha, lambda cost: 0 <= cost < math.inf, "0 or more")
    check_number("beta", beta, lambda cost: 0 <= cost < math.inf, "0 or more")
    if predictor is not None and controller is not None:
        raise ValueError("predictor= and controller= both say which paths go on; leave one of them out")
    if predictor is None and (alpha or beta):
        raise ValueError("alpha= and beta= weigh what predictor= predicts; give it, too")
    check_integer("candidates", candidates, 1, MOST if predictor is not None else None)
    if budget is None:
        budget = candidates * request.specs[0].settings.max_tokens
    asked, n = reserving(request, reserved), request.n
    subset = None if predictor is None else BestSubset(predictor, alpha, beta)
    weight = confident if subset is None else subset.weight
    name = "controller=" if controller else "the pool"
    settings = PoolSettings(name, candidates, budget, subset is not None, lambda found: elected(found, n, None, weight))
    decide: Any = subset or controller or expand_and_reduce  # functions without options, too
    return run(asked, decide, settings)
