"""Token classes: two tokens are in one class iff they act alike on every control of a view.

Everything between a row of tokens and its logits is done by class: a vocabulary of 128,000 has some hundred of them. Class
NEVER has the ids that stand in no text, class STOP the stop ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.token_facts import pack_ids

NEVER, STOP = 0, 1
FIRST = 2  # the first class of tokens that stand in a text
MOST_LISTED = 1 << 20  # kinds that are told apart by a list of all numbers
MANY = 8  # a class with more than one id for so many words of a row has a row of its own


@dataclass(frozen=True)
class TokenClasses:
    """The class of each id, and the ids of each class."""

    of: np.ndarray  # int32 [V]
    count: int  # K

    @cached_property
    def order(self) -> np.ndarray:
        """int32 [V]: all ids, class by class, ascending within each."""
        return stable_order(self.of).astype(np.int32)

    @cached_property
    def starts(self) -> np.ndarray:
        """int64 [K + 1]: where each class begins in `order`."""
        return np.searchsorted(self.of[self.order], np.arange(self.count + 1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64 [K]: the number of ids of each class."""
        return np.diff(self.starts)

    @cached_property
    def copies(self) -> dict[str, Any]:
        """What devices hold of these classes, by the name of the device."""
        return {}

    def members(self, token_class: int) -> np.ndarray:
        return self.order[self.starts[token_class] : self.starts[token_class + 1]]

    def row(self, allowed: np.ndarray) -> np.ndarray:
        """The mask row of some classes (bool [K])."""
        large, rows = self._large
        words = -(-len(self.of) // 32)
        out = np.empty(words, np.int32)
        entries.load("canvas")
        entries.class_row(
            address_of(allowed),
            self.count,
            address_of(self.order),
            address_of(self.starts),
            address_of(large),
            address_of(rows),
            address_of(out),
            words,
        )
        return out

    @cached_property
    def _large(self) -> tuple[np.ndarray, np.ndarray]:
        """The row of each class that has many ids: its place, int32 [K], -1 for the others; the rows, int32 [n, W]."""
        words = -(-len(self.of) // 32)
        many = np.flatnonzero(self.sizes * MANY > words)
        places = np.full(self.count, -1, np.int32)
        places[many] = np.arange(len(many))
        rows = [pack_ids(self.members(token_class), words) for token_class in many.tolist()]
        return places, np.array(rows, np.int32).reshape(-1, words)

    @property
    def nbytes(self) -> int:
        return 2 * self.of.nbytes + 8 * self.count + self._large[1].nbytes


def stable_order(numbers: np.ndarray) -> np.ndarray:
    """The places of numbers that are not negative, ascending, equal ones as they come."""
    short = (
        numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers
    )  # sorted by digits, in half the time
    return np.argsort(short, kind="stable")


def classes_of(kinds: np.ndarray, stop_ids: tuple[int, ...]) -> tuple[TokenClasses, np.ndarray]:
    """Classes of ids by what they do: `kinds` int [V], 0 for ids that do nothing. Also the kind of each class from FIRST on."""
    most = int(kinds.max(initial=0))
    if most <= MOST_LISTED:
        present = np.zeros(most + 1, bool)
        present[kinds] = True
        found, place_of = np.flatnonzero(present), np.cumsum(present, dtype=np.int32) - 1
        places = place_of[kinds]
    else:
        found, places = np.unique(kinds, return_inverse=True)
    none = int(found[0] == 0)
    of = (places + FIRST - none).astype(np.int32)
    of[kinds == 0] = NEVER
    of[list(stop_ids)] = STOP
    return TokenClasses(of, FIRST + len(found) - none), found[none:]
