"""Arbitrage (Efficient Reasoning via Advantage-Aware Speculation): whole steps, each by the draft or by the target.

A trained router says whether the draft's step is kept; one that is not is forgotten before the target reads it. Lossy. It costs the
router's call a step. Of no use where answers have no steps, or without a router that knows something.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammarlm.decoding.arguments import check_function
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.acceptance import Rule, first_allowed
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.errors import brief


class Steps(Rule):
    """`router(text, step)` gets the bytes so far and those of a drafted step, and says whether the step is kept.

    A step ends with the token in which `ends` occurs, or where the draft does. One that is not kept is forgotten before the target
    reads any of it, and the target writes up to the next `ends` by itself.
    """

    name, needs_chain = "steps", True  # in a tree several steps may be kept, of which the text takes one

    def __init__(self, router: Callable[[bytes, bytes], bool], ends: bytes = b"\n"):
        check_function("router", router, optional=False)
        if not isinstance(ends, bytes) or not ends:
            raise TypeError(f"ends is {brief(ends)}; it takes the bytes in which a step ends, such as b'\\n'")
        self.router, self.ends = router, ends
        self._own = self.by_row()  # where the step that the target writes begins in the text

    def room(self, row: Row, room: int) -> int:
        if self.ends in row.data[self._own.get(row, len(row.data)) :]:
            del self._own[row]
        return 0 if row in self._own else room

    def finish(self, growth: DraftBuilder) -> None:
        step = bytearray()
        for count, token in enumerate(growth.tree.tokens_to(growth.tip), 1):
            step += growth.row.spec.bytes_of(token)
            if self.ends in step:
                growth.cut(count)
                break
        if step and not self.router(bytes(growth.row.data), bytes(step)):
            growth.cut(0)
            self._own[growth.row] = len(growth.row.data)

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        return first_allowed(row, logits)
