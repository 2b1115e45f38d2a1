"""The interface of schedules: how many tokens each row of a batch may draft, and what happens while the target reads."""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.decoding.loop.batcher import new_first
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Drafter
from grammarlm.decoding.speculative.observer import OfRows, Target


class Schedule(OfRows):
    """By default each row drafts as many tokens as it has room for, before the target reads."""

    pool = 1  # of many prompts so many batches have begun and not ended; `choose` says which of their rows read next
    needs_chain = False
    limits_rooms = False  # are rooms bounds, also of what costs nothing to draft?

    def begin(self, target: Target, drafter: Drafter) -> None:
        """A call begins. ValueError ("needs ...") where these are not what the schedule is for."""

    def choose(self, rows: Sequence[Row], size: int, is_ragged: bool) -> Sequence[Row]:
        """At most `size` of the unfinished rows, which read next; all of them have begun, or none.

        is_ragged   may they differ in length at no more cost than pads? Else rows that differ are read as whole texts
        """
        return new_first(rows, size, is_ragged)

    def rooms(self, rows: Sequence[Row], rooms: Sequence[int]) -> Sequence[int]:
        """How many tokens each row may draft now, of the room that it has."""
        return rooms

    def begin_round(self, rows: Sequence[Row], growths: Sequence[DraftBuilder]) -> None:
        """A batch of these rows; trees are drafted for some of them next."""

    def drafted(self, drafter: Drafter, growths: Sequence[DraftBuilder]) -> None:
        """Their drafts are made; the target reads next."""

    def read(self) -> None:
        """The target has read."""
