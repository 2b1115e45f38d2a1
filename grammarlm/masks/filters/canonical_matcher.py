"""Matchers of a constraint that was compiled with canonical_only=True: canonical tokens only, where there is one.

A row is reduced to the tokens that the tokenizer could have produced after the last one (canonical.py); stop ids and
special tokens stay. Where nothing would stay the row is not reduced, and the constraint's report counts it. After bytes
that were read as bytes the last token is not known, so the next row is not reduced either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grammarlm.masks.mask_array import as_integer
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.trail import before

from .budgeted import BudgetedMatcher


def has(row: np.ndarray, token: int) -> bool:
    return bool(row[token >> 5] >> (token & 31) & 1)


class _CanonicalRows:
    """A mixin: stands before Matcher in the bases of a class."""

    __slots__ = ()

    def fill_mask(self: Any, mask: np.ndarray, row: int = 0) -> bool:
        """Writes the mask of the next token into a row; False where every token is allowed, so that nothing need be applied."""
        super().fill_mask(mask, row)  # type: ignore[misc]
        bits = self._canonical(self._mask[row])
        if bits is None:
            self._constraint.report.canonical.rows_left_whole += 1
            bits = self._mask[row]
        self._mask[row] = bits
        return self._everything is None or not np.array_equal(bits, self._everything)

    def _known_row(self: Any) -> None:
        """None: rows are not cached, each is made anew."""
        return None

    def _row(self: Any) -> np.ndarray:
        plain = super()._known_row()  # type: ignore[misc]
        if plain is None:
            plain = super()._row()  # type: ignore[misc]
        narrowed = self._canonical(plain)
        return plain if narrowed is None else narrowed

    def _canonical(self: Any, row: np.ndarray) -> np.ndarray | None:
        """The row without tokens that are not canonical after the last one, None where nothing would stay."""
        kept = self._row_behind()
        if kept is None:
            return row
        narrowed = row & kept
        return narrowed if narrowed.any() else None

    def _row_behind(self: Any) -> np.ndarray | None:
        """All ids that may follow the last token, whatever the grammar says; None where that token is not known."""
        head = self._head
        while head[3] == b"":
            head = before(head)
        step = head[3]
        if head[2] == FINISHED or isinstance(step, bytes):
            return None
        row: np.ndarray = self._constraint._canonical.row(step)
        return row

    def advance(self: Any, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        kept = self._row_behind()
        if kept is not None and 0 <= token < 32 * len(kept) and not has(kept, token) and not has(self._row(), token):
            return False
        read: bool = super().advance(token)  # type: ignore[misc]
        return read


class CanonicalMatcher(_CanonicalRows, Matcher):
    """A Matcher whose tokens are canonical."""

    __slots__ = ()


class CanonicalBudgetedMatcher(_CanonicalRows, BudgetedMatcher):
    """A BudgetedMatcher whose tokens are canonical: those after which the budget is enough."""

    __slots__ = ()
