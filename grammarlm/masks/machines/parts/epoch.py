"""The states of texts whose parts are read one after another (program.py).

A state is the number of a set of places, each a part and a state of its automaton. The set is closed: where a part may
end, the beginnings of what follows are in it.

    mask       of each place the part's own row, and the tokens that cross the part's end: those with a prefix that ends
               it here
    a token    read inside each part, and across the ends of parts where it may cross
    bytes      one after another, following every end on the way as well; the tables of borders are not used
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.layout.table import DEAD
from grammarlm.masks.filters.budget import plan_of
from grammarlm.masks.protocol import FINISHED, Computed, EpochDefaults, StateTerm, row_of

from .reader import PartsReader, Place

if TYPE_CHECKING:
    from .program import PartsProgram

STATE_BYTES = 400  # approximate size of a state


class PartsEpoch(EpochDefaults):
    """One epoch of sets of places."""

    address = 0  # no kernel reads it

    def __init__(self, program: PartsProgram):
        self.program = program
        self.reader = PartsReader(program)
        self.places: list[tuple[Place, ...]] = [(), ()]
        self.rows: list[np.ndarray | None] = [None, program.facts.stop_row]
        self.accepting = [False, True]
        places = self.places  # not the epoch: it would lead back to itself
        self.terms = Computed(lambda state: tuple([(part, epoch.terms[inner]) for part, epoch, inner in places[state]]))
        self._numbers: dict[frozenset[Place], int] = {}
        self._crossings: dict[Hashable, np.ndarray | None] = {}
        self._times_forgotten = 0
        self.is_full = False
        self._room = program.limits.max_bytes // 4
        self._epochs = [automaton.epoch for automaton in program.machines]
        self.start = self.state_of(program.start)

    def _number(self, places: dict[Place, None]) -> int:
        if not places:
            return DEAD
        if any(a.epoch is not e for a, e in zip(self.program.machines, self._epochs, strict=True)):
            self.is_full = True  # places of a part's old epoch keep it alive: move over with the next call
        key = frozenset(places)
        found = self._numbers.get(key)
        if found is None:
            if STATE_BYTES * len(self.places) > self._room:
                self.is_full = True
                raise LimitExceeded("the texts are too long for limits.max_bytes")
            found = self._numbers[key] = len(self.places)
            lasts = self.program.graph.lasts
            self.places.append(tuple(places))
            self.rows.append(None)
            self.accepting.append(any(part in lasts and epoch.accepting[state] for part, epoch, state in places))
        return found

    def key(self, state: int) -> Hashable:
        """Equal keys, equal futures, whatever the epoch."""
        return frozenset((part, epoch.key(inner)) for part, epoch, inner in self.places[state])

    @property
    def tables(self) -> PartsEpoch:
        return self

    @property
    def nbytes(self) -> int:
        inner = sum(automaton.epoch.nbytes for automaton in self.program.machines)
        own = STATE_BYTES * (len(self.places) + len(self._crossings))
        return own + self.program.borders.nbytes + inner

    # ------------------------------------------------------------------ masks

    def row(self, state: int) -> np.ndarray:
        if state == FINISHED:
            return self.program.facts.stop_row
        stops = self.program.facts.stop_row
        made = np.zeros(self.program.vocab.words, np.int32)
        open_borders = []
        for place in self.places[state]:
            epoch, own = self.reader.inside(place, row_of)
            made |= own & ~stops
            if epoch.has_table:
                self._add_crossing(place, place, own, made)
            else:
                open_borders.append((place, own))
        for place, own in open_borders:  # what the others allow need not be found again
            self._add_crossing((state, place), place, own, made)
        return made | stops if self.accepting[state] else made

    def _add_crossing(self, key: Hashable, place: Place, own: np.ndarray, made: np.ndarray) -> None:
        """Adds the tokens that cross the part's end from a place."""
        borders = self.program.borders
        if self._times_forgotten != borders.times_forgotten or STATE_BYTES * len(self._crossings) > self._room:
            self._crossings.clear()
            self._times_forgotten = borders.times_forgotten
        if key not in self._crossings:
            self._crossings[key] = borders.crossing(place, own, made)
        crossing = self._crossings[key]
        if crossing is not None:
            made |= crossing

    # ------------------------------------------------------------------ reading

    def peek_token(self, address: int, state: int, token: int) -> int:
        return -1  # everything is read under the lock

    def after_token(self, state: int, token: int) -> int:
        found: dict[Place, None] = {}
        reader, may_cross = self.reader, self.program.borders.may_cross
        crossing: list[Place] = []
        for place in self.places[state]:
            epoch, after = reader.inside(place, lambda epoch, state: epoch.after_token(state, token))
            if after:
                reader.land(place[0], epoch, after, found)
            if may_cross(place[0], token):
                crossing.append(place)
        if crossing:
            found |= reader.read_across(crossing, self.program.text_of(token))
        return self._number(reader.thinned(found))

    def after_bytes(self, state: int, data: bytes) -> int:
        return self._number(self.reader.read(self.places[state], data))

    def special_tokens(self, state: int) -> list[int]:
        """The special tokens that may come next."""
        found: set[int] = set()
        for place in self.places[state]:
            found.update(self.reader.inside(place, lambda epoch, state: epoch.special_tokens(state))[1])
        return sorted(found)

    # ------------------------------------------------------------------ completions

    def completion(self, state: int) -> list[int]:
        """Tokens that end the text: a completion of the current part, and the fewest tokens after it."""
        if state == FINISHED:
            return []
        ends = [
            [*self.reader.inside(place, plan_of)[1], *rest]
            for place in self.places[state]
            if (rest := self.rests[place[0]]) is not None
        ]
        return min(ends, key=lambda end: (len(end), end))

    @cached_property
    def rests(self) -> list[list[int] | None]:
        """For each part the fewest tokens after its end."""
        program = self.program
        if any(automaton.program.costs_class for automaton in program.machines):
            raise UnsupportedFeature(
                "a budget of tokens (matcher(max_tokens=...), min_tokens_left) is not supported for a JsonSchema beside other "
                "grammars yet; leave it out"
            )
        plans = [plan_of(a.epoch, a.epoch.state_of(a.program.start)) for a in program.automata]
        rests: list[list[int] | None] = [[] if part in program.graph.lasts else None for part in range(len(plans))]
        # Bellman-Ford: a part's rest is final after as many rounds as there are parts on the way to the end.
        for _ in plans:
            for part, follow in enumerate(program.graph.follow):
                ways = [[*plans[f], *rest] for f in follow if (rest := rests[f]) is not None]
                rests[part] = min([*ways, *([] if (own := rests[part]) is None else [own])], key=len, default=None)
        return rests

    # ------------------------------------------------------------------ moving to another epoch

    def state_of(self, term: StateTerm) -> int:
        found: dict[Place, None] = {}
        if term is self.program.start:
            self.reader.enter(self.program.graph.firsts, found)
        else:
            for part, inner in term:
                epoch, state = self.program.automata[part].renew(inner)
                found[part, epoch, state] = None
        return self._number(found)
