"""What may stand at a position of a row, and why that is so in rows with more tokens, too.

A row with one more token has no completion that it had not without. So what may not stand at a position may not from then on; and what
may still does if a completion shows it. Those that have shown it are known by what is left of a few positions, and right of them: where
both are what they were, they are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Window(NamedTuple):
    """Two positions, and what some rows with marks are like between them and beside them."""

    first: int
    end: int
    shown_by: tuple[tuple[object, object], ...]  # Repeats._named, MarkedRow.between


@dataclass(frozen=True, eq=False)
class Answer:
    """What may stand at a position."""

    classes: np.ndarray  # bool [K]
    refused: np.ndarray  # int64: tokens of these that may not
    shown: Window | None  # where equal, all of it may stand there still; None: that is not known
    never: frozenset[tuple[int, bytes]] = frozenset()  # tokens that are not this key there, though they spell it
