"""A static schedule that ends early, by a threshold that falls as it goes on (SchED)."""

import math

import numpy as np

from grammarlm.decoding.arguments import check_choice
from grammarlm.decoding.diffusion.look import Choice, Look

from .fixed import fixed

SHAPES = {
    "linear": lambda progress: progress,
    "cosine": lambda progress: (1 - math.cos(math.pi * progress)) / 2,
    "exponential": lambda progress: (1 - math.exp(-3 * progress)) / (1 - math.exp(-3)),
}


def sched(look: Look, *, tau: float = 7.5, floor: float = 2.5, shape: str = "linear") -> Choice:
    """Once the mean margin of the logits reaches a threshold, all that is left by the best joint fill; until then as `fixed`.

    tau, floor   the threshold at the first step, and what it falls to
    shape        how it falls: "linear", "cosine" or "exponential"
    """
    check_choice("shape", shape, SHAPES)
    threshold = tau if math.isinf(tau) else tau + (floor - tau) * SHAPES[shape](look.progress)
    margin = mean_margin(look)
    notes = {"margin": margin, "threshold": threshold}
    return look.fill(notes) if margin >= threshold else fixed(look)


def mean_margin(look: Look) -> float:
    """Over the positions where more than one id is possible; inf where there are none."""
    margins = look.reading.margin
    open_ones = margins[np.isfinite(margins)]
    return float(open_ones.mean()) if len(open_ones) else math.inf
