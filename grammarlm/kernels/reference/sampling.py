"""Definition of the fused sampler in plain numpy, one row at a time.

    mask -> temperature -> top-k -> top-p (over what top-k kept, renormalised) -> min-p -> draw

Every filter keeps all tokens down to some logit, including ties, so an outcome never depends on an order among equals, and the most
probable token always survives. Token i of the survivors is drawn with probability proportional to softmax(logits / temperature)[i],
as the first to arrive in a race: noise(seed, position, i) / p[i] is least. The noise is a standard exponential variate made from
Philox4x32-7: counter-based, so it depends only on (seed, position, token).
"""

from dataclasses import dataclass

import numpy as np

ROUNDS = 7
MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], np.uint64)
KEY_STEPS = np.array([0x9E3779B9, 0xBB67AE85], np.uint64)
HALF, WORD = np.uint64(32), np.uint64(0xFFFFFFFF)

LARGEST = 3.3895313892515355e38  # the largest finite bfloat16: replaces +inf, so that differences are finite
COLDEST, HOTTEST = (
    1e-30,
    1e30,
)  # temperatures are clamped to these, so that they and their reciprocals are finite


@dataclass(frozen=True)
class Draw:
    """The drawn token (-1: nothing to draw), its log-probability, and the margin by which it won.

    `logprob` is under the masked distribution at the row's temperature (at 1 in a greedy row), before the filters. `margin` is the
    least change, in log arrival time, or in the probability that a filter compares, that would draw another token: a float32
    implementation must agree where it exceeds 1e-5.
    """

    token: int
    logprob: float
    margin: float


def philox(seed: int, counters: np.ndarray, position: int, rounds: int = ROUNDS) -> np.ndarray:
    """uint32 [n, 4]: Philox4x32 with key `seed` (64 bits) on the counters (counter, low position, high position, 0)."""
    low, high = halves(position)
    first, second, third, fourth = (np.full(len(counters), part, np.uint64) for part in (0, low, high, 0))
    first += np.asarray(counters, np.uint64)
    key = np.array(halves(seed), np.uint64)
    for _ in range(rounds):
        left, right = first * MULTIPLIERS[0], third * MULTIPLIERS[1]
        first, second = (right >> HALF) ^ second ^ key[0], right & WORD
        third, fourth = (left >> HALF) ^ fourth ^ key[1], left & WORD
        key = (key + KEY_STEPS) & WORD
    return np.stack([first, second, third, fourth], axis=1).astype(np.uint32)


def halves(number: int) -> tuple[int, int]:
    """The lower and the upper 32 bits of an int64."""
    return int(number) & 0xFFFFFFFF, int(number) >> 32 & 0xFFFFFFFF


def noise(seed: int, position: int, width: int) -> np.ndarray:
    """float64 [width]: standard exponential variates of tokens 0 .. width - 1; one Philox call serves four tokens."""
    words = philox(seed, np.arange((width + 3) // 4), position).reshape(-1)[:width]
    uniform = words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    return -np.log1p(-np.minimum(uniform, np.float32(1 - 2**-24)).astype(np.float64))


def kept(x: np.ndarray, log_p: np.ndarray, k: int, p: float, m: float) -> tuple[np.ndarray, np.ndarray]:
    """(bool [n], float [n]): which of n tokens the filters keep, and the distance of each from a filter's threshold.

    x: logits, log_p: log-probabilities, no -inf in either. k <= 0, p >= 1, m <= 0: that filter is off.
    """
    order = np.argsort(-x, kind="stable")
    ranked = x[order]
    first_equal = np.searchsorted(
        -ranked, -ranked
    )  # rank of the first token tied with this one = number strictly above it
    in_k = first_equal < k if k > 0 else np.ones(len(x), bool)
    mass = np.concatenate(([0.0], np.cumsum(np.exp(log_p[order]) * in_k)))
    above = mass[first_equal] / mass[-1]
    distance = np.full(len(x), np.inf)
    keep = in_k
    if p < 1:
        keep = keep & (above < p)
        distance = np.minimum(distance, np.abs(above - p))
    if m > 0:
        behind = log_p[order] - log_p[order[0]] - np.log(min(max(m, 1e-38), 1.0))
        keep = keep & (behind >= 0)
        distance = np.minimum(distance, np.abs(behind))
    most_probable = ranked == ranked[0]
    distance[most_probable] = np.inf
    back = np.argsort(order)
    return (keep | most_probable)[back], distance[back]


def sample(
    logits: np.ndarray,
    allowed: np.ndarray,
    seed: int,
    position: int,
    temperature: float,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
) -> Draw:
    """Draw from one row: logits [V] as float32, allowed bool [V]. NaN and -inf are never drawn."""
    x = np.minimum(np.asarray(logits, np.float32), np.float32(LARGEST)).astype(np.float64)
    tokens = np.flatnonzero(allowed & ~np.isnan(x) & (x > -np.inf))
    if len(tokens) == 0:
        return Draw(-1, -np.inf, np.inf)
    greedy = not temperature > 0
    scale = 1.0 if greedy else 1.0 / min(max(temperature, COLDEST), HOTTEST)
    x = x[tokens]
    log_p = (x - x.max()) * scale
    log_p = log_p - np.log(np.exp(log_p).sum())
    if greedy:
        winner = int(np.argmax(x))
        return Draw(int(tokens[winner]), float(log_p[winner]), np.inf)
    arrival = np.log(noise(seed, position, int(tokens[-1]) + 1)[tokens]) - log_p
    keep, distance = kept(x, log_p, top_k, top_p, min_p)
    winner = int(np.argmin(np.where(keep, arrival, np.inf)))
    # Another token is drawn if the winner is filtered out, an earlier one is let in, or a survivor overtakes.
    margin = distance[arrival <= arrival[winner]].min()
    others = np.delete(arrival[keep], np.flatnonzero(np.flatnonzero(keep) == winner))
    if len(others):
        margin = min(margin, others.min() - arrival[winner])
    return Draw(int(tokens[winner]), float(log_p[winner]), float(margin))
