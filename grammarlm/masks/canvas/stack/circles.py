"""Tables whose micro points go round in a circle: after `if (a) if (b) if (c) x` one token may end any number of statements.

The passes repeat what such a token does until nothing changes (kernels/cpu/canvas/sets/steps.py). That ends by itself where no
stack that something leads to lets a token pop so often. Where one does, the stacks on which a row can be completed have no end:
they are cut to the height of the highest one that the row leads to from the left (heights.py). No row has higher ones, within a
token neither, since pops come before pushes; so nothing that is left out matters.
"""

from __future__ import annotations

import numpy as np

from .bits import members, numbers
from .pushdown import PushdownTable
from .symbols import on_top, stays


def rounds_of(table: PushdownTable, tops: np.ndarray, belows: np.ndarray) -> int:
    """How many micro points a token may go through, one after another, on stacks that something leads to (as StackSets has them);
    0 where there is no end of them."""
    can_be, below = (numbers(words) for words in (tops, belows))
    longest: dict[tuple[int, int], int] = {}  # by micro point and symbol on top; 0: not known yet
    waiting = [(point, on_top(symbol)) for point, symbol, _ in table.rules if can_be[point] >> on_top(symbol) & 1]
    while waiting:
        here = point, top = waiting[-1]
        after = [
            (other, symbol)
            for popped, other in table.rules_of[point]
            if on_top(popped) == top and other >= table.first_micro
            for symbol in ([top] if stays(popped) else members(below[top]))
            if any(on_top(asked) == symbol for asked, _ in table.rules_of.get(other, ()))
        ]
        if here not in longest:
            longest[here] = 0
            waiting += [place for place in after if place not in longest]
            if any(longest.get(place) == 0 for place in after):
                return 0
        else:
            waiting.pop()
            longest[here] = 1 + max((longest[place] for place in after), default=0)
    return max(1, *longest.values()) if longest else 1
