"""Streaming (WeDLM): a fixed number of masked places in flight behind a prefix that grows to the right."""

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Run


def stream(run: Run, choose: Rule, *, window: int = 16) -> None:
    """window: masked positions in flight. They are committed in any order; a matcher follows over contiguous commits only."""
    schedule = run.schedule()
    while len(masked := run.masked()):
        seen = masked[:window]
        end = int(seen[-1]) + 1
        run.step(choose, run.read(end), seen, schedule, run.boards.part(run.row, end))
