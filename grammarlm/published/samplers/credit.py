"""CreditDecoding (Accelerating Parallel Decoding in Diffusion Large Language Models with Trace Credits): trust in what stays best.

An id that was the best one at several steps is probably right, though the model is not yet sure: it gains credit, which is added to
its logit. It costs a few numbers a position. Of no use where one step commits nearly all; the law of draws is another one.
"""

from collections.abc import Mapping

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look


def credit(look: Look, *, alpha: float = 0.6, beta: float = 0.7, gamma: float = 0.5, tau: float = 0.9) -> Choice:
    """As `confidence`, on logits + alpha log(1 + credit).

    At each step a credit shrinks by the factor beta, and that of a position's best id grows by its probability to the power of
    gamma. An id that has become impossible loses its credit at once.
    """
    credits = updated(look, beta, gamma)
    reading = look.with_values(lambda index: fused(look, index, credits, alpha)) if alpha else look.reading
    memory = {"credit": {**look.memory.get("credit", {}), **credits}}
    return look.choose_where(reading.confidence >= tau, reading=reading, memory=memory)


def fused(look: Look, index: int, credits: Mapping[int, Mapping[int, float]], alpha: float) -> np.ndarray:
    """Logits with what credits add to them; all ids that have some are allowed."""
    values = look.reading.values(index).copy()
    mine = credits[int(look.positions[index])]
    places = np.searchsorted(look.ids[index], list(mine))
    values[places] += alpha * np.log1p(list(mine.values()))
    return values


def updated(look: Look, beta: float, gamma: float) -> dict[int, dict[int, float]]:
    """The credits of each position's ids after this step's prediction."""
    before, found = look.memory.get("credit", {}), {}
    for position, best, p in zip(look.positions, look.reading.best, look.reading.confidence, strict=True):
        old = before.get(int(position), {})
        ids = list(old)
        possible = look.allowed.test(int(position), ids)
        kept = {token: beta * old[token] for token, is_possible in zip(ids, possible, strict=True) if is_possible}
        kept[int(best)] = kept.get(int(best), 0.0) + float(p) ** gamma
        found[int(position)] = kept
    return found
