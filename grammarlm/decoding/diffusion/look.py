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

from grammarlm.vocab.vocabulary import Vocabulary

from .draws import Draws


class Allowed(Protocol):
    """The ids that may stand at each masked position, each alone."""

    def row(self, position: int) -> np.ndarray:
        """int32 mask words, bit 1 = allowed."""

    def test(self, position: int, ids: Any) -> np.ndarray:
        """bool, one for each id."""


class Reading:
    """What a model says of some positions, of the ids that are allowed there: everything else is as if it did not exist.

    Where all that is allowed is impossible to the model, the first of it is certain.
    """

    def __init__(
        self, positions: np.ndarray, ids: Sequence[np.ndarray], values: Callable[[int], np.ndarray], draws: Draws
    ):
        """ids: of each position, ascending; values(index): float logits of these ids."""
        self.positions, self.ids, self.draws = positions, ids, draws
        self._values = values

    def values(self, index: int) -> np.ndarray:
        """The logits of `ids[index]`, at least one of them finite."""
        found = self._values(index)
        if found.max() == -np.inf:
            found = found.copy()
            found[0] = LOWEST
        return found

    @cached_property
    def _masses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each position the place of the best id, its logit, the sum of exp(logit - best logit)."""
        count = len(self.positions)
        places, tops, masses = np.empty(count, np.int64), np.empty(count), np.empty(count)
        for index in range(count):
            values = self.values(index)
            places[index] = place = values.argmax()
            tops[index] = values[place]
            masses[index] = np.exp(values - values[place]).sum(dtype=np.float64)
        return places, tops, masses

    @cached_property
    def best(self) -> np.ndarray:
        """The most probable id at each position; of equals the first."""
        return np.array([ids[place] for ids, place in zip(self.ids, self._masses[0], strict=True)], np.int64)

    @property
    def confidence(self) -> np.ndarray:
        """The probability of the best id."""
        found: np.ndarray = 1 / self._masses[2]
        return found

    @cached_property
    def margin(self) -> np.ndarray:
        """How far the second best logit is below the best one; inf where there is only one."""
        found = np.empty(len(self.positions))
        for index, place in enumerate(self._masses[0]):
            values = self.values(index)
            others = max(values[:place].max(initial=-np.inf), values[place + 1 :].max(initial=-np.inf))
            found[index] = values[place] - others
        return found

    @cached_property
    def entropy(self) -> np.ndarray:
        """In nats."""
        found = np.empty(len(self.positions))
        for index, (top, mass) in enumerate(zip(*self._masses[1:], strict=True)):
            below = self.values(index) - np.float32(top)
            p = np.exp(below)
            found[index] = np.log(mass) - (p * np.where(p > 0, below, 0)).sum(dtype=np.float64) / mass
        return found

    def id_at(self, index: int) -> int:
        """The best id at a position; at a temperature above 0 a draw, which depends on (seed, position) and the logits there.

        Which positions are committed never depends on what would be drawn there: so a position that is committed alone has the law
        that the model gives it.
        """
        if self.draws.is_greedy:
            return int(self.best[index])
        return self.draws.token(self.ids[index], self.values(index), int(self.positions[index]))

    def log_p(self, index: int, token: int) -> float:
        """Of an allowed id, at the temperature at which ids are drawn; at temperature 1 where the best ones are taken."""
        _, tops, masses = self._masses
        values, warmth = self.values(index), self.draws.sampling.warmth
        mass = masses[index]
        if warmth != 1:
            mass = np.exp((values - np.float32(tops[index])) / np.float32(warmth)).sum(dtype=np.float64)
        value = float(values[np.searchsorted(self.ids[index], token)]) - tops[index]
        return min(0.0, float(value / warmth - np.log(mass)))


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
    table: np.ndarray  # float32 [length, V]: the model's logits at each position of the row that it has read
    allowed: Allowed
    step: int  # how many steps were done of those below
    steps: int
    share: int  # positions to commit now, if all that are left are to be spread evenly over the steps that are left
    row: np.ndarray  # int64, all ids, -1 where one is missing
    vocab: Vocabulary
    draws: Draws = field(default_factory=Draws)
    memory: Mapping[str, Any] = field(default_factory=dict)  # of the choice before

    @cached_property
    def ids(self) -> list[np.ndarray]:
        """The allowed ids of each position; equal rows share theirs."""
        known: dict[int, np.ndarray] = {}
        rows = [
            self.allowed.row(int(position)) for position in self.positions
        ]  # kept alive, so that their ids are unique
        for row in rows:
            if id(row) not in known:
                known[id(row)] = ids_of(row, self.table.shape[1])
        return [known[id(row)] for row in rows]

    @cached_property
    def reading(self) -> Reading:
        """The model's logits under the constraint."""
        return self.read(lambda index: self.table[self.positions[index]])

    def read(self, logits: Callable[[int], np.ndarray]) -> Reading:
        """Other logits [V] of each position, by its index, under the constraint."""
        return Reading(self.positions, self.ids, lambda index: logits(index)[self.ids[index]], self.draws)

    def with_values(self, values: Callable[[int], np.ndarray]) -> Reading:
        """Logits of the allowed ids of each position, by its index."""
        return Reading(self.positions, self.ids, values, self.draws)

    def bytes_of(self, token: int) -> bytes:
        """What an id adds to the text: special ids nothing, nor a position by which a hole has shrunk."""
        is_text = 0 <= token < self.vocab.size and token not in self.vocab.special_ids
        return self.vocab.token_bytes(token) if is_text else b""

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


def ids_of(words: np.ndarray, width: int) -> np.ndarray:
    """The ids of a mask row that have logits."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return np.flatnonzero(bits[:width])
