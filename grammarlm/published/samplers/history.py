"""CCD (Beyond Confidence: Adaptive and Coherent Decoding for Diffusion Language Models): an id counts that several steps agree on.

Confidence is that of the mean of the latest predictions. It keeps their logits, `window` rows of the vocabulary a position, which
on long rows is most of the memory. Of no use where few steps are taken; the law of draws is another one.
"""

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look


def history(look: Look, *, window: int = 3, tau: float = 0.9) -> Choice:
    """As `confidence`, on the mean of the distributions of the last `window` steps, this one included.

    Earlier distributions are renormalised over what is allowed now. A window of 1 is `confidence`.
    """
    past = look.memory.get("past", ())
    reading = look.with_values(lambda index: averaged(look, index, past)) if past else look.reading
    count = max(int((reading.confidence >= tau).sum()), look.share)
    kept = (*past, (look.positions, look.table[look.positions]))[1 - window :] if window > 1 else ()
    memory = {"past": kept}
    return look.choose_where(reading.confidence >= tau, reading=reading, memory=memory, notes={"budget": count})


def averaged(look: Look, index: int, past: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The log of the mean distribution of a position; a step that did not see the position has no say."""
    position, ids = look.positions[index], look.ids[index]
    seen = [distribution(look.reading.values(index))]
    for positions, logits in past:
        at = int(np.searchsorted(positions, position))
        if at < len(positions) and positions[at] == position and logits[at][ids].max() > -np.inf:
            seen.append(distribution(logits[at][ids]))
    with np.errstate(divide="ignore"):
        return np.log(np.mean(seen, 0)).astype(np.float32)


def distribution(logits: np.ndarray) -> np.ndarray:
    p = np.exp((logits - logits.max()).astype(np.float64))
    normalized: np.ndarray = p / p.sum()
    return normalized
