"""Block diffusion (Fast-dLLM v2): what stands before a block is final, and what comes after it is not read."""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Asking, Run


def blocks(run: Run, choose: Rule, *, block: int = 32) -> Asking[None]:
    """The model reads the row up to the end of the block; the canvas is that of the block, behind a matcher.

    Where ids after the block are given, both reach to the last of them.
    """
    for schedule in run.schedules(block):
        end = schedule.end
        while len(positions := run.masked(schedule.first, end)):
            run.step(choose, (yield from run.read(end)), positions, schedule, run.boards.part(run.row, end))
