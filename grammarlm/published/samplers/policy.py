"""Learn2PD (Learning to Parallel): a function of the confidences says which positions are final, and the text's end cuts the rest.

The function is a small trained filter; without one the confidence is asked. Once a stop id is sure, nothing after it is read again.
It costs what the function costs. Of no use untrained where texts fill their rows: then it is `confidence`.
"""

from collections.abc import Callable

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look

Policy = Callable[[np.ndarray], np.ndarray]


def policy(look: Look, *, policy: Policy | None = None, tau: float = 0.9, end: float | None = 0.9) -> Choice:
    """Positions that the policy calls final, and at least as many as the schedule asks for.

    policy   gets the confidences of the masked positions, from left to right, and returns for each whether its best id is final, or
             the probability of that; None: the confidence itself
    tau      the least such probability
    end      once a stop id is the best one at a position, with this confidence, it is committed there and at all masked positions
             after it; the constraint takes it only where the text may end. None: never
    """
    if end is not None and (cut := ended(look, end)) is not None:
        return cut
    said = look.reading.confidence if policy is None else np.asarray(policy(look.reading.confidence.copy()))
    if said.shape != look.positions.shape:
        raise ValueError(
            f"policy= returned {list(said.shape)} for {len(look.positions)} positions; it returns one answer for each"
        )
    final = said.astype(bool) if said.dtype == bool else said >= tau
    return look.choose_where(final)


def ended(look: Look, end: float) -> Choice | None:
    """Stop ids from the first position on where the model is sure that the text ends; None where it is nowhere."""
    stops = np.asarray(sorted(look.vocab.stop_ids))
    found = np.flatnonzero(np.isin(look.reading.best, stops) & (look.reading.confidence >= end))
    if not len(found):
        return None
    first = int(found[0])
    ids = [int(look.reading.best[first])] * (len(look.positions) - first)
    positions = [int(position) for position in look.positions[first:]]
    return Choice(positions, ids, 1, notes={"end": positions[0]})
