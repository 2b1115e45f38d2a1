"""A matcher of JSON texts: as any other, with a shorter path to the kernel, which every call needs.

There is no table of rows to look into first: the kernel finds the row and adds what depends on the text around it, so
one call writes the mask. A mask's address is cached as long as the caller passes the same array.
"""

from __future__ import annotations

import numpy as np

from grammarlm.errors import MaskError
from grammarlm.kernels.cpu.json.call import ADVANCE, FILL
from grammarlm.kernels.cpu.json.masks import FULL_STORE
from grammarlm.masks.mask_array import as_integer, as_mask
from grammarlm.masks.matcher import _NO_MASK, Matcher
from grammarlm.masks.protocol import FINISHED, Epoch
from grammarlm.masks.trail import STRIDE

_FILL, _ADVANCE = int(FILL), int(ADVANCE)


class JsonMatcher(Matcher):
    """Reads tokens and gives the mask of those that may come next."""

    __slots__ = ("_row_address", "_row_bytes", "_row_count")

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """As Matcher's."""
        if mask is not self._known_mask:
            self._mask = as_mask(mask, self._words)
            self._known_mask, self._row_count = mask, len(self._mask)
            self._row_address, self._row_bytes = self._mask.ctypes.data, self._mask.strides[0]
            if self._mask.strides[1] != 4:
                self._row_bytes = 0  # rows are not contiguous
        if type(row) is not int:
            row = as_integer(row, "fill_mask(mask, row) takes a row number")
        if not 0 <= row < self._row_count:
            raise MaskError(f"row {row} is beyond the mask: its {self._row_count} rows are 0 to {self._row_count - 1}")
        _, epoch, state, _, _, _ = self._head
        if state == FINISHED or not self._row_bytes:
            self._mask[row] = self._row()
            return True
        found = epoch.kernel(_FILL, state, self._row_address + row * self._row_bytes, 0)
        if found:
            self._fill_slowly(row, found)
        return self._everything is None or not np.array_equal(self._mask[row], self._everything)

    def _probe(self) -> JsonMatcher:
        other = super()._probe()
        other._known_mask = _NO_MASK  # its address is not copied
        return other  # type: ignore[return-value]

    def _fill_slowly(self, row: int, found: int) -> None:
        try:
            if found == FULL_STORE:  # the mask is right, only its row found no room in the store
                with self._automaton.lock:
                    self._head[1].make_room_for_rows()
                return
            self._mask[row] = self._made(_row_of)
        except BaseException:  # fail closed: whatever the error, only stop tokens are allowed
            self._mask[row] = self._automaton.program.facts.stop_row
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


def _row_of(epoch: Epoch, state: int) -> np.ndarray:
    return epoch.row(state)
