"""SchED (Fast-Decoding Diffusion Language Models via Progress-Aware Confidence Schedules): a schedule that ends early.

All that is left is committed once the mean margin reaches a threshold, which falls smoothly as the schedule goes on. It costs one
more sum a step, and at the end a best joint fill. Of no use for a model whose margins say little, such as one that was not tuned.
"""

import math

from grammarlm.decoding.arguments import check_choice
from grammarlm.decoding.diffusion.look import Choice, Look
from grammarlm.decoding.diffusion.samplers import fixed

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
    margin = look.reading.mean_margin
    notes = {"margin": margin, "threshold": threshold}
    return look.fill(notes) if margin >= threshold else fixed(look)
