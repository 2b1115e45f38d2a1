"""method="first_finish": several independent answers at once, of which the first one that is complete is taken.

    gl.generate(model, prompt, grammar=thought + answer, method="first_finish", candidates=8, temperature=0.8, close=False)

Of reasoning models the short answers are the more often right ones: who hesitates goes wrong, and goes on. The answers are
written together, a forward for all of them a token, and when the first is complete the others are given up. Of those that a
forward completes the one with the fewest tokens is taken, of these the one that was drawn first. What was cut (by max_tokens,
with close=False) or has failed never wins; where no answer is complete the first one says why. n answers: the first n.

Purpose: more often right. Forwards: those of the answer that is taken, of `candidates` rows. Law: of a draw of "masked", given
that it is the shortest of so many: not the model's, and the shorter the more candidates. Not where length says nothing about
what is right.

Which is the first depends on the seed alone: forced tokens share forwards, but nothing is drafted, whose acceptance would
decide.

Source: First Finish Search (Efficient Test-Time Scaling in Large Language Models).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result

from .candidates import ROWS, NoDrafts, is_complete, warmed


def first_finish(request: Request, *, candidates: int = 8) -> list[Result]:
    """The first complete one of so many masked draws. Temperature 0 is taken as 1."""
    results: list[Result] = []
    for batch in warmed(request, candidates).batches(max(1, ROWS // candidates)):
        results += finishers(batch, request.n)
    return results


def finishers(batch: Request, n: int) -> list[Result]:
    """The first n of each prompt's."""
    decoding = Decoding(batch.reader(), batch.specs, batch.n, NoDrafts())
    races = [Race(slice(first, first + batch.n)) for first in range(0, len(decoding.rows), batch.n)]
    for _ in decoding.turns():
        for race in races:
            running = race.after_turn([row for row in decoding.rows[race.places] if row is not None])
            if len(race.first) >= n:
                decoding.give_up(running)
    return [one for race in races for one in race.best(n)]


@dataclass
class Race:
    """The answers to one prompt: their places among all texts, and those that are over, in the order of their ends."""

    places: slice
    first: list[Result] = field(default_factory=list)  # complete
    others: dict[int, Result] = field(default_factory=dict)  # cut, or failed; by number
    _over: set[int] = field(default_factory=set)

    def after_turn(self, rows: Sequence[Row]) -> list[Row]:
        """Takes those that this turn has ended; returns the others, which go on."""
        ended = [row for row in rows if row.finish_reason is not None and row.number not in self._over]
        for row in sorted(ended, key=lambda row: (len(row.tokens), row.number)):
            self._over.add(row.number)
            result = row.result()
            if is_complete(result):
                self.first.append(result)
            else:
                self.others[row.number] = result
        return [row for row in rows if row.finish_reason is None]

    def best(self, n: int) -> list[Result]:
        """The n first; where none is complete those that were drawn first. Where there are fewer the last one again."""
        found = self.first or [self.others[number] for number in sorted(self.others)]
        return [found[min(rank, len(found) - 1)] for rank in range(n)]
