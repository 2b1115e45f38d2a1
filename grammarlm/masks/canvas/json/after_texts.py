"""The states that texts lead to, in one lattice: of each text one spelling is followed, of few tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .escapes import EscapeTokens

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.grid import StackGrid

MOST_KEPT = 1 << 14
NOTHING = 0  # in place of a state without stacks


class AfterTexts:
    """The lock of the lattice's sets is held wherever it is used."""

    def __init__(self, lattice: StackGrid, tokens: EscapeTokens):
        assert lattice.bodies is not None
        self._sets, self._bodies, self._tokens = lattice.table.sets, lattice.bodies, tokens
        self._of: np.ndarray = lattice.classes.of
        self._inside: dict[int, int] = {}
        self._stepped: dict[tuple[int, int], int] = {}
        self._generation: object = None

    def renew(self) -> bool:
        """Forgets what it knows where numbers of states mean something else now; True where it does."""
        is_new = self._generation is not self._sets.generation or len(self._stepped) > MOST_KEPT
        if is_new:
            self._generation, self._inside, self._stepped = self._sets.generation, {}, {}
        return is_new

    def read(self, before: int, pieces: Sequence[bytes]) -> int:
        """The state after a text; each second piece is an escape's character, and within a string."""
        for i, piece in enumerate(pieces):
            before = self.through(before, piece, i % 2 == 1) if before else NOTHING
        return before

    def among(self, state: int) -> int:
        """The part of a state that is within strings, between their characters."""
        if state not in self._inside:
            found = self._sets.among(state, self._bodies)
            self._inside[state] = found if self._sets.has_stacks(found) else NOTHING
        return self._inside[state]

    def through(self, state: int, text: bytes, is_inside: bool = False) -> int:
        """The state after a text; `is_inside`: from within strings alone."""
        if is_inside:
            state = self.among(state)
        if not text or not state:
            return state
        spelled = self._tokens.spelled(text)
        if spelled is None:
            return NOTHING
        for token in spelled:
            if state:
                state = self.step(state, int(self._of[token]))
        return state

    def step(self, state: int, token_class: int) -> int:
        """After one token."""
        key = state, token_class
        if key not in self._stepped:
            found = int(self._sets.forward(state, np.array([token_class], np.int32))[1])
            self._stepped[key] = found if self._sets.has_stacks(found) else NOTHING
        return self._stepped[key]
