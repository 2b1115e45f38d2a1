"""The grammar as a drafter: what must come, past the white space that may come between."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from grammarlm.masks.filters import greedy

from .drafter import RunDrafter

if TYPE_CHECKING:
    from grammarlm.decoding.speculative.growth import Growth

MOST_BYTES = 96


class Skeleton(RunDrafter):
    length = 24

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        from grammarlm.decoding.loop.forced_draft import white_space
        from grammarlm.masks.machines.json.skeleton import skeleton

        matcher = growth.row.grammar.matcher
        if matcher is None:
            return []
        writes_json = matcher._automaton.epoch.writes_json
        gap = partial(white_space, bytes(growth.row.data))
        text = skeleton(matcher, MOST_BYTES, gap) if writes_json else matcher.forced_bytes(MOST_BYTES)
        found = greedy.cut(growth.row.spec.vocab, text) if text else None
        return [found[:length]] if found else []
