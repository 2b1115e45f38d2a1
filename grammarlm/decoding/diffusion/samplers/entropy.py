"""All positions whose distribution is narrow enough (dParallel)."""

from grammarlm.decoding.diffusion.look import Choice, Look


def entropy(look: Look, *, tau: float = 0.5) -> Choice:
    """Positions with an entropy of at most `tau` nats, and at least as many as the schedule asks for."""
    found = look.reading.entropy
    return look.choose(look.by(found), max(int((found <= tau).sum()), look.share))
