"""A matcher of JSON texts: as any other, with a shorter path to the kernel, which every call needs.

There is no table of rows to look into first: the kernel finds the row and adds what depends on the text around it, so
one call writes the mask. A mask's address is cached as long as the caller passes the same array.
"""

from __future__ import annotations

import numpy as np

from grammarlm.layout.json_calls import ADVANCE, FILL, FULL_STORE, NODES
from grammarlm.masks.filters.matcher import FilteredMatcher
from grammarlm.masks.mask_array import as_integer
from grammarlm.masks.matcher import Matcher, checked
from grammarlm.masks.protocol import FINISHED, row_of
from grammarlm.masks.trail import STRIDE

_FILL, _ADVANCE, _NODES = int(FILL), int(ADVANCE), int(NODES)


class JsonMatcher(Matcher):
    """Reads tokens and gives the mask of those that may come next."""

    __slots__ = ()

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """As Matcher's."""
        target = self._target
        if mask is not target[0]:
            target = self._take(mask)
        _, array, rows, address, row_bytes = target
        if type(row) is not int or not 0 <= row < rows:
            row = checked(row, rows)
        _, epoch, state, _, _, _ = self._head
        if state == FINISHED or not row_bytes:
            array[row] = self._row()
            return True
        found = epoch.kernel(_FILL, state, address + row * row_bytes, 0)
        if found:
            self._fill_slowly(array, row, found)
        return self._everything is None or not np.array_equal(array[row], self._everything)

    def _fill_known(self, array: np.ndarray, row: int) -> bool | None:
        """As Matcher's: the kernel says whether something is missing."""
        _, _, _, address, row_bytes = self._target
        _, epoch, state, _, _, _ = self._head
        if state == FINISHED or not row_bytes or epoch.kernel(_FILL, state, address + row * row_bytes, 0):
            return super()._fill_known(array, row)
        return self._everything is None or not np.array_equal(array[row], self._everything)

    def _fill_nodes(self, tokens: list[int], parents: list[int], array: np.ndarray) -> list[bool] | None:
        """As Matcher's: one call of the kernel for all nodes, and no trail."""
        _, _, _, address, row_bytes = self._take(array)
        _, epoch, state, _, _, _ = self._head
        if state == FINISHED or not row_bytes or not self._stops.isdisjoint(tokens):
            return None
        count = len(tokens)
        try:
            facts = np.array([count, address, row_bytes, *tokens, *parents, *[0] * (count + 1)], np.int64)
        except OverflowError:  # a token beyond 64 bits
            return None
        if epoch.kernel(_NODES, state, facts.ctypes.data, 0):
            return None  # something must be made first
        if self._everything is None:
            return [True] * (count + 1)
        return (array[: count + 1] != self._everything).any(axis=1).tolist()

    def _fill_slowly(self, array: np.ndarray, row: int, found: int) -> None:
        try:
            if found == FULL_STORE:  # the mask is right, only its row found no room in the store
                with self._automaton.lock:
                    self._head[1].make_room_for_rows()
                return
            array[row] = self._made(row_of)
        except BaseException:  # fail closed: whatever the error, only stop tokens are allowed
            array[row] = self._automaton.program.facts.stop_row
            raise

    def advance(self, token: int) -> bool:
        """As Matcher's."""
        trail, epoch, state, _, budget, at = self._head
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        if token in self._stops:
            if state == FINISHED or not epoch.accepting[state]:
                return False
            self._step(FINISHED, token, budget)
            return True
        if state == FINISHED:
            return False
        try:
            after = epoch.kernel(_ADVANCE, state, token, 0)
        except OverflowError:  # beyond 64 bits, so beyond the vocabulary
            return False
        if after > 0 and trail is self._own and len(trail) == (at := at + STRIDE):  # as in Matcher.advance
            trail.append(after)
            trail.append(token)
            trail.append(None)
            self._head = (trail, epoch, after, token, None, at)
            return True
        if after < 0:  # something must be made first
            after = self._after(token)
        if not after:
            return False
        self._step(after, token)
        return True


class FilteredJsonMatcher(FilteredMatcher, JsonMatcher):
    """A JsonMatcher with filters. A row near the end of a budget may leave out tokens after which the rest fits, so it
    decides; far from the end the number of safe steps is counted."""

    __slots__ = ()

    def _fill_nodes(self, tokens: list[int], parents: list[int], array: np.ndarray) -> list[bool] | None:
        """As JsonMatcher's, where the budget is safe for as many steps as the tree is deep."""
        budget, depths = self._head[4], [0]
        for parent in parents:
            depths.append(depths[parent + 1] + 1)
        if self._constraint._canonical is not None or (budget is not None and budget[2] <= max(depths)):
            return None
        return JsonMatcher._fill_nodes(self, tokens, parents, array)
