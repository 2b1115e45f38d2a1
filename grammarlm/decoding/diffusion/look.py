"""What a sampler sees and says: a pure function from a Look to a Choice.

    def confidence(look, *, tau=0.9):
        return look.choose_where(look.reading.confidence >= tau)

A sampler draws nothing, calls no model and keeps nothing: what it wants to know at the next step it returns as the choice's memory.
What the model says is that of the distribution which the constraint leaves (reading.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

from .device_logits import DeviceLogits, DeviceReading
from .draws import Draws
from .reading import Reading

Logits = np.ndarray | DeviceLogits  # both give float32 arrays where they are indexed


class Allowed(Protocol):
    """The ids that may stand at each masked position, each alone."""

    def row(self, position: int) -> np.ndarray:
        """int32 mask words, bit 1 = allowed."""

    def test(self, position: int, ids: Any) -> np.ndarray:
        """bool, one for each id."""
        words, at = self.row(position).view(np.uint32), np.asarray(ids, np.int64)
        found: np.ndarray = (words[at >> 5] >> (at & 31).astype(np.uint32) & 1).astype(bool)
        return found


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
    table: Logits  # float32 [length, V]: the model's logits at each position of the row that it has read
    allowed: Allowed
    step: int  # how many steps were done of those below
    steps: int
    share: int  # positions to commit now, if all that are left are to be spread evenly over the steps that are left
    row: np.ndarray  # int64, all ids, -1 where one is missing
    vocab: Vocabulary
    draws: Draws = field(default_factory=Draws)
    memory: Mapping[str, Any] = field(default_factory=dict)  # of the choice before

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """The mask words of each position."""
        return [self.allowed.row(int(position)) for position in self.positions]

    @cached_property
    def ids(self) -> list[np.ndarray]:
        """The allowed ids of each position; equal rows share theirs."""
        known: dict[int, np.ndarray] = {}
        for row in self.rows:
            if id(row) not in known:
                known[id(row)] = ids_of(row, self.table.shape[1])
        return [known[id(row)] for row in self.rows]

    @cached_property
    def reading(self) -> Reading:
        """The model's logits under the constraint."""
        if isinstance(self.table, DeviceLogits):
            return DeviceReading(self.positions, self.rows, lambda: self.ids, self.table, self.draws)
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

    def choose_where(
        self, is_sure: np.ndarray, among: np.ndarray | None = None, reading: Reading | None = None, **said: Any
    ) -> Choice:
        """The positions that are sure, and as many others as the look's share asks for, the most confident first; `among` these."""
        order = self.by_confidence(reading)
        order = order if among is None else order[among[order]]
        chosen = np.concatenate([order[is_sure[order]], order[~is_sure[order]]])
        return self.choose(chosen, max(int(is_sure[order].sum()), self.share), reading=reading, **said)

    def fill(self, notes: dict[str, Any] | None = None) -> Choice:
        """All positions at once, by the best joint fill."""
        return Choice([int(p) for p in self.positions], [], len(self.positions), {}, notes or {}, fill=True)


Rule = Callable[[Look], Choice]


def ids_of(words: np.ndarray, width: int) -> np.ndarray:
    """The ids of a mask row that have logits."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return np.flatnonzero(bits[:width])
