"""Sampling on the CPU: which token comes next.

The order is fixed: the constraint first, then the repetition penalty, the temperature, top-k, top-p, min-p and typical-p, each on
what the ones before it left. So `top_k=5` means the five most probable of the allowed tokens, and no place in it is lost to a
forbidden one. Each of the four filters keeps all ties of the last token that it keeps, so that nothing depends on an order among
equals.

A token is drawn as the first to arrive in a race, at time noise / p, where the noise is exponential and a hash of (seed, position,
token id): the Gumbel-max trick. That is a draw from p, and it depends on nothing else: not on the batch, not on the device, not on
earlier draws. `kernels/reference/sampling.py` defines all of this, and kernels/gpu draws the same tokens; here it is done without
sorting the vocabulary.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_integer, check_number
from grammarlm.kernels import entries
from grammarlm.kernels.reference.sampling import COLDEST

# exp(-104) is 0 in float32: tokens this far below the best are never drawn and add nothing to a sum.
NEGLIGIBLE = 104.0
# Noise lies between 2^-33 and 24 log 2, so that a token this much below the best (in log p) never arrives first.
HOPELESS = 25.7
HOTTEST = float(np.finfo(np.float32).max)
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. With `temperature` 0 the most probable one is taken, and the other settings have no effect."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float = 1.0
    seed: int | None = None  # None: replaced by a random one where temperature > 0

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, lambda t: 0 <= t < math.inf, "0 (greedy) or more")
        check_integer("top_k", self.top_k, 1, optional=True)
        check_number("top_p", self.top_p, lambda p: 0 < p <= 1, "above 0 and at most 1", optional=True)
        check_number("min_p", self.min_p, lambda p: 0 <= p <= 1, "from 0 to 1", optional=True)
        check_number("typical_p", self.typical_p, lambda p: 0 < p <= 1, "above 0 and at most 1", optional=True)
        check_number("repetition_penalty", self.repetition_penalty, lambda r: 0 < r < math.inf, "above 0 (1: none)")
        check_integer("seed", self.seed, 0, LARGEST_SEED, optional=True)
        if self.seed is None and self.temperature > 0:
            object.__setattr__(self, "seed", secrets.randbits(LARGEST_SEED.bit_length()))

    def of_sample(self, number: int) -> Sampling:
        """For one of n independent texts: the first has the seed itself, the others a hash of it and their number."""
        if not number or self.seed is None:
            return self
        digest = hashlib.blake2b(f"{self.seed} {number}".encode(), digest_size=8).digest()
        return replace(self, seed=int.from_bytes(digest, "little") & LARGEST_SEED)

    def warm(self) -> Sampling:
        """For methods that must sample: temperature 0 becomes 1, with a fixed seed."""
        return self if self.temperature else replace(self, temperature=1.0, seed=self.seed or 0)

    @property
    def warmth(self) -> float:
        """The divisor of the logits: the temperature, clipped to float32's range; 1 where decoding is greedy."""
        return min(max(self.temperature, COLDEST), HOTTEST) if self.temperature else 1.0

    def penalize(self, logits: np.ndarray, seen: Callable[[], Iterable[int]]) -> dict[int, float]:
        """Applies the repetition penalty to tokens seen before, in place; returns their original logits."""
        if self.repetition_penalty == 1:
            return {}
        ids = np.fromiter({i for i in seen() if i < len(logits)}, np.int64)
        before = logits[ids]
        logits[ids] = penalized(before, self.repetition_penalty)
        return dict(zip(ids.tolist(), before.tolist(), strict=True))


def penalized(logits: np.ndarray, penalty: float) -> np.ndarray:
    """Negative logits times the penalty, the others divided by it; clipped to float32's range."""
    kind: Any = np.float32 if 1e-30 < penalty < 1e30 else np.float64  # the penalty must be a normal number in this type
    exact, by = logits.astype(kind), kind(penalty)
    with np.errstate(over="ignore"):
        moved = np.where(exact < 0, exact * by, exact / by)
    return np.where(np.isfinite(exact), np.clip(moved, -HOTTEST, HOTTEST), exact).astype(np.float32)


def draw(logits: np.ndarray, sampling: Sampling, position: int, mass: float | None = None) -> tuple[int, float]:
    """A token, and its log-probability in softmax(logits / temperature). Greedy: the best one, at temperature 1.

    `logits` is float32 [V] and holds a finite number, no NaN and no +inf; -inf cannot be drawn. Greedy ties go to the first token.
    `position` counts the tokens of the answer. `mass`, where it is known: the log-sum-exp of logits.
    """
    best = int(logits.argmax())
    if not sampling.temperature and mass is not None:
        return best, min(0.0, float(logits[best]) - mass)
    temperature = sampling.warmth
    floor = max(float(logits[best]) - NEGLIGIBLE * temperature, -HOTTEST)
    tokens = np.flatnonzero(logits >= floor)
    scaled = (logits[tokens] - logits[best]) / np.float32(temperature)  # the best is 0: no overflow at any temperature
    normalizer = math.log(np.exp(scaled).sum())
    if not sampling.temperature:
        return best, 0.0 - normalizer
    rivals = scaled >= max(least_kept(scaled, sampling), -HOPELESS)
    if sampling.typical_p is not None and sampling.typical_p < 1:
        rivals &= typical(scaled, least_kept(scaled, sampling), sampling.typical_p)
    tokens, scaled = tokens[rivals], scaled[rivals]
    first = first_to_arrive(scaled, uniform_of(tokens, sampling.seed, position))
    return int(tokens[first]), float(scaled[first]) - normalizer


