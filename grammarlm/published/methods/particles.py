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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from .resampling import effective_size, in_place, log_mean, normalized

Text = TypeVar("Text", bound=Hashable)


@dataclass(frozen=True)
class Extension(Generic[Text]):
    """A text with one more token, or the same one where it has ended; the log of the step's weight; has it ended?"""

    text: Text
    log_weight: float
    is_over: bool


Extend: TypeAlias = Callable[[list[Text], list[int]], list[Extension[Text]]]  # of texts, and the slots that they occupy
Critic: TypeAlias = Callable[[list[Text]], Sequence[float]]  # for each text, all of them unlike, the log of its score
Resample: TypeAlias = Callable[[np.ndarray], np.ndarray]  # weights that sum to 1 -> how often each is continued


@dataclass(frozen=True)
class Particles(Generic[Text]):
    """The final particles."""

    texts: list[Text]
    log_weights: np.ndarray  # their mean is the evidence: they are not normalised
    ess: list[float]  # after each step, before resampling
    resampled: list[int]  # the steps, from 0, after which particles were resampled


def run_particles(
    starts: Sequence[Text],
    extend: Extend[Text],
    resample: Resample,
    *,
    threshold: float = 0.5,
    critic: Critic[Text] | None = None,
) -> Particles[Text]:
    """Extends the texts until all are over. threshold 0: never resampled, so each is an importance sample of its own."""
    texts, count = list(starts), len(starts)
    log_weights, scores, is_open = np.zeros(count), np.zeros(count), np.ones(count, bool)
    ess, resampled = list[float](), list[int]()
    while is_open.any():
        slots = np.flatnonzero(is_open).tolist()
        for slot, extension in zip(slots, extend([texts[i] for i in slots], slots), strict=True):
            texts[slot] = extension.text
            log_weights[slot] += extension.log_weight
            is_open[slot] = not extension.is_over and extension.log_weight > -math.inf
        if critic is not None:
            unfinished = list(dict.fromkeys(texts[i] for i in np.flatnonzero(is_open)))
            known = dict(zip(unfinished, critic(unfinished), strict=True)) if unfinished else {}
            before, scores = scores, np.array([known.get(text, 0.0) for text in texts]) * is_open
            log_weights += scores - before
        ess.append(effective_size(log_weights))
        if is_open.any() and 0 < ess[-1] < threshold * count:
            resampled.append(len(ess) - 1)
            parents = in_place(resample(normalized(log_weights)))
            texts, is_open, scores = [texts[i] for i in parents], is_open[parents], scores[parents]
            log_weights = np.full(count, log_mean(log_weights))
    return Particles(texts, log_weights, ess, resampled)
