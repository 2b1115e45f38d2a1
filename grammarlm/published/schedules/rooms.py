"""FASER: how far each row of a batch drafts, by how its own drafts fare.

Rows whose drafts are drawn draft further, others pause. It costs a few numbers a row. Of no use for one row whose drafts cost
nothing to read; "auto" measures what a forward costs instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grammarlm.decoding.arguments import check_function
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.schedule import Schedule

MOST = 8
PAUSE = 4  # rounds without a draft, for a row whose drafts were of no use
PATIENCE = 2  # such drafts in a row, before that


@dataclass
class Fate:
    """Of a row's drafts."""

    drafted: int = 0
    accepted: int = 0
    room: int = 1
    missed: int = 0
    paused: int = 0


class Rooms(Schedule):
    """Rows draft 0 to 8 tokens: one more than twice those that were drawn of the last draft; none for a while where none were.

    `of(rows)`: a rule of your own instead, that gives the room of each row.
    """

    limits_rooms = True

    def __init__(self, of: Callable[[Sequence[Row]], Sequence[int]] | None = None):
        check_function("of", of)
        self.of = of or self._by_fate
        self._fates = self.by_row()

    def rooms(self, rows: Sequence[Row], rooms: Sequence[int]) -> Sequence[int]:
        return [max(0, min(pair)) for pair in zip(rooms, self.of(rows), strict=True)]

    def _by_fate(self, rows: Sequence[Row]) -> list[int]:
        return [self._room(row) for row in rows]

    def _room(self, row: Row) -> int:
        fate: Fate = self._fates.setdefault(row, Fate())
        if fate.paused:
            fate.paused -= 1
            return 0
        drafted, accepted = row.stats.draft_tokens - fate.drafted, row.stats.accepted_tokens - fate.accepted
        fate.drafted, fate.accepted = row.stats.draft_tokens, row.stats.accepted_tokens
        if drafted:
            fate.missed = 0 if accepted else fate.missed + 1
            fate.room = min(MOST, 2 * accepted + 1)
        if fate.missed == PATIENCE:
            fate.missed, fate.paused = 0, PAUSE - 1
            return 0
        return fate.room
