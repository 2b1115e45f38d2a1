"""A token budget for texts of several parts.

    left   tokens that the text may still take
    rest   tokens that are enough after the end of the part where it stands

Near the end of the budget a row is, of each place, the part's own row with `left - rest` tokens left, and of the tokens that cross
the part's end those whose target needs few enough: they are looked at one by one. Far from the end none of this is needed. A token
lengthens the shortest end within a part by no more than the part's machine says, and one that begins another part leaves no more
than that part's longest way to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol, cast

import numpy as np

from grammarlm.masks.filters.budget import INFINITE, CompletionCosts, costs_of
from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.protocol import FINISHED, Epoch, row_of
from grammarlm.masks.token_facts import pack_ids

from .reader import PartsReader, Place


class PartsEpoch(Epoch, Protocol):
    """What is asked of an epoch of sets of places (epoch.py)."""

    places: list[tuple[Place, ...]]
    reader: PartsReader

    def crossing(self, key: Hashable, place: Place, own: np.ndarray, known: np.ndarray) -> np.ndarray | None: ...


class PartsCosts(CompletionCosts):
    """The costs of one epoch's states."""

    def __init__(self) -> None:
        super().__init__()
        self._growth: dict[int, int | None] = {}
        self._begun: int | None = None

    def fewest(self, epoch: Epoch, state: int) -> int:
        """As CompletionCosts'."""
        if state == FINISHED:
            return 0
        known = self._fewest.get(state)
        if known is None:
            parts = cast(PartsEpoch, epoch)
            known = self._fewest[state] = min(map(parts.program.rests.fewest, parts.places[state]))
        return known

    # ------------------------------------------------------------------ rows

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """As CompletionCosts'."""
        if state == FINISHED or left > self.most_after.get(state, INFINITE):
            return epoch.row(state)
        parts = cast(PartsEpoch, epoch)
        begun_is_near = left <= self._most_begun(parts)
        if not begun_is_near and not any(self._is_near(parts, place, left) for place in parts.places[state]):
            self.most_after[state] = left - 1
            return parts.row(state)
        stops = epoch.program.facts.stop_row
        made, looked_at = np.zeros_like(stops), np.zeros_like(stops)
        for place in parts.places[state]:
            self._add(parts, state, place, left, made, looked_at if begun_is_near else made, looked_at)
        ids = ids_of(looked_at & ~made & ~stops)
        enough = [token for token in ids.tolist() if self._is_enough(parts, state, token, left)]
        made |= pack_ids(np.array(enough, np.int64), len(stops))
        return made & ~stops | stops if epoch.accepting[state] else made & ~stops

    def _add(
        self,
        epoch: PartsEpoch,
        state: int,
        place: Place,
        left: int,
        made: np.ndarray,
        crossing: np.ndarray,
        looked_at: np.ndarray,
    ) -> None:
        """Adds a place's tokens: those that leave enough, those that cross its part's end, and those to look at."""
        part, _, _, tally = place
        if tally.left == 0:
            return
        inner, own = epoch.reader.inside(place, row_of)
        if part in epoch.program.graph.words:
            looked_at |= own
        elif (here := self._left_here(epoch, place, left)) > 0:
            made |= epoch.reader.inside(place, _row_within(here))[1]
        found = epoch.crossing(place if inner.has_table else (state, place), place, own, np.zeros_like(made))
        if found is not None:
            crossing |= found

    def _is_enough(self, epoch: PartsEpoch, state: int, token: int, left: int) -> bool:
        epoch.program.clock.tick()
        after = epoch.after_token(state, token)
        return after > 0 and self.fewest(epoch, after) < left

    @staticmethod
    def _left_here(epoch: PartsEpoch, place: Place, left: int) -> int:
        """Tokens that may still have bytes of the place's part."""
        part, _, _, tally = place
        here = left - epoch.program.rests.after(part, tally)
        return here if tally.left is None else min(here, tally.left)

    # ------------------------------------------------------------------ far from the end

    def _is_near(self, epoch: PartsEpoch, place: Place, left: int) -> bool:
        """May a token within the part leave too few?"""
        growth = self._growth_in(epoch, place[0])
        if growth is not None:
            fewest: int = epoch.program.rests.fewest(place)
            return fewest + growth >= left
        here = self._left_here(epoch, place, left)
        return here <= epoch.reader.inside(place, _most_after(here))[1]

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """As CompletionCosts'."""
        parts = cast(PartsEpoch, epoch)
        most = self._most_begun(parts)
        if state == FINISHED or left <= most:
            return 0
        growths = [self._growth_in(parts, part) for part in range(len(parts.program.automata))]
        known = [growth for growth in growths if growth is not None]
        if len(known) < len(growths):
            return 0
        farthest = max(map(parts.program.rests.fewest, parts.places[state]))
        return max((left - max(farthest, most)) // (max(known) + 1), 0)

    def _growth_in(self, epoch: PartsEpoch, part: int) -> int | None:
        """By how much a token within a part lengthens the shortest end of the text, at most; None where it is not known."""
        if part not in self._growth:
            self._growth[part] = self._find_growth(epoch, part)
        return self._growth[part]

    @staticmethod
    def _find_growth(epoch: PartsEpoch, part: int) -> int | None:
        automaton = epoch.program.automata[part]
        inner, state = automaton.renew(automaton.program.start)
        words = epoch.program.graph.words.get(part)
        if words is not None:
            return max(len(word.encode()) for word in words) + epoch.program.rests.longest_after(part)
        if automaton.program.costs_class is not None:
            growth: int = cast(Any, costs_of(inner)).growth(inner)
            return growth
        return inner.completion_limit(state)

    def _most_begun(self, epoch: PartsEpoch) -> int:
        """Where a token has begun a part, this many are enough for the rest, whatever it has read of it."""
        if self._begun is None:
            program, found = epoch.program, [0]
            for part, automaton in enumerate(program.automata):
                inner, state = automaton.renew(automaton.program.start)
                if program.has_items[part] or not inner.next_bytes(state).any():
                    continue  # no token that has begun before
                growth = self._growth_in(epoch, part)
                own = 0 if part in program.graph.words else costs_of(inner).fewest(inner, state)
                after = program.rests.longest_after(part)
                found.append(INFINITE if growth is None else own + growth + after)
            self._begun = max(found)
        return self._begun


def _most_after(left: int) -> Callable[[Epoch, int], int]:
    """The most tokens that are enough after a token; found with the row of so many."""

    def make(epoch: Epoch, state: int) -> int:
        costs = costs_of(epoch)
        costs.row(epoch, state, left)
        return costs.most_after.get(state, INFINITE)

    return make


def _row_within(left: int) -> Any:
    return lambda epoch, state: costs_of(epoch).row(epoch, state, left)
