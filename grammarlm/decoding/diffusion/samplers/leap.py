"""Confident positions make their neighbours easier (LocalLeap)."""

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look


def leap(look: Look, *, tau: float = 0.9, relaxed: float = 0.75, w: int = 4) -> Choice:
    """As `confidence`, with a lower threshold near an anchor: a position with a confidence of `tau` or more.

    relaxed   the threshold of positions at most `w` places from an anchor

    What the constraint forces is an anchor: its confidence is 1.
    """
    found = look.reading.confidence
    anchors = look.positions[found >= tau]
    taken = found >= tau
    if w and len(anchors):
        nearest = np.abs(look.positions[:, None] - anchors[None, :]).min(1)
        taken |= (nearest <= w) & (found >= relaxed)
    order = look.by_confidence()
    chosen = np.concatenate([order[taken[order]], order[~taken[order]]])
    return look.choose(chosen, max(int(taken.sum()), look.share), notes={"anchors": len(anchors)})
