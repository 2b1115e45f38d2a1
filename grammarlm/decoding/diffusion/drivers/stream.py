"""Streaming (WeDLM): a fixed number of masked places in flight behind a prefix that grows to the right."""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Asking, Run

from .full import blocks_of


def stream(run: Run, choose: Rule, *, window: int = 16, block: int | None = None) -> Asking[None]:
    """window: masked positions in flight; block: as in `full`.

    Positions are committed in any order. A matcher follows over contiguous commits only; the canvas is that of what is in flight.
    """
    for first, end in blocks_of(len(run.row), block):
        schedule = run.schedule(first, end)
        while len(flying := run.masked(first, end)[:window]):
            seen = int(flying[-1]) + 1
            run.step(choose, (yield from run.read(seen)), flying, schedule, run.boards.part(run.row, seen))
