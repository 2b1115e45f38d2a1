"""The Des Raj estimate: how much mass a predicate accepts, from a few tokens after the first accepted one, x.

Tokens come in the order of a draw without replacement. Each after x gives a term: the p of all accepted before it (x is one), plus
all of the remaining mass M if it is accepted, too. Given all that came up to x, each term has the expectation p(x) + (the other
accepted mass) = Z. So has the mean of any number of them fixed by then, and that number may depend on what came before: where Z is
small a few would mostly be rejected. Where all tokens have come, Z is known. One term is the recursive weight of the literature: M
if the next token is accepted, else p(x).

Clipping: after the draw that could be the last that is allowed no more are made. It weighs M if accepted, else 0: the plain
importance weight, unbiased with one draw. By induction the rounds before it are unbiased: a rejection may be followed by anything
that is properly weighted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .exponential_race import Arrival


def log_mean(first: Arrival, others: Iterable[tuple[Arrival, bool]], count: int) -> float:
    """The log of the mean of so many terms; where there are fewer others, no token is left."""
    accepted, terms = first.log_p, list[float]()
    for one, is_accepted in others:
        terms.append(float(np.logaddexp(accepted, one.log_mass)) if is_accepted else accepted)
        if is_accepted:
            accepted = float(np.logaddexp(accepted, one.log_p))
    terms += [accepted] * (count - len(terms))
    return float(np.logaddexp.reduce(terms)) - math.log(count)
