"""The states of texts whose parts are read one after another (program.py).

A state is the number of a set of places, each a part, a state of its automaton, and what was counted on the way there (turns of
repeats, tokens of a part that may have so many). The set is closed: where a part may end, the beginnings of what follows are in it.

    mask       of each place the part's own row, and the tokens that cross the part's end: those with a prefix that ends
               it here
    a token    read inside each part, and across the ends of parts where it may cross
    bytes      one after another, following every end on the way as well; the tables of borders are not used
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.filters import greedy
from grammarlm.masks.filters.budget import INFINITE, costs_of
from grammarlm.masks.mask_array import allow, ids_of
from grammarlm.masks.protocol import FINISHED, Computed, Epoch, EpochDefaults, StateTerm, row_of
from grammarlm.masks.shared_rows import SharedRows

from .reader import PartsReader, Place

if TYPE_CHECKING:
    from .program import PartsProgram

STATE_BYTES, STEP_BYTES = 400, 150  # approximate sizes of a state, and of a step that is kept
MOST_ROW_BYTES = 16 << 20  # rows that are kept; then all are dropped


class PartsEpoch(EpochDefaults):
    """One epoch of sets of places."""

    address = 0  # no kernel reads it
    has_tags = True

    def __init__(self, program: PartsProgram):
        self.program = program
        self.reader = PartsReader(program)
        self.places: list[tuple[Place, ...]] = [(), ()]
        self.rows: list[np.ndarray | None] = [None, program.facts.stop_row]
        self.accepting = [False, True]
        places = self.places  # not the epoch: it would lead back to itself
        self.terms = Computed(
            lambda state: tuple([(part, epoch.terms[inner], tally) for part, epoch, inner, tally in places[state]])
        )
        self._numbers: dict[frozenset[Place], int] = {}
        self._after: dict[tuple[int, int], int] = {}  # by state and token
        self._made: dict[frozenset[Place], np.ndarray] = {}  # rows, by places whose counts make no difference
        self._shared_rows = SharedRows()
        self._crossings: dict[Hashable, np.ndarray | None] = {}
        self._times_forgotten = 0
        self.is_full = False
        self._room = program.limits.max_bytes // 4
        self._epochs: dict[int, Epoch] = {}  # of each part, as first met
        self.start = self.state_of(program.start)

    def _number(self, places: dict[Place, None]) -> int:
        if not places:
            return DEAD
        key = frozenset(places)
        found = self._numbers.get(key)
        if found is None:
            for part, epoch, _, _ in key:
                if self._epochs.setdefault(part, epoch) is not epoch:
                    self.is_full = True  # places of a part's old epoch keep it alive: move over with the next call
            if STATE_BYTES * len(self.places) > self._room:
                self.is_full = True
                raise LimitExceeded("the texts are too long for limits.max_bytes")
            found = self._numbers[key] = len(self.places)
            self.places.append(tuple(places))
            self.rows.append(None)
            may_end = self.reader.may_end
            self.accepting.append(
                any(epoch.accepting[state] and may_end(part, tally) for part, epoch, state, tally in places)
            )
        return found

    def key(self, state: int) -> Hashable:
        """Equal keys, equal futures, whatever the epoch."""
        return frozenset((part, epoch.key(inner), tally) for part, epoch, inner, tally in self.places[state])

    @property
    def tables(self) -> PartsEpoch:
        return self

    @property
    def nbytes(self) -> int:
        inner = sum(automaton.epoch.nbytes for automaton in self.program.machines)
        own = STATE_BYTES * (len(self.places) + len(self._crossings)) + STEP_BYTES * len(self._after)
        own += STATE_BYTES * len(self._made) + self._shared_rows.nbytes
        return own + self.program.borders.nbytes + inner

    # ------------------------------------------------------------------ masks

    def row(self, state: int) -> np.ndarray:
        if state == FINISHED:
            return self.program.facts.stop_row
        if (known := self.rows[state]) is not None:
            return known
        coarse = self.program.borders.coarse
        places = tuple((part, epoch, inner, coarse(part, tally)) for part, epoch, inner, tally in self.places[state])
        key = frozenset(places)
        made = self._made.get(key)
        if made is None:
            if self._shared_rows.nbytes > min(MOST_ROW_BYTES, self._room):
                self._forget_rows()
            made = self._made[key] = self._shared_rows.shared(self._make_row(places, key))
        row = self._shared_rows.shared(made | self.program.facts.stop_row) if self.accepting[state] else made
        self.rows[state] = row
        return row

    def _forget_rows(self) -> None:
        """They are made again on demand."""
        self._made.clear()
        self._shared_rows.clear()
        for state in range(FINISHED + 1, len(self.rows)):
            self.rows[state] = None

    def _make_row(self, places: tuple[Place, ...], key: Hashable) -> np.ndarray:
        stops = self.program.facts.stop_row
        made = np.zeros(self.program.vocab.words, np.int32)
        open_borders = []
        for place in places:
            left = place[3].left
            if left == 0:
                continue
            epoch, own = self.reader.inside(place, row_of)
            within = own if left is None else self.reader.inside(place, in_time(left))[1]
            made |= within & ~stops
            if epoch.has_table:
                self._add_crossing(place, place, own, made)
            else:
                open_borders.append((place, own))
        for place, own in open_borders:  # what the others allow need not be found again
            self._add_crossing((key, place), place, own, made)
        return made

    def _add_crossing(self, key: Hashable, place: Place, own: np.ndarray, made: np.ndarray) -> None:
        """Adds the tokens that cross the part's end from a place."""
        crossing = self.crossing(key, place, own, made)
        if crossing is not None:
            made |= crossing

    def crossing(self, key: Hashable, place: Place, own: np.ndarray, known: np.ndarray) -> np.ndarray | None:
        """The tokens that cross the part's end from a place, kept under `key`; those in `known` may be left out."""
        borders = self.program.borders
        if self._times_forgotten != borders.times_forgotten or STATE_BYTES * len(self._crossings) > self._room:
            self._crossings.clear()
            self._times_forgotten = borders.times_forgotten
        if key not in self._crossings:
            self._crossings[key] = borders.crossing(place, own, known)
        return self._crossings[key]

    # ------------------------------------------------------------------ reading

    def peek_token(self, address: int, state: int, token: int) -> int:
        """What was read before; everything else is read under the lock."""
        return self._after.get((state, token), -1)

    def after_token(self, state: int, token: int) -> int:
        known = self._after.get((state, token))
        if known is not None:
            return known
        found: dict[Place, None] = {}
        reader, may_cross = self.reader, self.program.borders.may_cross
        data = self.program.text_of(token)
        crossing: list[Place] = []
        for place in self.places[state]:
            reader.after_token(place, token, data, found)
            if may_cross(place[0], token):
                crossing.append(place)
        if crossing:
            found |= reader.read_across(crossing, data)
        after = self._number(reader.thinned(found))
        if STEP_BYTES * len(self._after) > self._room:
            self._after.clear()
        self._after[state, token] = after
        return after

    def after_bytes(self, state: int, data: bytes) -> int:
        if self.program.has_most_tokens:  # bytes count as their longest tokens
            tokens = greedy.cut(self.program.vocab, data)
            here = state
            for token in tokens or ():
                here = self.after_token(here, token)
            if tokens is not None:
                return here
        return self._number(self.reader.read(self.places[state], data))

    def next_bytes(self, state: int) -> np.ndarray:
        """As the protocol's: those that tokens begin with, since near the end of a part's tokens single bytes may be too many."""
        vocab, found = self.program.vocab, np.zeros(256, bool)
        ids = ids_of(self.row(state))
        found[vocab.data[vocab.offsets[ids[self.program.facts.is_text[ids] > 0]]]] = True
        return found

    def special_tokens(self, state: int) -> list[int]:
        """The special tokens that may come next."""
        found: set[int] = set()
        for place in self.places[state]:
            found.update(self.reader.inside(place, lambda epoch, state: epoch.special_tokens(state))[1])
        return sorted(found)

    # ------------------------------------------------------------------ completions

    def completion(self, state: int) -> list[int] | None:
        """Tokens that end the text: a completion of the current part, and the fewest tokens after it."""
        if state == FINISHED:
            return []
        return self.program.rests.plan(self.places[state])

    # ------------------------------------------------------------------ moving to another epoch

    def state_of(self, term: StateTerm) -> int:
        found: dict[Place, None] = {}
        if term is self.program.start:
            self.reader.begin(found)
        else:
            for part, inner, tally in term:
                epoch, state = self.program.automata[part].renew(inner)
                found[part, epoch, state, tally] = None
        return self._number(found)


def in_time(left: int) -> Callable[[Epoch, int], np.ndarray]:
    """The tokens after which a part can be ended with the others of so many."""

    def make(epoch: Epoch, state: int) -> np.ndarray:
        costs = costs_of(epoch)
        row = costs.row(epoch, state, left)
        if left > costs.most_after.get(state, INFINITE):
            return row
        row = row.copy()
        plan = costs.plan(epoch, state)
        if plan:  # the next token of a plan leads nearer to its end, even where another way is known behind it
            allow(row, plan[0])
        return row

    return make
