"""The model reads the whole row; the sampler sees all of it, or one block after another."""

from collections.abc import Iterator

from grammarlm.decoding.diffusion.look import Rule
from grammarlm.decoding.diffusion.run import Asking, Run


def full(run: Run, choose: Rule, *, block: int | None = None) -> Asking[None]:
    """block: positions are filled in blocks of this size, from left to right (semi-autoregressive); None: anywhere."""
    for first, end in blocks_of(len(run.row), block):
        schedule = run.schedule(first, end)
        while len(positions := run.masked(first, end)):
            run.step(choose, (yield from run.read()), positions, schedule)


def blocks_of(length: int, block: int | None) -> Iterator[tuple[int, int]]:
    for first in range(0, length, block or max(length, 1)):
        yield first, min(first + (block or length), length)
