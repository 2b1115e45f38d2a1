"""WeDLM (Reconciling Diffusion Language Models with Standard Causal Attention for Fast Inference): masks in flight behind a prefix.

A fixed number of masked places is read behind a prefix that grows to the right, so that a cache of the prefix stays good. It costs
as many calls as `confidence`, over shorter rows. Of no use for a model that must see the end of its row.
"""

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
