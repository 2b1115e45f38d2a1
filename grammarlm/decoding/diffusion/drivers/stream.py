"""Streaming (WeDLM): a fixed number of masked places in flight behind a prefix that grows to the right."""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Asking, Run


def stream(run: Run, choose: Rule, *, window: int = 16, block: int | None = None) -> Asking[None]:
    """window: masked positions in flight, more where few steps are left; block: as in `full`.

    Positions are committed in any order. A matcher follows over contiguous commits only; the canvas is that of what is in flight.
    """
    for schedule in run.schedules(block):
        while len(flying := run.masked(schedule.first, schedule.end)[: max(window, run.share(schedule))]):
            seen = int(flying[-1]) + 1
            run.step(choose, (yield from run.read(seen)), flying, schedule, run.boards.part(run.row, seen))
