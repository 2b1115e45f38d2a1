"""Adaptive weighted rejection sampling: draws a token that a predicate accepts, with a weight that keeps the target law unbiased.

A predicate (a Python function, a type checker) judges one token at a time; to ask it about a whole vocabulary would take minutes.
So tokens are visited in the order of a draw without replacement (`exponential_race.py`) until one is accepted. That one is an exact
draw from p f / Z, where p is the model's distribution, f in {0, 1} the predicate and Z = sum p f. On average this takes 1 + (sum
over rejected tokens a of p_a / (p_a + Z)) checks: at most 1 / Z, at most 1 + the number of rejected tokens.

What is missing is Z: how much mass the predicate accepts. Without it, texts that ran into a dead end weigh as much as those that
did not. It is estimated from a few more checks (des_raj.py), such that

    E[w 1{t = a}] = p(a) f(a)       for each token a, where (t, w) is what is returned

which is **proper weighting**: it makes products of weights unbiased. `clip=R` ends with the R-th rejection, with weight 0 where
nothing was accepted. It stays unbiased and adds variance; it is for predicates that may accept next to nothing.

A draw is a generator: it yields tokens to be checked, is sent the answers, and returns `Drawn`. So those of many particles run side
by side, and their questions become one call of the predicate.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from grammarlm.decoding.arguments import check_choice, check_integer, check_number

from .des_raj import log_mean
from .exponential_race import Arrival

NO_TOKEN = -1


@dataclass(frozen=True)
class Drawn:
    """The token, or NO_TOKEN where none was accepted; its log weight."""

    token: int = NO_TOKEN
    log_weight: float = -math.inf


Questions: TypeAlias = Generator[list[int], list[bool], Drawn]


@dataclass(frozen=True)
class Rejection:
    """How tokens are drawn under a predicate.

    weights   "des_raj"; or "none": the token alone, with weight 1, where weights are not needed
    extra     least number of tokens checked after the accepted one
    share     the same, as a share of those that were checked up to it
    clip      the draw ends with this many rejections; None: when no token is left
    batch     how many tokens are checked at once. The rest of a batch after the accepted token counts as extra, so nothing is
              wasted; worth it where one call for many costs little more than for one
    """

    weights: str = "des_raj"
    extra: int = 2
    share: float = 0.5
    clip: int | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        check_choice("weights", self.weights, ("des_raj", "none"))
        check_integer("extra", self.extra, 1)
        check_number("share", self.share, lambda share: 0 <= share < math.inf, "0 or more")
        check_integer("clip", self.clip, 1, optional=True)
        check_integer("batch", self.batch, 1)

    def draw(self, race: Iterator[Arrival]) -> Questions:
        left, checks = math.inf if self.clip is None else self.clip, 0
        while left > 0 and (batch := list(islice(race, int(min(self.batch, left))))):
            checks += len(batch)
            answers = yield [one.token for one in batch]
            if not any(answers):
                left -= len(batch)
                continue
            at = answers.index(True)
            found, known = batch[at], list(zip(batch, answers, strict=True))[at + 1 :]
            if self.weights == "none":
                return Drawn(found.token, 0.0)
            if left - at == 1:  # the last chance
                return Drawn(found.token, found.log_mass)
            count = max(self.extra, math.ceil(self.share * checks), len(known))
            if more := list(islice(race, count - len(known))):
                known += zip(more, (yield [one.token for one in more]), strict=True)
            return Drawn(found.token, log_mean(found, known, count))
        return Drawn()
