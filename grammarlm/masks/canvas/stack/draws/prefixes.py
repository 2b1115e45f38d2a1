"""Rows drawn from the left, by what may stand behind each prefix: exact however many derivations a row has.

Behind a prefix where no try has been, each position is taken to allow what it allows at all: a bound of the sum of completions. A
try goes from the left by these bounds. Where it comes to a new prefix, what that allows is asked of the canvas, and the try goes on
with the probability by which the bound is smaller now. So a try that comes to its end has the law of rows, and the next one knows
more.

    "()" or "(((": behind "()" there are 3 of 8 classes, not 8; 3 of 8 tries that come there go on, all that come there later
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED, Draw

if TYPE_CHECKING:
    from .completions import Completions

MOST_NUMBERS = 1 << 22  # that are kept of prefixes; beyond, all are forgotten


@dataclass(eq=False)
class Prefix:
    """What may stand behind some classes."""

    classes: np.ndarray  # int [N]
    scores: np.ndarray  # float64 [N]
    ahead: np.ndarray  # float64 [N]: a bound of the log of the sum of what may stand behind each

    @property
    def logs(self) -> np.ndarray:
        return self.scores + self.ahead

    @property
    def total(self) -> float:
        return float(np.logaddexp.reduce(self.logs)) if len(self.classes) else -np.inf


class Prefixes:
    """Of one row, and how good its completions are by `scores` [L, K] at masked positions."""

    def __init__(self, passes: Completions, scores: np.ndarray):
        self._passes, self._scores = passes, scores
        self._masked = np.flatnonzero(passes.row == MASKED).tolist()
        self._ahead = [0.0]  # by masked position, the last one first: the bound of all from it on
        for position in reversed(self._masked):
            self._ahead.append(self._ahead[-1] + self._at(passes, position, 0.0).total)
        self._ahead.reverse()
        self.known: dict[tuple[int, ...], Prefix] = {}
        self._numbers = 0

    def tried(self, draw: Draw) -> np.ndarray | None:
        """The classes of a completion; None where the try has ended early."""
        chosen, way, bound = tuple[int, ...](), list[tuple[Prefix, int]](), self._ahead[0]
        while len(chosen) < len(self._masked):
            here = self.known.get(chosen)
            if here is None:
                here = self._asked(chosen)
                if not goes_on(here.total - bound, draw):
                    learn(way, here.total)
                    return None
            at = draw(here.logs)
            way.append((here, at))
            chosen, bound = (*chosen, int(here.classes[at])), float(here.ahead[at])
        learn(way, 0.0)
        return self._row(chosen)

    @property
    def is_empty(self) -> bool:
        """Is it known that the scores leave no completion?"""
        first = self.known.get(())
        return first is not None and first.total == -np.inf

    def _asked(self, chosen: tuple[int, ...]) -> Prefix:
        self._passes.grid.check()
        passes = self._passes.of_row(self._row(chosen))
        found = self._at(passes, self._masked[len(chosen)], self._ahead[len(chosen) + 1])
        if self._numbers + len(found.classes) > MOST_NUMBERS:
            self.known.clear()
            self._numbers = 0
        self.known[chosen], self._numbers = found, self._numbers + len(found.classes)
        return found

    def _at(self, passes: Completions, position: int, ahead: float) -> Prefix:
        classes = np.flatnonzero(passes.classes_at(position))
        return Prefix(classes, self._scores[position, classes], np.full(len(classes), ahead))

    def _row(self, chosen: tuple[int, ...]) -> np.ndarray:
        row = self._passes.row.copy()
        row[self._masked[: len(chosen)]] = chosen
        return row


def goes_on(log_p: float, draw: Draw) -> bool:
    """With this probability; rounding may make it a little more than 1."""
    if log_p > -1e-12:
        return True
    return not np.isneginf(log_p) and draw(np.array([log_p, np.log1p(-np.exp(log_p))])) == 0


def learn(way: list[tuple[Prefix, int]], total: float) -> None:
    """The bounds along a way, from what is known of its end."""
    for prefix, at in reversed(way):
        prefix.ahead[at] = total
        total = prefix.total
