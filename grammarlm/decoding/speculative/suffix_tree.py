"""The memory of the suffix drafter: a tree of texts that grows with them up to a bound (kernels/cpu/suffix)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.suffix import CHOICES, DEPTH, LONGEST, OTHER, OWN, ROOT, Field, Merit, Node, SideBranch

SMALLEST = 256  # places of a new tree
SPARE = 4 * DEPTH  # nodes that a token may need at worst, and the end of its text
GROWTH = 1.4  # of the number of nodes, when there is no room for another one
PRIOR = 8.0  # first tokens that the merits at the start are worth


@dataclass(frozen=True)
class Arrays:
    """What the kernels read and write; `facts` has the addresses of the others."""

    facts: np.ndarray  # int64 [Field.LENGTH]
    text: np.ndarray  # int32, a power of two
    nodes: np.ndarray  # int32 [nodes, Node.WIDTH]
    slots: np.ndarray  # int32, a power of two
    cursors: np.ndarray  # int32 [DEPTH, 2]
    address: int  # of the facts

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.facts, self.text, self.nodes, self.slots, self.cursors))


def arrays(places: int, nodes: int, old: Arrays | None = None) -> Arrays:
    """Empty ones, or larger ones with the content of others, whose ring is not full."""
    facts = np.zeros(Field.LENGTH, np.int64) if old is None else old.facts.copy()
    made = [np.zeros(places, np.int32), np.zeros((nodes, Node.WIDTH), np.int32)]
    made.append(np.zeros(1 << (2 * nodes - 1).bit_length(), np.int32))
    made.append(np.zeros((DEPTH, 2), np.int32) if old is None else old.cursors)
    text, table, slots, cursors = made
    if old is None:
        facts[Field.FRESH] = facts[Field.ALIVE] = ROOT + 1
    else:
        text[: len(old.text)], table[: len(old.nodes)] = old.text, old.nodes
    for field, array in zip((Field.TEXT, Field.NODES, Field.SLOTS, Field.CURSORS), made, strict=True):
        facts[field] = entries.address_of(array)
    for field, array in zip((Field.TEXT_SIZE, Field.NODE_ROOM, Field.SLOT_COUNT), made[:3], strict=True):
        facts[field] = len(array)
    address = entries.address_of(facts)
    if old is not None:
        entries.suffix_rehash(address)
    return Arrays(facts, text, table, slots, cursors, address)


class SuffixTree:
    """`most`: places of tokens that are remembered, a power of two; then the oldest ones are forgotten, as many as come."""

    def __init__(self, most: int):
        self.most, self.most_nodes = most, 2 * most + SPARE
        self.arrays = arrays(min(SMALLEST, most), SMALLEST + SPARE)
        self._given = np.empty(64, np.int32)
        self._given_at = entries.address_of(self._given)
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        return self.arrays.nbytes

    def __len__(self) -> int:
        """Places: tokens, and an end for each finished text."""
        return int(self.arrays.facts[Field.LAST] - self.arrays.facts[Field.FIRST])

    def append(self, tokens: Sequence[int]) -> None:
        """The running text goes on. Where there is no room for all of it, only its second half is remembered."""
        done = self._append(tokens)
        if done < len(tokens):
            said = [*self.tokens(), *tokens[done:]]
            self.arrays = arrays(self.most, self.most_nodes)
            self._append(said[-(self.most // 2) :])

    def add(self, text: Sequence[int]) -> None:
        """A finished text, of which the last tokens are remembered."""
        text = text[-(self.most // 2) :]
        with self._lock:
            while len(self) + len(text) + 2 > len(self.arrays.text) < self.most:
                self._resize(2 * len(self.arrays.text), len(self.arrays.nodes))
            is_full = len(self.arrays.nodes) == self.most_nodes
            entries.suffix_forget(self.arrays.address, len(text) + 2, 2 * len(text) + SPARE if is_full else 0)
            self._append(text)
            entries.suffix_end(self.arrays.address)

    def _append(self, tokens: Sequence[int]) -> int:
        """How many of them there is room for, when all has grown that may."""
        count, done = len(tokens), 0
        if count > len(self._given):
            self._given = np.empty(2 * count, np.int32)
            self._given_at = entries.address_of(self._given)
        self._given[:count] = tokens
        while True:
            done += entries.suffix_append(self.arrays.address, self._given_at + 4 * done, count - done)
            if done == count or not self._grow():
                return done

    def _grow(self) -> bool:
        """Makes room where the last append had none; False where that may not be."""
        places, nodes = len(self.arrays.text), len(self.arrays.nodes)
        if len(self) + 2 > places:
            places = min(2 * places, self.most)
        else:
            nodes = min(int(GROWTH * nodes) + SPARE, self.most_nodes)
        if (places, nodes) == (len(self.arrays.text), len(self.arrays.nodes)):
            return False
        self._resize(places, nodes)
        return True

    def _resize(self, places: int, nodes: int) -> None:
        self.arrays = arrays(places, nodes, self.arrays)

    def tokens(self) -> list[int]:
        """All that is remembered, in order; an END after each finished text."""
        facts, text = self.arrays.facts, self.arrays.text
        found: list[int] = text[np.arange(facts[Field.FIRST], facts[Field.LAST]) % len(text)].tolist()
        return found


class Proposals:
    """Continuations of running texts, and how good those of matches of each length have been."""

    def __init__(self) -> None:
        self.merits = np.empty((2, LONGEST + 1, Merit.WIDTH))  # of the tree of finished texts, and of texts' own ones
        lengths = np.arange(LONGEST + 1)
        for tree, (fails, decays) in {OTHER: (1.0, 0.7), OWN: (0.5, 0.4)}.items():
            self.merits[tree, :, Merit.DRAWN] = PRIOR * np.maximum(1 - fails * decays**lengths, 0.05)
        self.merits[:, :, Merit.TRIED] = PRIOR
        self._choices = np.empty((1 + CHOICES, SideBranch.WIDTH))
        self._merits_at = entries.address_of(self.merits)
        self._shape = 0, 0

    def runs(
        self, own: SuffixTree, finished: SuffixTree, length: int, count: int, least: float, most: int | None = None
    ) -> list[list[int]]:
        """At most `count` continuations of the text in `own`, which end where their chance falls below `least`.

        As a tree they have at most `most` nodes: the likeliest.
        """
        mine, others = own.arrays, finished.arrays  # kept while the kernel runs
        if self._shape != (count, length):
            self._make_room(count, length)
        most, millionths = most or length * count, int(1e6 * least)
        found = entries.suffix_propose(mine.address, others.address, *self._addresses, length, count, most, millionths)
        return [run[1 : 1 + run[0]] for run in self._runs[:found].tolist() if run[0]]

    def _make_room(self, count: int, length: int) -> None:
        self._runs = np.empty((max(count, 2), 1 + length), np.int32)
        self._chances = np.empty(self._runs.shape)
        written = self.merits, self._runs, self._chances, self._choices
        self._addresses = [entries.address_of(array) for array in written]
        self._shape = count, length

    def judge(self, own: SuffixTree, token: int) -> None:
        """This token was drawn after the last proposal."""
        entries.suffix_judge(own.arrays.address, self._merits_at, token)
