"""ETE (From Bits to Rounds: Parallel Decoding with Exploration for Diffusion Language Models): ask where the answer says most.

A row needs as many rounds as it has bits, divided by what a round commits: where the confident positions carry few bits, an
uncertain one is fixed, too, which may settle many others. It costs a sum a step. Of no use where no position depends on another.
"""

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look


def explore(look: Look, *, tau: float = 0.9, bits: float = 1.0, count: int = 1) -> Choice:
    """As `confidence`; where the confident positions carry fewer than `bits` bits, also the `count` most uncertain positions.

    The information of a step is the surprise of its ids: a row needs as many steps as it has bits, divided by what a step commits.
    What is certain, or forced by the constraint, carries none; an uncertain id changes what is known of all others.
    """
    found = look.reading.confidence
    order = look.by_confidence()
    sure = int((found >= tau).sum())
    carried = surprise(found[order[:sure]])
    explored = np.empty(0, np.int64)
    if carried < bits:
        open_ones = look.by(-look.reading.entropy)
        explored = open_ones[~np.isin(open_ones, order[:sure])][:count]
    others = order[sure:][~np.isin(order[sure:], explored)]
    chosen = np.concatenate([order[:sure], explored, others])
    taken = max(sure + len(explored), look.share)
    notes = {"bits": surprise(found[chosen[:taken]]), "explored": [int(p) for p in look.positions[explored]]}
    return look.choose(chosen, taken, notes=notes)


def surprise(confidence: np.ndarray) -> float:
    """In bits."""
    return float(-np.log2(confidence).sum()) + 0.0
