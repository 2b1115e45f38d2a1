"""What a sampler sees and says: a pure function from a Look to a Choice.

    def confidence(look, *, tau=0.9):
        sure = look.reading.confidence >= tau
        return look.choose(look.by_confidence(), max(int(sure.sum()), look.share))

A sampler draws nothing, calls no model and keeps nothing: what it wants to know at the next step it returns as the choice's memory.
Confidence, margin and entropy are those of the distribution that the constraint leaves, renormalised. So a position where only one
id is allowed is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch

from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.vocab.vocabulary import Vocabulary

from .draws import Draws

CHUNK = 16  # rows of logits at a time, so that what is computed of them stays in the cache


class Allowed(Protocol):
    """The ids that may stand at each masked position, each alone."""

    def row(self, position: int) -> np.ndarray:
        """int32 mask words, bit 1 = allowed."""

    def test(self, position: int, ids: Any) -> np.ndarray:
        """bool, one for each id."""


class Reading:
    """Logits of some positions, -inf where an id is not allowed, and what follows from them."""

    def __init__(self, positions: np.ndarray, logits: np.ndarray, draws: Draws):
        self.positions, self.logits, self.draws = positions, logits, draws

    @cached_property
    def best(self) -> np.ndarray:
        """The most probable id at each position; of equals the first."""
        found: np.ndarray = self.logits.argmax(1)
        return found

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each position, with p = exp(logit - best logit): the sum of p, the second largest p, the sum of p (logit - best)."""
        count = len(self.logits)
        mass, runner_up, weighted = np.empty(count), np.empty(count), np.empty(count)
        for first in range(0, count, CHUNK):
            rows = slice(first, min(first + CHUNK, count))
            logits, best = self.logits[rows], self.best[rows]
            at = np.arange(len(logits)), best
            with np.errstate(invalid="ignore"):  # -inf - -inf, where everything allowed is impossible to the model
                below = logits - logits[at][:, None]
            p = np.exp(below)
            np.nan_to_num(p, copy=False)
            mass[rows] = p.sum(1, dtype=np.float64)
            with np.errstate(invalid="ignore"):
                weighted[rows] = np.where(p > 0, p * below, 0).sum(1, dtype=np.float64)
            p[at] = 0
            runner_up[rows] = p.max(1)
        return np.maximum(mass, 1.0), runner_up, weighted

    @property
    def confidence(self) -> np.ndarray:
        """The probability of the best id."""
        return 1 / self._sums[0]

    @property
    def margin(self) -> np.ndarray:
        """How far the second best logit is below the best one; inf where there is only one."""
        with np.errstate(divide="ignore"):
            return -np.log(self._sums[1])

    @property
    def entropy(self) -> np.ndarray:
        """In nats."""
        mass, _, weighted = self._sums
        return np.log(mass) - weighted / mass

    def id_at(self, index: int) -> int:
        """The best id at a position; at a temperature above 0 a draw, which depends on (seed, position) and the logits there.

        Which positions are committed never depends on what would be drawn there: so a position that is committed alone has the law
        that the model gives it.
        """
        if self.draws.is_greedy:
            return int(self.best[index])
        return self.draws.token(self.logits[index], int(self.positions[index]))

    def log_p(self, index: int, token: int) -> float:
        """Of an id, at temperature 1."""
        top = float(self.logits[index, self.best[index]])
        return float(self.logits[index, token]) - top - float(np.log(self._sums[0][index]))


@dataclass(frozen=True)
class Choice:
    """What a sampler commits: positions and their ids, the most important first.

    Ids are committed together as far as the row can still be completed: one that is refused waits for the next step. Of the first
    `least` positions none waits: one whose id is refused gets the best id that is still allowed there.
    """

    positions: Sequence[int]
    ids: Sequence[int]
    least: int = 1
    memory: Mapping[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    fill: bool = False  # instead: the best joint fill of these positions (`ids` is not read)


@dataclass(frozen=True, eq=False)
class Look:
    """A row, at the masked positions that may be committed now."""

    positions: np.ndarray  # ascending
    logits: np.ndarray  # float32 [positions, V]: the model's
    allowed: Allowed
    step: int  # how many steps were done of those below
    steps: int
    share: int  # positions to commit now, if all that are left are to be spread evenly over the steps that are left
    row: np.ndarray  # int64, all ids, -1 where one is missing
    vocab: Vocabulary
    draws: Draws = field(default_factory=Draws)
    memory: Mapping[str, Any] = field(default_factory=dict)  # of the choice before

    @cached_property
    def reading(self) -> Reading:
        """The logits under the constraint."""
        return self.read(self.logits.copy())

    def read(self, logits: np.ndarray) -> Reading:
        """Other logits of the same positions under the constraint; they are written to."""
        if len(logits):
            rows = [self.allowed.row(int(position)) for position in self.positions]
            apply_mask_(torch.from_numpy(logits), np.ascontiguousarray(np.stack(rows), np.int32))
            for index in np.flatnonzero(
                logits.max(1) == -np.inf
            ):  # to the model all that is allowed there is impossible
                logits[index, first_of(rows[index])] = LOWEST
        return Reading(self.positions, logits, self.draws)

    @property
    def progress(self) -> float:
        """From 0 to 1: the share of the steps that are done."""
        return self.step / max(self.steps, 1)

    def by(self, keys: np.ndarray) -> np.ndarray:
        """Indices of positions by ascending keys; equals from left to right."""
        return np.argsort(keys, kind="stable")

    def by_confidence(self, reading: Reading | None = None) -> np.ndarray:
        return self.by(-(reading or self.reading).confidence)

    def choose(
        self,
        order: np.ndarray,
        count: int,
        *,
        least: int | None = None,
        reading: Reading | None = None,
        memory: Mapping[str, Any] | None = None,
        notes: dict[str, Any] | None = None,
    ) -> Choice:
        """The first `count` indices of an order, with their ids; of these the look's share is committed whatever happens."""
        taken = [int(index) for index in order[:count]]
        ids = [(reading or self.reading).id_at(index) for index in taken]
        least = min(self.share if least is None else least, len(taken))
        return Choice([int(self.positions[i]) for i in taken], ids, max(1, least), memory or {}, notes or {})

    def fill(self, notes: dict[str, Any] | None = None) -> Choice:
        """All positions at once, by the best joint fill."""
        return Choice([int(p) for p in self.positions], [], len(self.positions), {}, notes or {}, fill=True)


Rule = Callable[[Look], Choice]
LOWEST = float(np.finfo(np.float32).min)


def first_of(words: np.ndarray) -> int:
    """The first id of a mask row."""
    word = int(np.flatnonzero(words)[0])
    bits = int(words[word]) & 0xFFFFFFFF
    return 32 * word + (bits & -bits).bit_length() - 1
