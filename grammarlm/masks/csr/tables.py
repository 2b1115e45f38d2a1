"""The arrays of an automaton over tokens (kernels/reference/csr.py), with room to grow in place.

Nothing moves: a kernel, or a CUDA graph, holds the addresses. Ranges written since the last transfer are listed
(`patches`), so that a copy on a device can be patched likewise. A list of exceptions that outgrows its room moves to
the end of the pool; its old place is lost until the tables are cleared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.errors import MaskError
from grammarlm.layout.csr import DEAD, FINISHED, FIRST, MISS, Csr
from grammarlm.masks.token_facts import pack_ids

SPARE = 8  # spare entries of a list of exceptions whose default is MISS


MOST_BYTES = 1 << 34


class TablesFull(Exception):
    """There is no room for another state, edge or row."""


@dataclass(frozen=True)
class Room:
    """The capacities of the arrays."""

    states: int = 4096
    edges: int = 1 << 20
    rows: int = 256

    def __post_init__(self) -> None:
        for name, least in (("states", FIRST + 1), ("edges", 1), ("rows", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
                raise ValueError(f"{name}={value!r}: it takes a number from {least} to 2,147,483,647")


class CsrTables:
    """The arrays, and how much of them is used."""

    def __init__(self, words: int, stop_ids: tuple[int, ...], room: Room):
        self.room, self._stops = room, np.array(sorted(stop_ids), np.int32)
        self._stop_row = pack_ids(stop_ids, words)
        needed = 4 * (5 * room.states + 2 * room.edges + room.rows * words)
        try:
            if needed > MOST_BYTES:
                raise MemoryError
            states, edges = np.zeros((4, room.states), np.int32), np.zeros((2, room.edges), np.int32)
            self.csr = Csr(np.zeros((room.rows, words), np.int32), *states, *edges)
            self._places = np.zeros(room.states, np.int32)  # the capacity of each state's list
        except MemoryError:
            raise MaskError(
                f"states={room.states:,}, edges={room.edges:,} and rows={room.rows:,} of {4 * words:,} bytes take {needed:,} "
                f"bytes, which is more than there are, or than the most of a device automaton, {MOST_BYTES:,}"
            ) from None
        self.patches: list[tuple[str, int, int]] = []  # (array, first, one past the last)
        self.clear()

    def clear(self) -> None:
        """Leaves only the states in which no text stands."""
        self.states, self.edges, self.rows = 0, 0, 1
        self._known_rows: dict[bytes, int] = {}
        self.add_state(self.add_row(self._stop_row), DEAD, self._stops[:0], self._stops[:0])
        for state in (FINISHED, MISS):
            self.add_state(0, DEAD, self._stops, np.full(len(self._stops), state, np.int32))

    @property
    def nbytes(self) -> int:
        """Size of what is used."""
        return 4 * (4 * self.states + 2 * self.edges + self.rows * self.csr.rows.shape[1])

    def known_row(self, bits: np.ndarray) -> int | None:
        return self._known_rows.get(bits.tobytes()) if bits.any() else 0

    def add_row(self, bits: np.ndarray) -> int:
        """The number of a base row."""
        known = self.known_row(bits)
        if known is not None:
            return known
        if self.rows == self.room.rows:
            raise TablesFull
        number = self.rows
        self.csr.rows[number] = bits
        self._known_rows[bits.tobytes()] = number
        self.rows += 1
        self.patches.append(("rows", number, number + 1))
        return number

    def add_state(self, base: int, default: int, tokens: np.ndarray, targets: np.ndarray) -> int:
        """Adds a state with its exceptions, sorted by token."""
        state, places = self.states, len(tokens) + (SPARE if default == MISS else 0)
        if state == self.room.states or self.edges + places > self.room.edges:
            raise TablesFull
        self.states += 1
        first = self._take(places)
        self._write_list(state, first, tokens, targets, places)
        self.csr.base[state], self.csr.default[state] = base, default
        self.patches += [("base", state, state + 1), ("default", state, state + 1)]
        return state

    def set_base(self, state: int, base: int, target: int) -> None:
        """Sets another base row and default."""
        self.csr.base[state] = base
        self.patches.append(("base", state, state + 1))
        self.set_default(state, target)

    def set_default(self, state: int, target: int) -> None:
        self.csr.default[state] = target
        self.patches.append(("default", state, state + 1))

    def set_targets(self, state: int, tokens: np.ndarray, target: int) -> None:
        """Sets the target of exceptions that are listed already."""
        first, count = int(self.csr.first[state]), int(self.csr.count[state])
        places = first + np.searchsorted(self.csr.tokens[first : first + count], tokens)
        self.csr.targets[places] = target
        self.patches.append(("targets", int(places[0]), int(places[-1]) + 1))

    def set_edge(self, state: int, token: int, target: int) -> None:
        """Sets an exception, listed or not."""
        first, count = int(self.csr.first[state]), int(self.csr.count[state])
        listed = self.csr.tokens[first : first + count]
        at = int(np.searchsorted(listed, token))
        if at < count and listed[at] == token:
            self.csr.targets[first + at] = target
            self.patches.append(("targets", first + at, first + at + 1))
            return
        tokens = np.insert(listed, at, token)
        targets = np.insert(self.csr.targets[first : first + count], at, target)
        places = int(self._places[state])
        if count == places:
            places = 2 * count + SPARE
            if self.edges + places > self.room.edges:
                raise TablesFull
            first = self._take(places)
        self._write_list(state, first, tokens, targets, places)

    def _take(self, places: int) -> int:
        first = self.edges
        self.edges += places
        return first

    def _write_list(self, state: int, first: int, tokens: np.ndarray, targets: np.ndarray, places: int) -> None:
        end = first + len(tokens)
        self.csr.tokens[first:end], self.csr.targets[first:end] = tokens, targets
        self.csr.first[state], self.csr.count[state], self._places[state] = first, len(tokens), places
        self.patches += [("tokens", first, end), ("targets", first, end)]
        self.patches += [("first", state, state + 1), ("count", state, state + 1)]
