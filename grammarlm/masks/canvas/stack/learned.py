"""Ways that live spots found for single classes at a position, which mostly lead through the rows that follow, too.

After a commit the same classes are open at the same positions, most of them what ends a comment that some other gap may begin. To
prove that one may stand takes live spots .01 to .3 s; whether a way that is known still leads there is a few single tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED

if TYPE_CHECKING:
    from .live_spots import LiveWay
    from .narrow_states import States
    from .ways import Ways

MOST_WAYS = 64  # looked for at one position
MOST_KEPT = 8  # at one position, the newest


class KnownWay(NamedTuple):
    """Classes of some positions in a row; before the last of them narrow states from the right go on."""

    first: int
    classes: np.ndarray  # int32


class Learned:
    """Of one row and those before it."""

    def __init__(self, before: Learned | None = None):
        self._times: dict[int, int] = {} if before is None else before._times
        self._ways: dict[int, list[KnownWay]] = {} if before is None else before._ways

    def learn(self, live: LiveWay, ways: Ways, row: np.ndarray, narrow: States) -> None:
        """How a class may stand at a position, unless a way is known."""
        at = live.position
        if self._times.get(at, 0) >= MOST_WAYS or self.leads(at, int(live.row[at - live.first]), ways, row, narrow):
            return
        self._times[at] = self._times.get(at, 0) + 1
        way = ways.along(live)
        if way is not None:
            classes = [way.get(live.first + i, token) for i, token in enumerate(live.row.tolist())]
            known = self._ways.setdefault(at, [])
            known.insert(0, KnownWay(live.first, np.array(classes, np.int32)))
            del known[MOST_KEPT:]

    def leads(self, position: int, token_class: int, ways: Ways, row: np.ndarray, narrow: States) -> bool:
        """Has the row a completion with the class there, by a way that is known?"""
        for first, known in self._ways.get(position, ()):
            here = row[first : first + len(known)]
            classes = known.copy()
            classes[position - first] = token_class
            if ((here == MASKED) | (here == classes)).all() and ways.leads(classes, narrow, first):
                return True
        return False
