"""LocalLeap (Accelerating Diffusion LLM Inference via Local Determinism Propagation): what is certain makes its neighbours easier.

Positions near one that is certain are committed at a lower confidence. It costs a comparison of positions. Of no use where the rows
that the grammar leaves tie neighbours together: what is then committed too early is wrong in pairs.
"""

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
    return look.choose_where(taken, notes={"anchors": len(anchors)})
