"""What answers have drawn lately, to be read again by models that may draft for them: how often would they have drafted that?

Of each answer the last places where the grammar left a choice, with what it allowed there and what was drawn. What was forced says
nothing of a model. One reading of a text judges a model by many choices, where its drafts would be judged by those that are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT

from .draft_builder import DraftBuilder
from .draws import arrivals
from .observer import OfRows


@dataclass(frozen=True)
class Drawn:
    """A choice."""

    place: int  # of the token among the answer's ids
    allowed: np.ndarray  # bits, of the ids that might have come


class Replay(OfRows):
    """`most`: choices of each answer; `context`: of its last ids so many are read again."""

    def __init__(self, most: int = 32, context: int = 128):
        self.most, self.context = most, context
        self._growths = self.by_row()  # whose drafts are being read
        self._drawn = self.by_row()

    def forget_drafts(self) -> None:
        """A call begins; of one that came to no end no draft is read any more."""
        self._growths.clear()

    def drafted(self, growth: DraftBuilder) -> None:
        """The target reads this draft."""
        self._growths[growth.row] = growth

    def drawn(self, row: Row, nodes: Sequence[int]) -> int:
        """These nodes of the draft were drawn, and then another token; how many choices are known since."""
        growth: DraftBuilder | None = self._growths.pop(row, None)
        known: deque[Drawn] = self._drawn.setdefault(row, deque(maxlen=self.most))
        found = 0
        for place, node in enumerate([ROOT, *nodes], 0 if growth is None else growth.begins):
            if growth is None or place >= len(row.ids):  # the text has ended
                break
            masked = growth.masked(np.zeros(growth.width, np.float32), node)
            allowed = np.zeros(0, bool) if masked is None else np.isfinite(masked)
            if allowed.sum() > 1:
                known.append(Drawn(place, np.packbits(allowed)))
                found += 1
        return found

    def known(self, row: Row) -> int:
        """How many choices of an answer can be judged."""
        return len(self._within(row))

    def text(self, row: Row) -> tuple[list[int], list[int]]:
        """The last ids of an answer, and the numbers of those after which there was a choice."""
        first = max(0, len(row.ids) - self.context)
        return row.ids[first:], [each.place - 1 - first for each in self._within(row)]

    def rate(self, row: Row, logits: np.ndarray) -> float:
        """How often a draft by logits [choices, V] after these ids would have been drawn: with the answer's own noise."""
        hits, sampling, first = 0, row.sampling, len(row.ids) - row.count  # the number of the answer's first id
        choices = self._within(row)
        for each, own in zip(choices, logits, strict=True):
            allowed = np.unpackbits(each.allowed).astype(bool)[: len(own)]
            masked = np.where(allowed, own[: len(allowed)], -np.inf)
            if sampling.temperature:
                (token,) = arrivals((masked - masked.max()) / sampling.warmth, sampling.seed, each.place - first, 1)
            else:
                token = int(masked.argmax())
            hits += token == row.ids[each.place]
        return hits / max(1, len(choices))

    def _within(self, row: Row) -> list[Drawn]:
        first = max(0, len(row.ids) - self.context)
        return [each for each in self._drawn.get(row, ()) if each.place > first]


def best_length(rate: float, share: float, most: int) -> tuple[float, int]:
    """The most expected tokens of a round for its time in forwards of the target, and how many are drafted for that.

    Each drafted token costs this share of a forward, and is drawn at this rate where those before it are.
    """
    tokens, best = 1.0, (0.0, 1)
    for length in range(1, most + 1):
        tokens += rate**length
        best = max(best, (tokens / (1 + length * share), length), key=lambda pair: pair[0])
    return best
