"""Window-Diffusion: the model reads the next few masked positions, and nothing of those farther away."""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Run


def window(run: Run, choose: Rule, *, window: int = 64, buffer: int = 16) -> None:
    """window: masked positions that may be committed; buffer: masked positions after them that the model reads as well.

    The masked tail after those is neither read nor in the canvas, which knows its length all the same: every decision is the one
    that the canvas of the whole row would make.
    """
    schedule = run.schedule()
    while len(masked := run.masked()):
        seen = masked[: window + buffer]
        end = int(seen[-1]) + 1
        run.step(choose, run.read(end), masked[:window], schedule, run.boards.part(run.row, end))
