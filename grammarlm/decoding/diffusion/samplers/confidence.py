"""Confident decoding: all positions whose best id is probable enough (Dimple, Fast-dLLM)."""

from grammarlm.decoding.diffusion.look import Choice, Look


def confidence(look: Look, *, tau: float = 0.9) -> Choice:
    """Positions with a confidence of `tau` or more, and at least as many as the schedule asks for."""
    sure = int((look.reading.confidence >= tau).sum())
    return look.choose(look.by_confidence(), max(sure, look.share))