def distribution(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """float64 [V]: the law of `draw` at a temperature above 0."""
    best = float(logits.max())
    scaled = (logits - best) / np.float32(sampling.warmth)
    scaled = np.where(np.isfinite(scaled), scaled, -np.inf)
    kept = scaled >= least_kept(scaled[np.isfinite(scaled)], sampling)
    if sampling.typical_p is not None and sampling.typical_p < 1:
        kept &= typical(scaled, least_kept(scaled[np.isfinite(scaled)], sampling), sampling.typical_p)
    p = np.where(kept, np.exp(scaled.astype(np.float64)), 0.0)
    return np.asarray(p / p.sum())


def log_probability(logits: np.ndarray, sampling: Sampling, token: int) -> float:
    """Of a token in softmax(logits / temperature), as `draw` gives it."""
    scaled = (logits - logits.max()).astype(np.float64) / sampling.warmth
    return float(scaled[token]) - math.log(np.exp(scaled).sum())


def first_to_arrive(scaled: np.ndarray, uniform: np.ndarray) -> int:
    """The index of the least noise / p, where log p = `scaled` and noise = -log(1 - uniform).

    The noise is never less than `uniform`, so uniform / p is a lower bound on the arrival time: a token whose bound is above
    another's arrival loses. Few are left after that, and only they need logarithms.
    """
    not_before = uniform / np.exp(scaled)
    leader = int(not_before.argmin())
    arrived = -math.log1p(-float(uniform[leader])) / math.exp(float(scaled[leader]))
    left = np.flatnonzero(not_before <= 1.001 * arrived)  # a little more, for the rounding
    log_noise = np.log(-np.log1p(-uniform[left].astype(np.float64)))
    return int(left[(log_noise - scaled[left]).argmin()])


def uniform_of(tokens: np.ndarray, seed: int | None, position: int) -> np.ndarray:
    """float32 in (0, 1) for each of the tokens (ascending), from which the noise is made, as in the reference."""
    return uniforms(int(tokens[-1]) + 1, seed, position)[tokens]


def uniforms(count: int, seed: int | None, position: int) -> np.ndarray:
    """The same for the first so many tokens."""
    assert seed is not None
    blocks = (count + 3) // 4  # one hash serves four neighbours
    words = np.empty(4 * blocks, np.float32)
    entries.fill_uniform(words.ctypes.data, blocks, seed, position)
    return words[:count]


# ------------------------------------------------------------------ top-k, top-p, min-p, typical-p


def least_kept(scaled: np.ndarray, sampling: Sampling) -> float:
    """The lowest value that top-k, top-p and min-p keep; `scaled` is log p up to a constant, and its largest is 0."""
    least = -math.inf
    if sampling.top_k is not None and sampling.top_k < len(scaled):
        least = float(np.partition(scaled, -sampling.top_k)[-sampling.top_k])
    if sampling.top_p is not None and sampling.top_p < 1:
        least = max(least, nucleus_edge(scaled[scaled >= least], sampling.top_p))
    if sampling.min_p:
        least = max(least, math.log(sampling.min_p))
    return least


def nucleus_edge(scaled: np.ndarray, top_p: float) -> float:
    """The lowest value among the fewest most probable tokens that together have `top_p` of the probability."""
    p = np.exp(scaled)
    mass = p.sum()
    # All tokens below (1 - top_p) / n of the mass sum to less than 1 - top_p of it: the edge is above them.
    ranked = np.sort(scaled[p >= (1 - top_p) * mass / len(p)])[::-1]
    together = np.exp(ranked).cumsum(dtype=np.float64)
    return float(ranked[min(np.searchsorted(together, top_p * mass), len(ranked) - 1)])


def typical(scaled: np.ndarray, least: float, typical_p: float) -> np.ndarray:
    """bool [n]: among the tokens down to `least`, those whose surprise is closest to the entropy and which together have
    `typical_p`.
    """
    log_p = np.where(scaled >= least, scaled, -np.inf).astype(np.float64)
    log_p -= np.log(np.exp(log_p).sum())
    p = np.exp(log_p)
    entropy = -(p * np.where(p > 0, log_p, 0)).sum()
    oddity = np.where(p > 0, np.abs(-log_p - entropy), np.inf)
    order = np.argsort(oddity, kind="stable")
    last = min(int(np.searchsorted(p[order].cumsum(), typical_p)), int((p > 0).sum()) - 1)
    kept: np.ndarray = oddity <= oddity[order[last]] * (1 + 1e-6)
    return kept
