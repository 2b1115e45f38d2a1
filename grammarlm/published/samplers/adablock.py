"""AdaBlock-dLLM (Semantic-Aware Diffusion LLM Inference via Adaptive Block Size): blocks that end at a predicted delimiter.

A block that ends with a line or a sentence holds what belongs together. It costs a look at the texts of the best ids of each new
block. Of no use where no delimiter is likely: then all blocks have one size.
"""

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.diffusion.look import Choice, Look


def adablock(
    look: Look,
    *,
    block: int = 32,
    tau: float = 0.9,
    tau_d: float = 0.3,
    delimiters: Sequence[str] = ("\n",),
    window: float = 0.25,
) -> Choice:
    """Confident decoding in one block after another, from left to right.

    block       the size of a block in which no delimiter is predicted
    tau         the confidence that a position needs
    tau_d       the confidence that a delimiter needs to end a block; inf: all blocks have the same size
    delimiters  how the text of a token ends that may end a block
    window      in what share of the row, from the block's start on, a delimiter is looked for
    """
    start, end = look.memory.get("block", (-1, -1))
    if look.positions[0] >= end:
        start = int(look.positions[0])
        found = delimiter(look, start, window, tau_d, delimiters)
        end = start + block if found is None else found + 1
    is_sure, inside = look.reading.confidence >= tau, look.positions < end
    return look.choose_where(is_sure, inside, memory={"block": (start, end)}, notes={"block": [start, end]})


def delimiter(look: Look, start: int, window: float, tau_d: float, delimiters: Sequence[str]) -> int | None:
    """The position of the most confident delimiter near the block's start, where it is confident enough."""
    near = look.positions < start + max(1.0, window * len(look.row))
    endings = tuple(one.encode() for one in delimiters)
    ids, confident = look.reading.best, look.reading.confidence
    sure = np.flatnonzero(near & (confident >= tau_d))
    found = [index for index in sure if look.bytes_of(int(ids[index])).endswith(endings)]
    best = max(found, key=lambda index: confident[index], default=None)
    return None if best is None else int(look.positions[best])
