"""What each token does to all states at once, by one walk of the vocabulary's trie.

The bytes of a token move a **vector**, which has an effect for each state, and for each atom of a border what is left of it.
Vectors and effects are interned, so each pair of (vector, class of byte) and of (effect, class of byte) is worked out once: a
vocabulary of 128,000 tokens has 275,000 nodes, but some thousand such pairs.

An effect has threads, and **waits**: (need, vector). Where a thread has to look below what it knows, the rest of the token goes on
from whichever state the symbol revealed there leads to, so a wait ends in a vector, too: that of the rest over all states. A wait
before the first byte has the vector that it stands in (`SELF`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.vocab.vocabulary import Vocabulary

from .bytewise import DEAD, FREE, SATISFIED, UNDECIDED, Border, Bytewise, Need, Thread
from .needs import Move

SELF = -1
IDENTITY, NOWHERE = 0, 1  # vectors
UNKNOWN = -1
Wait = tuple[Need, int]


class Effect(NamedTuple):
    """What has been read leads to. Of the first effects, one a state, nothing has been read."""

    threads: frozenset[Thread] = frozenset()
    waits: frozenset[Wait] = frozenset()


class TokenVectors:
    """Vectors: int32 [S + A], effects of states, then what is left of atoms."""

    def __init__(self, machine: Bytewise, class_of: np.ndarray, max_bytes: int, check: Callable[[], None]):
        self._machine, self._class_of, self._check = machine, class_of, check
        self.states, self.atoms = len(machine.states), len(machine.atom_rows)
        self._columns, size = machine.columns, self.states + self.atoms
        self._most = max(2, max_bytes // (4 * size + 100))
        self.none = self.states  # the effect without anything
        self.effects = [
            Effect(frozenset([(machine.control(state), ())]) if state < self.states else frozenset())
            for state in range(self.states + 1)
        ]
        self._effect_numbers = {self.effects[self.none]: self.none}
        # By effect: does it go on whatever the other effects of its vector are; has it waits before the first byte?
        self._is_solid = np.zeros(2 * self.states + 256, bool)
        self._waits_here = np.zeros_like(self._is_solid)
        self._is_solid[: self.states] = True
        self._lasts: dict[tuple[Move, int, int], bool] = {}  # (need without its border, vector): does something go on?
        self._moved = np.full((self._columns, 2 * self.states + 256), UNKNOWN, np.int32)
        self._moved[:, self.none] = self.none
        # What is left of an atom: itself, or one of the two after all atoms.
        left = np.concatenate(
            [machine.atom_rows, np.full((1, self._columns), SATISFIED), np.full((1, self._columns), DEAD)]
        )
        self._left = np.where(left >= 0, left, np.where(left == SATISFIED, self.atoms, self.atoms + 1)).T.astype(
            np.int32
        )
        nowhere = np.concatenate([np.full(self.states, self.none), np.full(self.atoms, self.atoms + 1)])
        self.vectors = [np.arange(size, dtype=np.int32), nowhere.astype(np.int32)]
        self.vectors[IDENTITY][self.states :] -= self.states
        self._numbers = {vector.tobytes(): number for number, vector in enumerate(self.vectors)}
        self._after = np.full((256, self._columns), UNKNOWN, np.int32)
        self._after[NOWHERE] = NOWHERE

    def of_tokens(self, vocab: Vocabulary) -> np.ndarray:
        """int32 [V]: the number of each text token's vector, NOWHERE where no state reads it."""
        trie = vocab.trie
        found = np.full(vocab.words * 32 + 1, NOWHERE, np.int32)
        reached = np.full(len(trie.byte) + 1, NOWHERE, np.int32)
        reached[-1] = IDENTITY  # the root, whose number is -1
        for level in trie.levels:
            before = reached[trie.parent[level]]
            alive = before != NOWHERE
            nodes, before = level[alive], before[alive]
            if not len(nodes):
                break
            self._check()
            reached[nodes] = self._moved_all(before, self._class_of[trie.byte[nodes]])
        found[trie.token] = reached[:-1]
        found[trie.twins[:, 0]] = found[trie.twins[:, 1]]
        return found[: vocab.size]

    def after_border(self, border: Border, vector: int) -> Border | None:
        """What is left of a border after a vector's bytes; None where they do not satisfy it."""
        if not border:
            return FREE
        left = set(self.vectors[vector][[self.states + atom for atom in border]].tolist()) - {self.atoms}
        if self.atoms + 1 in left:
            return None
        rest = frozenset(left)
        return rest if len(rest) < 2 or self._machine.is_alive(rest) else None

    # ------------------------------------------------------------------ one byte

    def _moved_all(self, before: np.ndarray, column: np.ndarray) -> np.ndarray:
        after = self._after[before, column]
        missing = after == UNKNOWN
        if missing.any():
            for pair in np.unique(before[missing].astype(np.int64) * self._columns + column[missing]).tolist():
                self._move(*divmod(pair, self._columns))
            after = self._after[before, column]
        return after

    def _move(self, vector: int, column: int) -> int:
        """The vector after one more byte."""
        known = int(self._after[vector, column])
        if known != UNKNOWN:
            return known
        effects, atoms = self.vectors[vector][: self.states], self.vectors[vector][self.states :]
        moved = self._moved[column].take(effects)
        if len(moved) and moved.min() == UNKNOWN:
            for effect in set(effects[moved == UNKNOWN].tolist()):
                self._move_effect(effect, column)
            moved = self._moved[column].take(effects)
        left = self._left[column].take(atoms)
        number = self._after[vector, column] = self._number(np.concatenate([self._living(moved), left]))
        return int(number)

    def _living(self, effects: np.ndarray) -> np.ndarray:
        """Effects of a vector without the waits in it after which none of its effects goes on."""
        for effect in np.unique(effects[self._waits_here[effects]]).tolist():
            here = self.effects[effect]
            kept = frozenset(wait for wait in here.waits if wait[1] != SELF or self._goes_on(wait[0], effects))
            if len(kept) < len(here.waits):
                effects = np.where(effects == effect, self._effect(Effect(here.threads, kept)), effects)
        return effects

    def _goes_on(self, need: Need, effects: np.ndarray) -> bool:
        """Does one of the effects of a vector go on after a need?"""
        seen, waiting = {need[:2]}, [need[:2]]
        while waiting:
            after = effects[list(self._machine.states_after(*waiting.pop()))]
            if self._is_solid[after].any():
                return True
            for effect in set(after[self._waits_here[after]].tolist()):
                for other, _ in self.effects[effect].waits:
                    if other[:2] not in seen:
                        seen.add(other[:2])
                        waiting.append(other[:2])
        return False

    def _number(self, vector: np.ndarray) -> int:
        key = vector.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = NOWHERE if (vector[: self.states] == self.none).all() else len(self.vectors)
            self._numbers[key] = number
            if number == NOWHERE:
                return number
            if number >= self._most:
                raise LimitExceeded(
                    "a canvas: the grammar's tokens do more different things than limits.max_bytes holds"
                )
            self._check()
            self.vectors.append(vector)
            if number >= len(self._after):
                self._after = np.concatenate([self._after, np.full_like(self._after, UNKNOWN)])
        return number

    def _move_effect(self, effect: int, column: int) -> None:
        machine, here = self._machine, self.effects[effect]
        threads: set[Thread] = set()
        waits: set[Wait] = set()
        for need, vector in here.waits:
            self._wait(need, SELF if vector == SELF else self._move(vector, column), waits)
        for thread in here.threads:
            closed = machine.closure(thread)
            for control, local in closed.readers:
                after = machine.after(control, column)
                if after != DEAD:
                    self._enter(control, (after, local), threads, waits)
            for need in closed.needs:
                self._wait(need, SELF if effect < self.states else self._move(IDENTITY, column), waits)
        self._moved[column, effect] = self._effect(Effect(frozenset(threads), frozenset(waits)))

    def _enter(self, before: int, thread: Thread, threads: set[Thread], waits: set[Wait]) -> None:
        """Adds a thread after a byte; where that byte decides which terminal the lexeme will be, it is shifted there and then."""
        machine, (control, local) = self._machine, thread
        terminal = machine.decided(before, control)
        if terminal == UNDECIDED:
            threads.add(thread)
            return
        state, border = machine.controls[control]
        for after, need in machine.shifts(local, terminal, state, border):
            if after is not None:
                threads.add(after)
            if need is not None:
                waits.add((need, IDENTITY))

    def _wait(self, need: Need, vector: int, waits: set[Wait]) -> None:
        """Adds a wait after which something may go on."""
        if vector == SELF:
            if self._machine.states_after(need.move, need.into):
                waits.add((need, vector))
        elif vector != NOWHERE and self.after_border(need.border, vector) is not None:
            key = need.move, need.into, vector
            if key not in self._lasts:
                self._lasts[key] = vector == IDENTITY or self._goes_on(need, self.vectors[vector])
            if self._lasts[key]:
                waits.add((need, vector))

    def _effect(self, effect: Effect) -> int:
        number = self._effect_numbers.get(effect)
        if number is None:
            number = self._effect_numbers[effect] = len(self.effects)
            self.effects.append(effect)
            if number >= len(self._is_solid):
                self._is_solid = np.concatenate([self._is_solid, np.zeros_like(self._is_solid)])
                self._waits_here = np.concatenate([self._waits_here, np.zeros_like(self._waits_here)])
            waits_here = [vector == SELF for _, vector in effect.waits]
            self._is_solid[number] = bool(effect.threads) or not all(waits_here)
            self._waits_here[number] = any(waits_here)
            if number >= self._moved.shape[1]:
                self._moved = np.concatenate([self._moved, np.full_like(self._moved, UNKNOWN)], 1)
        return number
