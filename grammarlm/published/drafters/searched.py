"""SWIFT (On-the-Fly Self-Speculative Decoding): which of its own layers a model drafts without is searched while it decodes.

    gl.Draft("skip", layers="search")

A set of layers is judged by a reading of what was drawn lately: how often its best token was drawn where the grammar left a choice,
and what share of a forward it costs (replay.py). Sets are tried at random first, then those of which a Gaussian process over those
that were tried hopes for most. It costs a reading of 128 ids for each 8 choices, as long as sets are tried, and then what a draft
by these layers does. Of no use for short answers that share no `gl.Draft`: nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.drafters.drafter import Drafter
from grammarlm.decoding.speculative.replay import best_length

from .layers import Skip, Transform, every_other
from .replayed import Replayed

SEARCH = "search"
TRIALS, AT_RANDOM = 48, 12  # sets of layers that are tried; of these at first
OPTIONS = 64  # sets of which the next one is chosen
Kept = tuple[int, ...]


class Searched(Replayed):
    name, length, every = "skip", 6, 8

    def start(self, count: int) -> None:
        self.rates: dict[Kept, float] = {}  # of sets that were tried, in their order
        self._random = np.random.default_rng(count)

    def gain(self, kept: Kept) -> float:
        return best_length(self.rates[kept], len(kept) / self.count, self.length)[0]

    def chosen(self, count: int, most: int) -> tuple[list[int], int]:
        if not self.rates:
            return every_other(count), most
        best = max(self.rates, key=self.gain)
        return list(best), best_length(self.rates[best], len(best) / count, most)[1]

    @torch.no_grad()
    def look(self, row: Row) -> None:
        if len(self.rates) == TRIALS:
            return
        options = [tuple(every_other(self.count))] if not self.rates else self._options()
        if not options:
            return
        kept = options[0 if len(self.rates) < AT_RANDOM else int(self._hopes(options).argmax())]
        ids, places = self.replay.text(row)
        model = self.draft_of(self.target.model, kept)
        logits = model.get_output_embeddings()(self.read(model, ids)[places]).float().cpu().numpy()
        self.rates[kept] = self.replay.rate(row, logits)

    def _options(self) -> list[Kept]:
        """Sets that have not been tried: any, and neighbours of the best one. The first and the last layer stay."""
        inner = np.arange(1, self.count - 1)
        some = [inner[self._random.random(len(inner)) < share] for share in self._random.random(OPTIONS)]
        best: Kept = max(self.rates, key=self.gain)
        near = [np.array(sorted({*best} ^ {layer}))[1:-1] for layer in inner]
        found = dict.fromkeys((0, *each.tolist(), self.count - 1) for each in (*some, *near))
        return [kept for kept in found if kept not in self.rates and len(kept) < self.count]

    def _hopes(self, options: Sequence[Kept]) -> np.ndarray:
        """The mean of a Gaussian process over the gains of what was tried, and its deviation; sets are near that differ little."""
        gains = np.array([self.gain(kept) for kept in self.rates])
        tried, asked = self._flags(self.rates), self._flags(options)
        inverse = np.linalg.inv(self._near(tried, tried) + 0.01 * np.eye(len(tried)))
        beside = self._near(asked, tried)
        unknown = np.maximum(1 - ((beside @ inverse) * beside).sum(1), 0.0)
        return np.asarray(beside @ inverse @ (gains - gains.mean()) + gains.std() * np.sqrt(unknown))

    def _flags(self, sets: Iterable[Kept]) -> np.ndarray:
        return np.array([np.isin(range(self.count), kept) for kept in sets], float)

    def _near(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-4 / self.count * np.abs(some[:, None] - others).sum(-1)))


def skip(layers: Sequence[int] | str | None = None, transform: Transform | None = None) -> Drafter:
    """What the name "skip" stands for."""
    return Searched(transform) if isinstance(layers, str) and layers == SEARCH else Skip(layers, transform)
