"""A static schedule: so many positions a step, the most confident first."""

from grammarlm.decoding.diffusion.look import Choice, Look


def fixed(look: Look) -> Choice:
    """What is left, spread evenly over the steps that are left."""
    return look.choose(look.by_confidence(), look.share)
