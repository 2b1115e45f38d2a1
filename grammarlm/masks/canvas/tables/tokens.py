"""What each token does to all states at once, by one walk of the vocabulary's trie.

The bytes of a token move a **vector**, which has an effect for each state. Tokens with equal vectors are one class. Vectors and
special effects are interned, so each pair of (vector, class of byte) and of (special effect, class of byte) is worked out once.

After a pop the rest of a token goes on from the state to which the symbol below returns, whichever that is: so such a way ends
in a vector, too, that of the rest over all return states. It is `ALL_RETURNS` where nothing of the token is left.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Protocol

import numpy as np

from grammarlm.layout.json_canvas import NONE, POP, PUSH, STEP
from grammarlm.vocab.byte_trie import ByteTrie

from .automaton import ALL_RETURNS, ByteAutomaton, Way
from .vectors import UNKNOWN, Vectors

IDENTITY, NOWHERE = 1, 2  # vectors, beside ALL_RETURNS
Ways = frozenset[Way]


class TrieVocabulary(Protocol):
    """As much of a vocabulary as is walked."""

    @property
    def trie(self) -> ByteTrie: ...

    @property
    def words(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def stop_ids(self) -> tuple[int, ...]: ...

    @property
    def special_ids(self) -> tuple[int, ...]: ...


class TokenEffects:
    """Vectors: int32 [S], effects as in automaton.py."""

    def __init__(self, automaton: ByteAutomaton, max_bytes: int, check: Callable[[], None]):
        self._automaton, self._check = automaton, check
        self._states, self._classes = automaton.next.shape
        here = weakref.proxy(self)  # vectors that hold what owns them would wait for the garbage collector

        def moved_effect(effect: int, column: int) -> None:
            here._moved_effect(effect, column)

        self._vectors = Vectors(self._states, self._classes, max_bytes, check, lambda: here._moved, moved_effect)
        returns = np.full(self._states, NONE, np.int32)
        returns[automaton.returns] = automaton.returns
        identity = np.arange(self._states, dtype=np.int32)
        for vector in (returns, identity, np.full(self._states, NONE, np.int32)):
            self._vectors.add(vector)
        self.effects: list[Ways] = list(automaton.effects)
        self._effect_numbers = {ways: self._states + i for i, ways in enumerate(self.effects)}
        # By class of byte and effect: first the states', then the special effects'; the last is that of NONE.
        self._moved = np.full((self._classes, self._states + len(self.effects) + 256), UNKNOWN, np.int32)
        self._moved[:, : self._states] = automaton.next.T
        self._moved[:, NONE] = NONE

    def of_tokens(self, vocab: TrieVocabulary) -> np.ndarray:
        """int32 [V]: the number of each text token's vector, NOWHERE where no state reads it."""
        trie = vocab.trie
        found = self._vectors.walk(trie, self._automaton.class_of, IDENTITY, NOWHERE, vocab.words * 32 + 1)
        found[trie.twins[:, 0]] = found[trie.twins[:, 1]]
        return found[: vocab.size]

    def of_bytes(self) -> np.ndarray:
        """int32 [256]: the number of the vector of each byte."""
        return self._moved_all(np.full(256, IDENTITY), self._automaton.class_of.astype(np.int64))

    def vector(self, number: int) -> np.ndarray:
        """int32 [S]: what it does to each state."""
        return self._vectors.row(number)

    @property
    def address(self) -> int:
        """Of the vectors' arena (layout/stack_sets.py)."""
        return self._vectors.address

    def _moved_all(self, before: np.ndarray, column: np.ndarray) -> np.ndarray:
        after = self._vectors.known(before, column)
        missing = after == UNKNOWN
        if missing.any():
            pairs = np.unique(before[missing].astype(np.int64) * self._classes + column[missing])
            self._vectors.move(np.stack([pairs // self._classes, pairs % self._classes], 1).astype(np.int32))
            after = self._vectors.known(before, column)
        return after

    def _move(self, vector: int, column: int) -> int:
        """The vector after one more byte."""
        return int(self._moved_all(np.array([vector]), np.array([column]))[0])

    def _moved_effect(self, effect: int, column: int) -> None:
        ways: set[Way] = set()
        for way in self.effects[effect - self._states]:
            ways |= self._moved_way(way, column)
        number = self._effect(frozenset(ways))
        self._moved[column, effect] = number

    def _effect(self, ways: Ways) -> int:
        if not ways:
            return NONE
        if len(ways) == 1:
            (way,) = ways
            if way[0] == STEP:
                return way[1]
        number = self._effect_numbers.get(ways)
        if number is None:
            number = self._effect_numbers[ways] = self._states + len(self.effects)
            self.effects.append(ways)
            if number >= self._moved.shape[1] - 1:
                self._moved[:, NONE] = UNKNOWN
                self._moved = np.concatenate([self._moved, np.full_like(self._moved, UNKNOWN)], 1)
                self._moved[:, NONE] = NONE
        return number

    def ways_of(self, effect: int) -> Ways:
        """The ways of an effect that is not NONE."""
        return frozenset({(STEP, effect)}) if effect < self._states else self.effects[effect - self._states]

    def _moved_way(self, way: Way, column: int) -> set[Way]:
        if way[0] == POP:
            vector = self._move(way[1], column)
            return set() if vector == NOWHERE else {(POP, vector)}
        symbols, state = ((), way[1]) if way[0] == STEP else way[1:]
        entry = int(self._automaton.next[state, column])
        if entry == NONE:
            return set()
        return {_joined(symbols, after) for after in self.ways_of(entry)}


def _joined(symbols: tuple[int, ...], way: Way) -> Way:
    """Symbols pushed before, then what one more byte does."""
    if way[0] == STEP:
        return (PUSH, symbols, way[1]) if symbols else way
    if way[0] == PUSH:
        return PUSH, (*symbols, *way[1]), way[2]
    if not symbols:
        return POP, ALL_RETURNS
    *below, state = symbols
    return (PUSH, tuple(below), state) if below else (STEP, state)
