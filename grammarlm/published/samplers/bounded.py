"""BACD and TCCF (Advancing Block Diffusion Language Models for Test-Time Scaling): a threshold that follows the confidence.

The threshold is the running mean of the confidence, between bounds, so that easy stretches go faster; what comes before a marker
("think") has large blocks, the answer small ones. It costs a mean a step. Of no use where one threshold is known to be right.
"""

from grammarlm.decoding.diffusion.look import Choice, Look


def bounded(
    look: Look,
    *,
    lo: float = 0.5,
    hi: float = 0.95,
    beta: float = 0.7,
    block: int = 32,
    think: int = 32,
    marker: str | None = None,
) -> Choice:
    """Blocks from left to right; a position needs the running mean of the confidence, at least `lo` and at most `hi`.

    beta     how much of the running mean is kept at each step
    block    the size of blocks
    think    the size of blocks before `marker`, a text such as "</think>"; None: there is no such part
    """
    start, end = look.memory.get("block", (-1, -1))
    if look.positions[0] >= end:
        start = int(look.positions[0])
        end = start + (think if marker is not None and not is_over(look, start, marker) else block)
    inside = look.positions < end
    found = look.reading.confidence
    now = float(found[inside].mean())
    mean = beta * look.memory["mean"] + (1 - beta) * now if "mean" in look.memory else now
    threshold = min(max(mean, lo), hi)
    notes = {"threshold": threshold, "block": [start, end]}
    return look.choose_where(found >= threshold, inside, memory={"block": (start, end), "mean": mean}, notes=notes)


def is_over(look: Look, start: int, marker: str) -> bool:
    """Does the marker stand before the block?"""
    return marker.encode() in b"".join(look.bytes_of(int(token)) for token in look.row[:start])
