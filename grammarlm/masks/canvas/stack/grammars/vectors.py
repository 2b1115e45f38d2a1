"""What each token does to all states at once, by one walk of the vocabulary's trie.

The bytes of a token move a **vector**, which has an effect for each state of its **scope**; the scope of tokens has all states, and
for each atom of a border what is left of it. Vectors and effects are interned, so each pair of (vector, class of byte) and of
(effect, class of byte) is worked out once: a vocabulary of 128,000 tokens has 275,000 nodes, but some thousand such pairs.

An effect has threads, and **waits**: (need, vector). Where a thread has to look below what it knows, the rest of the token goes on
from whichever state the symbol revealed there leads to, so a wait ends in a vector, too: that of the rest over the states that may
come then (its **roots**), and no others, or texts that differ elsewhere would be told apart. A wait before the first byte has the
vector that it stands in (`SELF`), so a scope has the states, too, that such waits of its states lead to, while any is alive. Where
one state only may come its name does not matter any more, only its effect (`SOME`). The border of a need is what is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.vocab.vocabulary import Vocabulary

from .borders import DEAD, FREE, SATISFIED, Border
from .bytewise import Bytewise, Need, Thread
from .needs import BELOW, LOOK, SHIFT, Move
from .program_states import LEXER

SELF = -1
IDENTITY, NOWHERE = 0, 1  # vectors; NOWHERE stands for that of any scope in which nothing goes on
UNKNOWN = -1
EVERY_STATE, ONE_STATE = 0, 1  # scopes: that of tokens; that of SOME
SOME = -2  # in place of the only state that may come
Wait = tuple[Need, int]


class Effect(NamedTuple):
    """What has been read leads to. Of the first effects, one a state, nothing has been read."""

    threads: frozenset[Thread] = frozenset()
    waits: frozenset[Wait] = frozenset()


class Scope(NamedTuple):
    """Some states, and after them all that their waits before the first byte lead to."""

    states: np.ndarray  # int64 [n]
    roots: int  # how many of them are first
    place: dict[int, int]  # by state
    identity: int  # the vector of which nothing has been read


class TokenVectors:
    """Vectors: int32 [n], effects of the states of a scope; in that of tokens what is left of atoms follows, [S + A]."""

    def __init__(self, machine: Bytewise, class_of: np.ndarray, max_bytes: int, check: Callable[[], None]):
        self._machine, self._class_of, self._check = machine, class_of, check
        self.states, self.atoms = len(machine.states), len(machine.borders.rows)
        self._columns, size = machine.columns, self.states + self.atoms
        self._most_bytes, self._bytes = max_bytes, 0
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
        self._some_wait_here = False
        self._lasts: dict[tuple[Move, int, int], bool] = {}  # (need without its border, vector): does something go on?
        self._moved = np.full((self._columns, 2 * self.states + 256), UNKNOWN, np.int32)
        self._moved[:, self.none] = self.none
        # What is left of an atom: itself, or one of the two after all atoms.
        left = np.concatenate(
            [machine.borders.rows, np.full((1, self._columns), SATISFIED), np.full((1, self._columns), DEAD)]
        )
        self._left = np.where(left >= 0, left, np.where(left == SATISFIED, self.atoms, self.atoms + 1)).T.astype(
            np.int32
        )
        nowhere = np.concatenate([np.full(self.states, self.none), np.full(self.atoms, self.atoms + 1)])
        self.vectors = [np.arange(size, dtype=np.int32), nowhere.astype(np.int32)]
        self.vectors[IDENTITY][self.states :] -= self.states
        self.scopes = [
            Scope(np.arange(self.states), self.states, {state: state for state in range(self.states)}, IDENTITY),
            Scope(np.array([SOME]), 1, {SOME: 0}, NOWHERE),
        ]
        self._scope_numbers: dict[tuple[int, ...], int] = {}
        self._scope_of = [EVERY_STATE, EVERY_STATE]  # by vector
        self._numbers = {(EVERY_STATE, vector.tobytes()): number for number, vector in enumerate(self.vectors)}
        self._after = np.full((256, self._columns), UNKNOWN, np.int32)
        self._after[NOWHERE] = NOWHERE
        self._narrowed: dict[tuple[int, int], int] = {}
        self._fits: dict[tuple[int, int], int] = {}

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
        """What is left of a border after a token's bytes; None where they do not satisfy it."""
        if not border:
            return FREE
        left = set(self.vectors[vector][[self.states + atom for atom in border]].tolist()) - {self.atoms}
        if self.atoms + 1 in left:
            return None
        rest = frozenset(left)
        return rest if len(rest) < 2 or self._machine.borders.is_alive(rest) else None

    def waits_here(self, effect: int) -> bool:
        """Has it waits before the first byte?"""
        return bool(self._waits_here[effect])

    def wait_here(self, effects: np.ndarray) -> np.ndarray:
        """bool: which of some effects have waits before the first byte?"""
        found: np.ndarray = self._waits_here[effects]
        return found

    def effect(self, vector: int, state: int) -> int:
        """What a vector does to a state of its scope."""
        if vector == NOWHERE:
            return self.none
        return int(self.vectors[vector][self.scopes[self._scope_of[vector]].place[state]])

    # ------------------------------------------------------------------ scopes

    def scope_after(self, need: Need) -> int:
        """The scope of what remains after a need."""
        states = self._machine.states_after(need.move, need.into)
        number = self._scope_numbers.get(states)
        if number is None:
            number = self._scope_numbers[states] = len(self.scopes)
            every = self.closed(states)
            place = {state: at for at, state in enumerate(every)}
            self.scopes.append(Scope(np.array(every, np.int64), len(states), place, NOWHERE))
            identity = self._number(np.array(every, np.int32), number)
            self.scopes[number] = self.scopes[number]._replace(identity=identity)
        return number

    def closed(self, states: Iterable[int]) -> tuple[int, ...]:
        """Some states, then those that their waits before the first byte lead to."""
        machine = self._machine
        found = dict.fromkeys(states)
        waiting = [state for state in found if state != SOME]
        while waiting:
            for need in machine.closure((machine.control(waiting.pop()), ())).needs:
                for state in machine.states_after(need.move, need.into):
                    if state not in found:
                        found[state] = None
                        waiting.append(state)
        return tuple(found)

    def narrowed(self, vector: int, need: Need) -> int:
        """A vector over the scope of what remains after a need."""
        scope = self.scope_after(need)
        if vector == NOWHERE or self._scope_of[vector] == scope:
            return vector
        key = vector, scope
        known = self._narrowed.get(key)
        if known is None:
            place = self.scopes[self._scope_of[vector]].place
            chosen = [place[state] for state in self.scopes[scope].states.tolist()]
            known = self._narrowed[key] = self._number(self._reached(self.vectors[vector][chosen], scope), scope)
        return known

    def _reached(self, effects: np.ndarray, scope: int) -> np.ndarray:
        """Effects without those of states to which no wait of the roots leads any more."""
        here = self.scopes[scope]
        if here.roots == len(here.states):
            return effects
        seen = set(range(here.roots))
        waiting = list(seen)
        while waiting:
            effect = int(effects[waiting.pop()])
            if self._waits_here[effect]:
                for need, vector in self.effects[effect].waits:
                    if vector == SELF:
                        for state in self._machine.states_after(need.move, need.into):
                            if (at := here.place[state]) not in seen:
                                seen.add(at)
                                waiting.append(at)
        kept = np.full_like(effects, self.none)
        kept[list(seen)] = effects[list(seen)]
        return kept

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
        scope = self._scope_of[vector]
        count = len(self.scopes[scope].states)
        effects = self.vectors[vector][:count]
        moved = self._moved[column][effects]
        if np.count_nonzero(moved == UNKNOWN):
            for effect in set(effects[moved == UNKNOWN].tolist()):
                self._move_effect(effect, column)
            moved = self._moved[column][effects]
        if self._some_wait_here:
            moved = self._reached(self._living(moved, scope), scope)
        if scope == EVERY_STATE:
            moved = np.concatenate([moved, self._left[column][self.vectors[vector][count:]]])
        number = self._after[vector, column] = self._number(moved, scope)
        return int(number)

    def _living(self, effects: np.ndarray, scope: int) -> np.ndarray:
        """Effects of a vector without the waits in it after which none of its effects goes on."""
        waiting = self._waits_here[effects]
        if not waiting.any():
            return effects
        for effect in np.unique(effects[waiting]).tolist():
            here = self.effects[effect]
            kept = frozenset(wait for wait in here.waits if wait[1] != SELF or self._goes_on(wait[0], effects, scope))
            if len(kept) < len(here.waits):
                effects = np.where(effects == effect, self._effect(Effect(here.threads, kept)), effects)
        return effects

    def _goes_on(self, need: Need, effects: np.ndarray, scope: int) -> bool:
        """Does one of the effects of a vector go on after a need?"""
        seen, waiting = {need[:2]}, [need[:2]]
        place = self.scopes[scope].place
        while waiting:
            after = effects[[place[state] for state in self._machine.states_after(*waiting.pop())]]
            if self._is_solid[after].any():
                return True
            for effect in set(after[self._waits_here[after]].tolist()):
                for other, _ in self.effects[effect].waits:
                    if other[:2] not in seen:
                        seen.add(other[:2])
                        waiting.append(other[:2])
        return False

    def _number(self, vector: np.ndarray, scope: int) -> int:
        key = scope, vector.tobytes()
        number = self._numbers.get(key)
        if number is None:
            none = (vector[: len(self.scopes[scope].states)] == self.none).all()
            number = NOWHERE if none else len(self.vectors)
            self._numbers[key] = number
            if number == NOWHERE:
                return number
            self._bytes += 2 * vector.nbytes + 200 + 4 * self._columns
            if self._bytes > self._most_bytes:
                raise LimitExceeded(
                    "a canvas: the grammar's tokens do more different things than limits.max_bytes holds"
                )
            self._check()
            self.vectors.append(vector)
            self._scope_of.append(scope)
            if number >= len(self._after):
                self._after = np.concatenate([self._after, np.full_like(self._after, UNKNOWN)])
        return number

    def _move_effect(self, effect: int, column: int) -> None:
        machine, here = self._machine, self.effects[effect]
        threads: set[Thread] = set()
        waits: set[Wait] = set()
        for need, vector in here.waits:
            if (border := machine.borders.after(need.border, column)) is not None:
                after = SELF if vector == SELF else self._fitting(self._move(vector, column), need.move)
                self._wait(need._replace(border=border), after, waits)
        for thread in here.threads:
            closed = machine.closure(thread)
            for control, local in closed.readers:
                after = machine.after(control, column)
                if after != DEAD:
                    self._enter(control, (after, local), threads, waits)
            for need in closed.needs:
                if (border := machine.borders.after(need.border, column)) is not None:
                    after = SELF
                    if effect >= self.states:
                        after = self._fitting(self._move(self._identity(need), column), need.move)
                    self._wait(need._replace(border=border), after, waits)
        self._moved[column, effect] = self._effect(Effect(frozenset(threads), frozenset(waits)))

    def _fitting(self, vector: int, move: Move) -> int:
        """A vector without the waits for terminals that no text has after that of a move."""
        parser = self._machine.parser
        if vector == NOWHERE or parser is None or move[0] not in (SHIFT, BELOW, LOOK) or not 0 <= move[1] < parser.end:
            return vector
        key = vector, move[1]
        known = self._fits.get(key)
        if known is None:
            may_follow, effects = parser.may_follow[move[1]], self.vectors[vector]
            found = effects.copy()
            roots = found[: self.scopes[self._scope_of[vector]].roots]
            for effect in np.unique(roots).tolist():
                here = self.effects[effect]
                kept = frozenset(
                    wait for wait in here.waits if wait[0].move[0] != SHIFT or wait[0].move[1] in may_follow
                )
                if len(kept) < len(here.waits):
                    roots[roots == effect] = self._effect(Effect(here.threads, kept))
            known = self._fits[key] = self._number(found, self._scope_of[vector])
        return known

    def _identity(self, need: Need) -> int:
        return self.scopes[self.scope_after(need)].identity

    def _enter(self, before: int, thread: Thread, threads: set[Thread], waits: set[Wait]) -> None:
        """Adds what a thread after a byte may be."""
        for after, need in self._machine.entered(thread, self._machine.has_shifted(before, thread[0])):
            if after is not None:
                threads.add(after)
            if need is not None:
                waits.add((need, self._identity(need)))

    def _wait(self, need: Need, vector: int, waits: set[Wait]) -> None:
        """Adds a wait after which something may go on."""
        if vector == SELF:
            if self._machine.states_after(need.move, need.into):
                waits.add((need, vector))
        elif vector != NOWHERE:
            scope = self.scopes[self._scope_of[vector]]
            if scope.roots == 1 and need.into not in (LEXER, SOME) and vector != scope.identity:
                effect = int(self.vectors[vector][0])
                if not self._waits_here[effect]:
                    need, vector = need._replace(into=SOME), self._number(np.array([effect], np.int32), ONE_STATE)
            if vector == NOWHERE:  # the one state reads no further, whatever the states that it might have led to do
                return
            key = need.move, need.into, vector
            if key not in self._lasts:
                number = self._scope_of[vector]
                self._lasts[key] = vector == self.scopes[number].identity or self._goes_on(
                    need, self.vectors[vector], number
                )
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
            self._some_wait_here |= any(waits_here)
            if number >= self._moved.shape[1]:
                self._moved = np.concatenate([self._moved, np.full_like(self._moved, UNKNOWN)], 1)
        return number
