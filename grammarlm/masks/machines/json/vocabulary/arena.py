"""The arena that all epochs over a vocabulary begin with, and what its entries have in common: arrays, tries, base rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.json import At, Crossing, Spot, Suspended, Trie
from grammarlm.layout.json_calls import BASE
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .remainders import RemainderTrie, wide_nodes

FIRST_CROSSINGS, FIRST_PENDING, FIRST_NOTED = 4096, 4096, 8192
CROSSED = (At.CROSSED, At.CROSS_CAPACITY, int(Crossing.LENGTH))
PENDING = (At.PENDING, At.PENDING_CAPACITY, 5)
NOTED = [(At.CLOSED, At.NOTED_CAPACITY, 3), (At.ESCAPED, At.NOTED_CAPACITY, 3)]


class SharedArena:
    """The arena, and what keeps alive the arrays whose addresses are in it."""

    def __init__(self, vocab: Vocabulary, spots: int):
        """`spots`: the number of states of white space."""
        self.vocab, self.facts, self.width = vocab, token_facts(vocab), vocab.words
        self.arena = np.zeros(At.LENGTH, np.int64)
        self.version = 0  # of the arena that epochs begin with
        self.kept: list[np.ndarray] = []
        self.tries = np.zeros((3 + spots, Trie.LENGTH), np.int64)
        self.bases = np.zeros(2 + 2 * spots, np.int64)
        self.spots = np.zeros((spots, Spot.LENGTH), np.int64)
        # The position of a suspended walk.
        self.suspended = np.zeros(Suspended.STACK + 6 * (self.facts.deepest + 2), np.int64)
        trie = vocab.trie
        self.tries[0, :5] = [len(trie.byte), *(self.keep(a) for a in (trie.byte, trie.depth, trie.end, trie.token))]
        self.tries[0, Trie.WIDE], self.tries[0, Trie.CHILDREN] = (self.keep(a) for a in wide_nodes(trie))

    def keep(self, array: np.ndarray) -> int:
        """The address of an array that stays."""
        self.kept.append(array)
        return int(array.ctypes.data)

    def spelled(self, token: int) -> bytes:
        low, high = self.vocab.offsets[token : token + 2]
        return self.vocab.data[low:high].tobytes()

    def base_row(self, node: int, thread: int, row: np.ndarray) -> np.ndarray:
        """Adds the tokens that a thread can read from a node of the trie on (-1: from its root); returns where the walk met
        the barrier."""
        arena = self.arena.copy()  # a copy, with its own crossings: other threads' calls would overwrite them
        crossed = np.zeros((FIRST_CROSSINGS, Crossing.LENGTH), np.int64)
        while True:
            before = row.copy()
            arena[At.WANTED], arena[At.CROSSED], arena[At.CROSS_CAPACITY] = 0, crossed.ctypes.data, len(crossed)
            count = entries.json_call(arena.ctypes.data, BASE, node, thread, row.ctypes.data)
            if arena[At.WANTED] == 0:
                return crossed[:count]
            row[:] = before
            crossed = np.zeros((2 * len(crossed), Crossing.LENGTH), np.int64)
            self.grow_walks(arena, [PENDING])

    def take_closers(self, row: np.ndarray, crossed: np.ndarray) -> list[tuple[bytes, int, bytes]]:
        """(what remains after the quote, token, what stands before it) of all tokens below the crossings; their bits
        are cleared."""
        trie, found = self.vocab.trie, []
        nothing = self.vocab.words * 32
        for node in crossed[:, Crossing.NODE].tolist():
            depth = int(trie.depth[node])
            for below in range(node, int(trie.end[node])):
                token = int(trie.token[below])
                if token != nothing:
                    text = self.spelled(token)
                    found.append((text[depth:], token, text[: depth - 1]))
                    row[token >> 5] &= ~np.int32(1 << (token & 31)) if token & 31 != 31 else np.int32(0x7FFFFFFF)
        return found

    def add_trie(self, number: int, made: RemainderTrie) -> None:
        keep, trie = self.keep, made.trie
        self.tries[number] = [
            len(trie.byte), keep(trie.byte), keep(trie.depth), keep(trie.end), 0, keep(made.first), keep(made.tokens),
            *map(keep, wide_nodes(trie)),
        ]  # fmt: skip

    def grow_walks(self, arena: np.ndarray | array[int], slots: Iterable[tuple[At, At, int]]) -> None:
        """Doubles the room for what walks record: (array, its capacity, its width). Later epochs begin with it."""
        wanted = {capacity: 2 * int(arena[capacity]) for _, capacity, _ in slots}
        for slot, capacity, width in slots:
            if self.arena[capacity] < wanted[capacity]:
                self.arena[slot] = self.keep(np.zeros((wanted[capacity], width), np.int64))
            arena[slot] = self.arena[slot]
        self.version += 1
        self.suspended[Suspended.SERIAL] = 0  # the suspended walk's notes are in the old arrays: it is dropped
        for _, capacity, _ in slots:
            arena[capacity] = self.arena[capacity] = max(wanted[capacity], int(self.arena[capacity]))
