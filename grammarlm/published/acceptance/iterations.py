"""CEED-VLA (Consistency Vision-Language-Action Model with Early-Exit Decoding): Jacobi iterations that end before they rest.

With draft="jacobi". Lossy, and right for answers such as actions, where the last places hardly change. It costs nothing. Of no use
for text, where a wrong token is a wrong word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.acceptance import Rule, first_allowed


@dataclass
class Block:
    end: int  # the place after its last token
    reads: int = 0


class Iterations(Rule):
    """The answer is made in blocks, of as many tokens as a draft has, and one more; a block is read at most `most` times.

    The last time the guesses of the read before are taken as they are, each held to the grammar after those before it. With as many
    reads as a block has tokens none is left to be guessed then, and answers are those of the exact rule.
    """

    name = "iterations"

    def __init__(self, most: int = 2):
        check_integer("most", most, 1)
        self.most = most
        self._blocks = self.by_row()

    def room(self, row: Row, room: int) -> int:
        block = self._blocks.get(row)
        if block is None or row.count >= block.end:
            block = self._blocks[row] = Block(row.count + room + 1)
        block.reads += 1
        return min(room, block.end - row.count - 1)

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        return first_allowed(row, logits) if self._blocks[row].reads >= self.most else None
