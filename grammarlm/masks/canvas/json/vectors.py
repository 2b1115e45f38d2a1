"""Interned vectors of effects, and what one more byte does to each: buffers of kernels/cpu/canvas/vectors.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.stack_sets import Vectors as At

UNKNOWN = -2
ALL_DONE, MISSING = 0, 1
FIRST_CAPACITY = 1 << 12


class Vectors:
    """int32 [count, size] in `rows`."""

    def __init__(self, size: int, columns: int, most: int, check: Callable[[], None]):
        entries.load("stack_sets")
        self._arena, self._most, self._check, self._columns = np.zeros(At.LENGTH, np.int64), most, check, columns
        self._kept: dict[At, np.ndarray] = {}
        self._arena[At.SIZE], self._arena[At.COLUMNS] = size, columns
        self._put(At.WEIGHTS, np.random.default_rng(0).integers(1, 1 << 63, max(size, 1), np.uint64) | np.uint64(1))
        self._grow(min(FIRST_CAPACITY, most + 4))

    @property
    def rows(self) -> np.ndarray:
        return self._kept[At.VECTORS][: int(self._arena[At.COUNT])]

    def _put(self, place: At, array: np.ndarray) -> None:
        self._kept[place] = array
        self._arena[place] = address_of(array)

    def _grow(self, capacity: int) -> None:
        arena, count, size = self._arena, int(self._arena[At.COUNT]), int(self._arena[At.SIZE])
        if count >= self._most:
            raise LimitExceeded("a canvas over this schema needs more than limits.max_bytes for what tokens do to it")
        self._check()
        for place, shape, kind in (
            (At.VECTORS, (capacity, size), np.int32), (At.HASHES, (capacity,), np.uint64),
            (At.AFTER, (capacity, self._columns), np.int32),
        ):  # fmt: skip
            array = np.full(shape, UNKNOWN, kind) if place == At.AFTER else np.empty(shape, kind)
            if count:
                array[:count] = self._kept[place][:count]
            self._put(place, array)
        arena[At.CAPACITY] = capacity
        self._rehash()

    def _rehash(self) -> None:
        capacity = int(self._arena[At.CAPACITY])
        slots = 4 << (capacity - 1).bit_length()  # a power of two, as the kernels mask with it
        self._put(At.SLOT, np.zeros(slots, np.int32))
        self._arena[At.SLOTS] = slots
        entries.rehash_vectors(address_of(self._arena), int(self._arena[At.COUNT]))

    def _make_room(self) -> None:
        if self._arena[At.COUNT] == self._arena[At.CAPACITY]:
            self._grow(min(2 * int(self._arena[At.CAPACITY]), self._most + 4))

    def number(self, vector: np.ndarray) -> int:
        """That of a vector, of which there may be an equal one."""
        self._make_room()
        self._kept[At.VECTORS][int(self._arena[At.COUNT])] = vector
        return int(entries.intern_vector(address_of(self._arena)))

    def add(self, vector: np.ndarray) -> None:
        """One with a number of its own; of equal vectors the one that was added last is found."""
        self._make_room()
        arena, n = self._arena, int(self._arena[At.COUNT])
        self._kept[At.VECTORS][n] = vector
        words = vector.astype(np.int64).astype(np.uint64)
        with np.errstate(over="ignore"):
            hashed = (words * self._kept[At.WEIGHTS][: len(words)]).sum(dtype=np.uint64)
        self._kept[At.HASHES][n] = hashed ^ (hashed >> np.uint64(31))
        arena[At.COUNT] = n + 1
        self._rehash()

    def known(self, vectors: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """int32: the vectors after these classes of bytes, UNKNOWN where they have not been asked for."""
        return self._kept[At.AFTER][vectors, columns]

    def move(self, pairs: np.ndarray, moved: Callable[[], np.ndarray], find: Callable[[int, int], None]) -> None:
        """Works out pairs (vector, column), int32 [n, 2], by what `moved` says of effects; `find` adds one that it lacks."""
        done = 0
        while True:
            table, arena = moved(), self._arena
            arena[At.MOVED], arena[At.EFFECTS] = address_of(table), table.shape[1]
            arena[At.PAIRS], arena[At.PAIR_COUNT], arena[At.DONE] = address_of(pairs), len(pairs), done
            why = entries.move_vectors(address_of(arena))
            done = int(arena[At.DONE])
            if why == ALL_DONE:
                return
            if why == MISSING:
                find(int(arena[At.MISSING]), int(pairs[done, 1]))
            else:
                self._make_room()
