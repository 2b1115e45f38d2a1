"""A constraint as an automaton over tokens: states, their masks and their edges in arrays, made on demand.

A state is where a text stands in the constraint, with an exact key (`epoch.key`): equal keys, equal futures. Its mask
is made with the state; the targets of its tokens are found token by token, and until then are MISS. Regular languages
give all their targets at once, and finite automata can be completed: then nothing is MISS.

    automaton = CsrAutomaton(gl.compile(gl.Regex("(a|b)*c"), vocab))
    automaton.complete()                                     # True: every edge is there
    automaton.follow(automaton.start, token)                 # the state after a token, DEAD where it is refused

Grammars with a stack, and JSON schemas, are unrolled as far as texts go: a state then is a whole stack. These states
are infinitely many, so the tables get full; `clear` starts over.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.csr import DEAD, FINISHED, FIRST, MISS
from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.token_facts import pack_ids

from .staying import staying_row
from .tables import CsrTables, Room, TablesFull

if TYPE_CHECKING:
    from grammarlm.masks.constraint import Constraint

MANY = 1024  # tokens; states with more are checked for a default edge
# Words of a row for each token, at most: fewer tokens are listed instead, more get a row that states can share.
LEAST_SHARE = 8
MOST_LISTED = 4096  # exceptions next to a default edge for the tokens that stay
Place = tuple[Epoch, int]  # an epoch of the constraint, and a state there


class CsrAutomaton:
    """States and edges of a constraint, made on demand."""

    def __init__(self, constraint: Constraint, room: Room | None = None):
        if constraint._canonical is not None:
            raise UnsupportedFeature(
                "a device automaton with canonical_only=True: its masks depend on the last token; leave canonical_only out"
            )
        self.constraint = constraint
        self._facts = constraint._automaton.program.facts
        self._matcher = constraint.matcher()
        self._start: Place = self._matcher._head[1:3]
        self.tables = CsrTables(constraint.vocab.words, constraint.vocab.stop_ids, room or Room())
        self.csr, self.patches = self.tables.csr, self.tables.patches
        self.clear()

    def clear(self) -> None:
        """Drops everything but the start."""
        self.tables.clear()
        self._numbers: dict[Hashable, int] = {}
        self._places: list[Place | None] = [None] * FIRST
        self._waiting: dict[Hashable, tuple[Place, list[tuple[int, np.ndarray | None]]]] = {}
        self.start = self.number(self._start)

    @property
    def nbytes(self) -> int:
        """Bytes of the states, edges and rows made so far."""
        return self.tables.nbytes

    def place(self, state: int) -> Place | None:
        """Where a text in this state stands in the constraint; None in DEAD, FINISHED and MISS."""
        return self._places[state]

    def matcher(self, state: int) -> Matcher:
        """A matcher at the place of a text in this state."""
        matcher = self._matcher._probe()
        place = self._places[state]
        if place is None:
            raise ValueError(f"no text stands in the state {state}: it is DEAD, FINISHED or MISS")
        matcher._stand(*place)
        return matcher

    # ------------------------------------------------------------------ edges

    def follow(self, state: int, token: int) -> int:
        """The state after a token, made where it is new; DEAD where the token is refused. TablesFull where there is no room."""
        after = self.place_after(state, token)
        if isinstance(after, int):
            return after
        target = self.number(after)
        self.tables.set_edge(state, token, target)
        return target

    def place_after(self, state: int, token: int) -> Place | int:
        """The place after a token, without making a state; DEAD or FINISHED where there is none."""
        if state < FIRST:
            return FINISHED if state == FINISHED and token in self._facts.stops else DEAD
        matcher = self.matcher(state)
        if not matcher.advance(token):
            return DEAD
        place: Place = matcher._head[1:3]
        return FINISHED if matcher.is_finished else place

    def complete(self) -> bool:
        """Makes all states and edges; False where there is no room for them, or they are infinitely many."""
        try:
            while self._waiting:
                self.number(next(iter(self._waiting.values()))[0])
            state = FIRST
            while state < self.tables.states:
                self._complete_state(state)
                while self._waiting:
                    self.number(next(iter(self._waiting.values()))[0])
                state += 1
        except TablesFull:
            return False
        return True

    @property
    def is_complete(self) -> bool:
        """Is every edge there?"""
        csr, used = self.csr, self.tables.states
        if (csr.default[FIRST:used] == MISS).any():
            return False
        lists = zip(csr.first[FIRST:used].tolist(), csr.count[FIRST:used].tolist(), strict=True)
        return not any((csr.targets[first : first + count] == MISS).any() for first, count in lists)

    def _complete_state(self, state: int) -> None:
        csr = self.csr
        listed = slice(int(csr.first[state]), int(csr.first[state] + csr.count[state]))
        for token in csr.tokens[listed][csr.targets[listed] == MISS].tolist():
            self.follow(state, token)
        if csr.default[state] == MISS:
            for token in ids_of(csr.rows[csr.base[state]]).tolist():
                self.follow(state, token)
            self.tables.set_base(state, 0, DEAD)  # all are listed now

    # ------------------------------------------------------------------ states

    def number(self, place: Place) -> int:
        """The state of a place in the constraint, made where it is new."""
        key = place[0].key(place[1])
        state = self._numbers.get(key)
        if state is None:
            state = self._make(place)
            self._numbers[key] = state
            for other, tokens in self._waiting.pop(key, (None, []))[1]:
                if tokens is None:
                    self.tables.set_default(other, state)
                else:
                    self.tables.set_targets(other, tokens, state)
        return state

    def _make(self, place: Place) -> int:
        matcher = self._matcher._probe()
        matcher._stand(*place)
        row = np.array(matcher._row())
        place = matcher._head[1:3]  # in a new epoch where the old one was full
        stops = np.array(sorted(self._facts.stops) if matcher.is_accepting else [], np.int32)
        ids = ids_of(row & ~self._facts.stop_row).astype(np.int32)
        if len(ids) <= place[0].targets_at_once:
            state = self._with_targets(place, ids, stops)
        else:
            state = self._with_misses(matcher, place, ids, stops)
        self._places.append(place)
        assert len(self._places) == self.tables.states
        return state

    def _with_targets(self, place: Place, ids: np.ndarray, stops: np.ndarray) -> int:
        """A state all of whose targets are known at once; edges to places that are no states yet are recorded, and
        filled in later."""
        epoch, here = place
        after = epoch.targets(here, ids)
        groups = [(epoch.key(target), target, ids[after == target]) for target in np.unique(after).tolist()]
        largest = max(groups, key=lambda g: len(g[2]), default=None)
        base = None if largest is None else self._base_row(largest[2])
        default = None if base is None else largest
        listed = [g for g in groups if g is not default]
        tokens = np.concatenate([stops, *(g[2] for g in listed)])
        known_targets = [self._numbers.get(g[0], MISS) for g in listed]
        targets = np.repeat([FINISHED, *known_targets], [len(stops), *(len(g[2]) for g in listed)]).astype(np.int32)
        order = np.argsort(tokens)
        by_default = DEAD if default is None else self._numbers.get(default[0], MISS)
        state = self.tables.add_state(base or 0, by_default, tokens[order], targets[order])
        for key, target, own in groups:
            if key not in self._numbers:
                self._waiting.setdefault(key, ((epoch, target), []))[1].append(
                    (state, None if default is not None and own is default[2] else own)
                )
        return state

    def _with_misses(self, matcher: Matcher, place: Place, ids: np.ndarray, stops: np.ndarray) -> int:
        """A state whose edges are looked up one by one, except those of the tokens that stay."""
        base, default, words = 0, DEAD, self.constraint.vocab.words
        if len(ids) > MANY:
            stays = self._staying(matcher, place, pack_ids(ids, words))
            if stays is not None:
                others = ids_of(pack_ids(ids, words) & ~stays).astype(np.int32)
                if len(others) <= MOST_LISTED:  # otherwise a row shared with other states takes less
                    base, default, ids = self.tables.add_row(stays), self.tables.states, others
        if default == DEAD and (row := self._base_row(ids)) is not None:
            base, default, ids = row, MISS, ids[:0]
        tokens = np.concatenate([ids, stops])
        targets = np.repeat([MISS, FINISHED], [len(ids), len(stops)]).astype(np.int32)
        order = np.argsort(tokens)
        return self.tables.add_state(base, default, tokens[order], targets[order])

    def _base_row(self, ids: np.ndarray) -> int | None:
        """The base row of some tokens, where there is one or a new one is worth its room; None: list them instead."""
        words, tables = self.constraint.vocab.words, self.tables
        if LEAST_SHARE * len(ids) <= words:
            return None
        bits = pack_ids(ids, words)
        has_room = 4 * tables.rows < 3 * tables.room.rows
        return tables.add_row(bits) if has_room else tables.known_row(bits)

    def _staying(self, matcher: Matcher, place: Place, allowed: np.ndarray) -> np.ndarray | None:
        epoch, here = place
        if epoch.program.reads_whole_tokens or epoch.program.named_texts:
            return None  # a token's bytes alone do not decide where it leads
        with matcher._automaton.lock:
            try:
                row = staying_row(self.constraint.vocab, here, epoch.after_bytes, epoch.key)
            except LimitExceeded:
                return None  # each token is looked up, then
        return None if row is None or (row & ~allowed).any() else row
