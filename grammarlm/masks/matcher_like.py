"""A matcher as those see it who say what may come next, or what may stand after it: explain.py, forced.py, canvases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from .automaton import Automaton
from .compiled import Compiled
from .protocol import Epoch
from .trail import Head

Made = TypeVar("Made")


class MatcherLike(Protocol):
    _automaton: Automaton
    _constraint: Compiled
    _head: Head
    _stops: frozenset[int]

    @property
    def is_accepting(self) -> bool: ...

    @property
    def is_finished(self) -> bool: ...

    def advance(self, token: int) -> bool: ...

    def advance_bytes(self, data: bytes) -> bool: ...

    def _made(self, make: Callable[[Epoch, int], Made]) -> Made:
        """Runs something slow at this state, under the lock."""

    def _row(self) -> np.ndarray:
        """The mask row of the next token."""

    def _canonical_row(self) -> np.ndarray | None:
        """All ids that may follow the last token, whatever the grammar says; None where that token is not known."""

    def _probe(self) -> MatcherLike:
        """A temporary fork for one call."""
