"""Window-Diffusion (Accelerating Diffusion Language Model Inference with Windowed Token Pruning and Caching): near masks alone.

The model reads the next few masked positions, and nothing of those farther away, which it has little to say of. It costs as many
calls, over shorter rows. Of no use where the row is not much longer than the window.
"""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Asking, Run


def window(run: Run, choose: Rule, *, window: int = 64, buffer: int = 16, block: int | None = None) -> Asking[None]:
    """window: masked positions that may be committed, more where few steps are left; buffer: masked positions after them that the
    model reads as well; block: as in `full`.

    The masked tail after those is neither read nor in the canvas, which knows its length all the same: every decision is the one
    that the canvas of the whole row would make.
    """
    for schedule in run.schedules(block):
        while len(masked := run.masked(schedule.first, schedule.end)):
            width = max(window, run.share(schedule))
            positions, seen = masked[:width], int(run.masked(schedule.first)[: width + buffer][-1]) + 1
            run.step(choose, (yield from run.read(seen)), positions, schedule, run.boards.part(run.row, seen))
