"""The grammar as a drafter: what must come, past the white space that may come between."""

from __future__ import annotations

from grammarlm.decoding.loop.forced_draft import MOST_TOKENS, USUAL, forced_text
from grammarlm.decoding.speculative.draft_builder import DraftBuilder

from .drafter import RunDrafter


class Skeleton(RunDrafter):
    length, usual, needs_grammar = MOST_TOKENS, USUAL, True

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        found = forced_text(growth.row)
        return [found[:length]] if found else []
