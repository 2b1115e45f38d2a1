"""The model reads the whole row; the sampler sees all of it, or one block after another."""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Asking, Run


def full(run: Run, choose: Rule, *, block: int | None = None) -> Asking[None]:
    """block: positions are filled in blocks of this size, from left to right (semi-autoregressive); None: anywhere."""
    for schedule in run.schedules(block):
        while len(positions := run.masked(schedule.first, schedule.end)):
            run.step(choose, (yield from run.read()), positions, schedule)
