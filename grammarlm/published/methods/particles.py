"""Sequential Monte Carlo: many texts at once, weighted so that together they follow the model's own law under the constraint.

Masking alone does not: it renormalises at each step, which biases sampling. Here each text (a particle) carries the product of its
steps' weights: how much of the model's mass the constraint left there. Where few particles have most of the weight, those are
continued several times and the light ones dropped (**resampling**), so that the model's forwards go where the mass is.

    each step     every particle gets a token and a weight, E[w 1{t = a}] = p(a) f(a)      (rejection.py)
                  a critic, where there is one, multiplies by its score of the text, and divides by its score of the text before
                  if ESS = (sum w)^2 / sum w^2 falls below `threshold` times N: resample, all weights become their mean
    the end       sum of weights / N is an unbiased estimate of the evidence, the probability that the model by itself
                  writes a text of the language; weights / their sum are the law

Finished particles keep their slot and their weight, and are resampled like the others. A critic only steers: its score is divided
out of a finished text, so the law is the same with any critic; the variance is not.

Resampling is systematic: N points at equal distances, one random offset. A particle is continued floor(N w) or ceil(N w) times,
once in its own slot if at all: what need not move is not moved, in the model's cache either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.failures import RowFailure

Text = TypeVar("Text", bound=Hashable)


@dataclass(frozen=True)
class Extension(Generic[Text]):
    """A text with one more token, or the same one where it has ended; the log of the step's weight; has it ended?"""

    text: Text
    log_weight: float
    is_over: bool


Extend: TypeAlias = Callable[[list[Text], list[int]], list[Extension[Text]]]  # of texts, and the slots that they occupy
Critic: TypeAlias = Callable[[list[Text]], Sequence[float]]  # for each text the log of its score
Resample: TypeAlias = Callable[[np.ndarray], np.ndarray]  # weights that sum to 1 -> how often each is continued


@dataclass(frozen=True)
class Particles(Generic[Text]):
    """The final particles. Weights and evidence are logs; the evidence is the mean of exp(log_weights), which is not normalised."""

    texts: list[Text]
    log_weights: np.ndarray
    ess: list[float]  # after each step, before resampling
    resampled: list[int]  # the steps, from 0, after which particles were resampled

    @property
    def log_evidence(self) -> float:
        return log_mean(self.log_weights)

    def law(self) -> dict[Text, float]:
        """For each text its share of the weights, the largest first; empty where all weights are 0."""
        shares: dict[Text, float] = {}
        for text, weight in zip(self.texts, normalized(self.log_weights).tolist(), strict=True):
            if weight:
                shares[text] = shares.get(text, 0.0) + weight
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


def run_particles(
    starts: Sequence[Text],
    extend: Extend[Text],
    resample: Resample,
    *,
    threshold: float = 0.5,
    critic: Critic[Text] | None = None,
) -> Particles[Text]:
    """Extends the texts until all are over. threshold 0: never resampled, so each is an importance sample of its own."""
    check_threshold(threshold)
    texts, count = list(starts), len(starts)
    log_weights, scores = np.zeros(count), np.zeros(count)
    is_open = np.ones(count, bool)
    ess: list[float] = []
    resampled: list[int] = []
    while is_open.any():
        slots = np.flatnonzero(is_open).tolist()
        for slot, extension in zip(slots, extend([texts[i] for i in slots], slots), strict=True):
            texts[slot] = extension.text
            log_weights[slot] += extension.log_weight
            is_open[slot] = not extension.is_over and extension.log_weight > -math.inf
        if critic is not None:
            new = judged(critic, texts, is_open)
            log_weights += new - scores
            scores = new
        ess.append(effective_size(log_weights))
        if is_open.any() and 0 < ess[-1] < threshold * count:
            resampled.append(len(ess) - 1)
            parents = in_place(resample(normalized(log_weights)))
            texts, is_open, scores = [texts[i] for i in parents], is_open[parents], scores[parents]
            log_weights = np.full(count, log_mean(log_weights))
    return Particles(texts, log_weights, ess, resampled)


def check_threshold(threshold: float) -> None:
    check_number("threshold", threshold, lambda t: 0 <= t <= 1, "from 0 (never resample) to 1 (at every step)")


def judged(critic: Critic[Text], texts: list[Text], is_open: np.ndarray) -> np.ndarray:
    """The critic's log scores of the unfinished texts; 0 for the others. Equal texts are asked about once."""
    scores = np.zeros(len(texts))
    questions = list(dict.fromkeys(texts[i] for i in np.flatnonzero(is_open)))
    if not questions:
        return scores
    answers = [float(score) for score in critic(questions)]
    if len(answers) != len(questions) or not all(map(math.isfinite, answers)):
        raise RowFailure(
            f"ValueError: the critic was asked about {len(questions)} texts and gave {str(answers)[:100]}; it returns the log of a "
            "score for each, a finite number: a score of 0 would take a text out of the law (that is what where= is for)"
        )
    known = dict(zip(questions, answers, strict=True))
    for i in np.flatnonzero(is_open):
        scores[i] = known[texts[i]]
    return scores


# ------------------------------------------------------------------ weights


def log_mean(logs: np.ndarray) -> float:
    top = float(logs.max())
    return top + math.log(np.exp(logs - top).mean()) if top > -math.inf else top


def normalized(logs: np.ndarray) -> np.ndarray:
    """The weights, normalised to the sum 1; all 0 where none is above 0."""
    top = float(logs.max())
    if top == -math.inf:
        return np.zeros(len(logs))
    weights = np.exp(logs - top)
    return weights / weights.sum()


def effective_size(logs: np.ndarray) -> float:
    """Effective sample size (ESS): how many equal weights have the same variance of the mean. 1 to N; 0 where all weights are 0."""
    squares = float((normalized(logs) ** 2).sum())
    return 1 / squares if squares else 0.0


# ------------------------------------------------------------------ resampling


def systematic(weights: np.ndarray, offset: float) -> np.ndarray:
    """How often each is continued: how many of the points (offset + 0, 1, .. N-1) / N lie in its interval of [0, 1)."""
    points = (offset + np.arange(len(weights))) / len(weights)
    owners = np.searchsorted(np.cumsum(weights) / weights.sum(), points, side="right")
    last = np.flatnonzero(weights)[-1]  # rounding must leave no point beyond it
    return np.bincount(np.minimum(owners, last), minlength=len(weights))


def in_place(counts: np.ndarray) -> np.ndarray:
    """The parent of each slot: a continued particle keeps its own slot, its further copies take those of dropped ones."""
    parents = np.arange(len(counts))
    parents[counts == 0] = np.repeat(parents, np.maximum(counts - 1, 0))
    return parents
