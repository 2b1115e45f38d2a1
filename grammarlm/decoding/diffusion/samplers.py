"""The core's samplers and drivers: what one would pick without having read a paper. The others are in `grammarlm.published`.

A sampler says which positions are committed at a step: a function from a Look to a Choice, with its options as keywords.
A driver says which part of a row the model reads, which part the sampler sees, and how often: a generator (run.py).
"""

from .look import Choice, Look, Rule
from .run import Asking, Run


def fixed(look: Look) -> Choice:
    """What is left, spread evenly over the steps that are left, the most confident first."""
    return look.choose(look.by_confidence(), look.share)


def confidence(look: Look, *, tau: float = 0.9) -> Choice:
    """Positions with a confidence of `tau` or more, and at least as many as the schedule asks for (Dimple, Fast-dLLM)."""
    return look.choose_where(look.reading.confidence >= tau)


def entropy(look: Look, *, tau: float = 0.5) -> Choice:
    """Positions with an entropy of at most `tau` nats, and at least as many as the schedule asks for (dParallel)."""
    found = look.reading.entropy
    return look.choose(look.by(found), max(int((found <= tau).sum()), look.share))


def full(run: Run, choose: Rule, *, block: int | None = None) -> Asking[None]:
    """The model reads the whole row; the sampler sees all of it, or one block after another.

    block: positions are filled in blocks of this size, from left to right (semi-autoregressive); None: anywhere.
    """
    for schedule in run.schedules(block):
        while len(positions := run.masked(schedule.first, schedule.end)):
            run.step(choose, (yield from run.read()), positions, schedule)


def blocks(run: Run, choose: Rule, *, block: int = 32, sub: int | None = None) -> Asking[None]:
    """Block diffusion (Fast-dLLM v2): what stands before a block is final, and what comes after it is not read.

    sub: of a block the sampler sees parts of this size, one after another, though the model reads all of the block; more where few
    steps are left. None: the whole block.

    The model reads the row up to the end of the block; the canvas is that of the block, behind a matcher. Where ids after the block
    are given, both reach to the last of them.
    """
    for schedule in run.schedules(block):
        end = schedule.end
        while len(positions := run.masked(schedule.first, end)):
            if sub is not None:
                part = (positions - schedule.first) // sub
                positions = positions[: max(int((part == part[0]).sum()), run.share(schedule))]
            run.step(choose, (yield from run.read(end)), positions, schedule, run.boards.part(run.row, end))
