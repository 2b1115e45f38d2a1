"""Confidence in the mean of the latest predictions (CCD): an id counts that several steps agree on."""

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look, Reading


def history(look: Look, *, window: int = 3, tau: float = 0.9) -> Choice:
    """As `confidence`, on the mean of the distributions of the last `window` steps, this one included.

    Earlier distributions are renormalised over what is allowed now. A window of 1 is `confidence`.
    """
    past = look.memory.get("past", ())
    reading = averaged(look, past)
    count = max(int((reading.confidence >= tau).sum()), look.share)
    kept = (*past, (look.positions, look.logits))[1 - window :] if window > 1 else ()
    memory = {"past": kept}
    return look.choose(look.by_confidence(reading), count, reading=reading, memory=memory, notes={"budget": count})


def averaged(look: Look, past: tuple[tuple[np.ndarray, np.ndarray], ...]) -> Reading:
    """Positions that an earlier step did not see have fewer terms."""
    if not past:
        return look.reading
    total, terms = distribution(look.reading.logits), np.ones(len(look.positions))
    for positions, logits in past:
        known = np.isin(look.positions, positions)
        if known.any():
            earlier = look.logits.copy()
            earlier[known] = logits[np.searchsorted(positions, look.positions[known])]
            total[known] += distribution(look.read(earlier).logits)[known]
            terms[known] += 1
    with np.errstate(divide="ignore"):
        return Reading(look.positions, np.log(total / terms[:, None]).astype(np.float32), look.draws)


def distribution(logits: np.ndarray) -> np.ndarray:
    """float64 [positions, V]."""
    p = np.exp((logits - logits.max(1, keepdims=True)).astype(np.float64))
    normalized: np.ndarray = p / p.sum(1, keepdims=True)
    return normalized
