"""Interned vectors of effects, and what one more byte does to each: buffers of kernels/cpu/canvas/tables/vectors.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.stack_sets import Vectors as At
from grammarlm.masks.kernel_words import KernelWords
from grammarlm.vocab.byte_trie import ByteTrie

UNKNOWN, NONE = -2, -1
ALL_DONE, MISSING, FULL, PAUSED = range(4)
FIRST_CAPACITY = 1 << 11
TOO_MANY = "a canvas over this grammar needs more than limits.max_bytes for what tokens do to it"
AT_ONCE = 1 << 24  # places that bytes move between two looks at the clock


class Vectors(KernelWords):
    """`most`: their bytes. `moved` and `find`: what bytes do to effects, and what adds one that it lacks."""

    def __init__(
        self,
        size: int,
        columns: int,
        most: int,
        check: Callable[[], None],
        moved: Callable[[], np.ndarray],
        find: Callable[[int, int], None],
    ):
        entries.load("stack_sets")
        super().__init__(At.LENGTH)
        self._check, self._columns = check, columns
        self._moved, self._find = moved, find
        self.words[At.SIZE], self.words[At.COLUMNS] = size, columns
        self.put(At.WEIGHTS, np.random.default_rng(0).integers(1, 1 << 63, max(size, 1), np.uint64) | np.uint64(1))
        self._most_vectors, self._most_places = most // (4 * columns + 20), most // 8
        self._grow(min(FIRST_CAPACITY, self._most_vectors))

    def row(self, number: int) -> np.ndarray:
        """int32 [size]: the effects of a vector."""
        starts, found = self.arrays[At.PLACE_START], np.full(int(self.words[At.SIZE]), NONE, np.int32)
        here = slice(starts[number], starts[number + 1])
        found[self.arrays[At.PLACES][here]] = self.arrays[At.VALUES][here]
        return found

    def _grow(self, capacity: int) -> None:
        words, count = self.words, int(self.words[At.COUNT])
        if count >= self._most_vectors:
            raise LimitExceeded(TOO_MANY)
        self._check()
        self.grow(At.HASHES, capacity, np.uint64, count)
        self.grow(At.AFTER, (capacity, self._columns), np.int32, count)[count:] = UNKNOWN
        self.grow(At.PLACE_START, capacity + 1, np.int64, count and count + 1)
        words[At.CAPACITY] = capacity
        self._rehash()

    def _rehash(self) -> None:
        capacity = int(self.words[At.CAPACITY])
        slots = 4 << (capacity - 1).bit_length()  # a power of two, as the kernels mask with it
        self.put(At.SLOT, np.zeros(slots, np.int32))
        self.words[At.SLOTS] = slots
        entries.rehash_vectors(self.address, int(self.words[At.COUNT]))

    def _make_room(self) -> None:
        words = self.words
        if words[At.COUNT] == words[At.CAPACITY]:
            self._grow(min(2 * int(words[At.CAPACITY]), self._most_vectors))
        used, size = int(self.arrays[At.PLACE_START][int(words[At.COUNT])]), int(words[At.SIZE])
        if used + size <= words[At.PLACE_CAPACITY]:
            return
        if used + size > self._most_places:
            raise LimitExceeded(TOO_MANY)
        self._check()
        capacity = min(max(4 * int(words[At.PLACE_CAPACITY]), 128 * size, 1), self._most_places)
        for place in (At.PLACES, At.VALUES):
            self.grow(place, capacity, np.int32, used)
        words[At.PLACE_CAPACITY] = capacity

    def _write(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Puts a vector behind the others; its places and effects."""
        self._make_room()
        n, starts = int(self.words[At.COUNT]), self.arrays[At.PLACE_START]
        places = np.flatnonzero(vector != NONE)
        here = slice(starts[n], starts[n] + len(places))
        self.arrays[At.PLACES][here], self.arrays[At.VALUES][here] = places, vector[places]
        starts[n + 1] = here.stop
        return places, vector[places]

    def number(self, vector: np.ndarray) -> int:
        """That of a vector, of which there may be an equal one."""
        self._write(vector)
        return int(entries.intern_vector(self.address))

    def add(self, vector: np.ndarray) -> None:
        """One with a number of its own; of equal vectors the one that was added last is found."""
        places, values = self._write(vector)
        n = int(self.words[At.COUNT])
        with np.errstate(over="ignore"):
            hashed = ((values.astype(np.int64) + 1).astype(np.uint64) * self.arrays[At.WEIGHTS][places]).sum(
                dtype=np.uint64
            )
        self.arrays[At.HASHES][n] = hashed ^ (hashed >> np.uint64(31))
        self.words[At.COUNT] = n + 1
        self._rehash()

    def known(self, vectors: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """int32: the vectors after these classes of bytes, UNKNOWN where they have not been asked for."""
        return self.arrays[At.AFTER][vectors, columns]

    def move(self, pairs: np.ndarray) -> None:
        """Works out pairs (vector, column), int32 [n, 2]."""
        self._run(entries.move_vectors, ((At.PAIRS, address_of(pairs)), (At.PAIR_COUNT, len(pairs))))

    def walk(self, trie: ByteTrie, class_of: np.ndarray, root: int, nowhere: int, size: int) -> np.ndarray:
        """int32 [size]: the vector of each token of a trie from that of its root; `nowhere` for others."""
        kinds = np.full(size, nowhere, np.int32)
        reached = np.full(trie.deepest + 1, root, np.int32)
        self._run(entries.walk_tokens, (
            (At.NODES, len(trie.byte)), (At.DEEPEST, trie.deepest), (At.KIND_COUNT, size), (At.NOWHERE, nowhere),
            (At.BYTE, address_of(trie.byte)), (At.DEPTH, address_of(trie.depth)), (At.END, address_of(trie.end)),
            (At.TOKEN, address_of(trie.token)), (At.CLASS_OF, address_of(class_of)), (At.REACHED, address_of(reached)),
            (At.KINDS, address_of(kinds)),
        ))  # fmt: skip
        return kinds

    def _run(self, kernel: Callable[[int], int], fields: Iterable[tuple[At, int]]) -> None:
        """To the end. What is found on the way may need moves itself, so fields are set again."""
        words, done = self.words, 0
        words[At.BUDGET] = AT_ONCE
        while True:
            for place, number in fields:
                words[place] = number
            table = self._moved()
            words[At.MOVED], words[At.EFFECTS], words[At.DONE] = address_of(table), table.shape[1], done
            why = kernel(self.address)
            done = int(words[At.DONE])
            if why == ALL_DONE:
                return
            if why == MISSING:
                self._find(int(words[At.MISSING]), int(words[At.MISSING_COLUMN]))
            elif why == FULL:
                self._make_room()
            else:
                self._check()
                words[At.BUDGET] = AT_ONCE
