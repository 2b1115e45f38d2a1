"""Single tokens that may not stand at a masked position though their class may: each makes a second key like a given one, or too
long a string (lengths.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np

from grammarlm.masks.canvas.json.duplicate_keys.marked_row import NO_TOKENS
from grammarlm.masks.canvas.json.duplicate_keys.objects import Objects
from grammarlm.masks.canvas.json.duplicate_keys.shown import is_shown
from grammarlm.masks.canvas.json.duplicate_keys.spans import Run, all_spans
from grammarlm.masks.canvas.json.duplicate_keys.spelling import spelling_tokens, tokens_inside
from grammarlm.masks.canvas.json.duplicate_keys.witness import Work
from grammarlm.masks.canvas.protocol import MASKED, Passes

from .known_row import JsonRow
from .lengths import Lengths, counted_to

FEW_TRIES = 16  # completions looked at for single tokens of a longer row: what they leave open a commit decides


class Singles:
    """Those of one row that can be completed."""

    def __init__(self, row: JsonRow, passes_of: Callable[[JsonRow], Passes]):
        self._row, self._passes_of = row, passes_of
        self._counting: dict[int, tuple[JsonRow, Passes]] = {}

    # ------------------------------------------------------------------ long strings

    @cached_property
    def _lengths(self) -> Lengths | None:
        """None where characters are counted, or no matter."""
        return self._row.grid.lengths(self._row.tokens, self._row.states)

    def too_long(self, position: int, allowed: np.ndarray) -> np.ndarray:
        """Of some classes at a masked position the tokens that make too long a string."""
        if self._lengths is None or not self._lengths.may_refuse(position):
            return NO_TOKENS
        row = self._row
        return self._lengths.refused(position, allowed, row.classes.of, row.lead_between, self._counted_at)

    def _counted_at(self, position: int, ids: np.ndarray, characters: int) -> np.ndarray:
        """bool: which of some tokens states allow that count so many characters."""
        counted = counted_to(characters)
        if counted not in self._counting:
            row = self._row.of_states(self._row.states._replace(counted=counted))
            self._counting[counted] = row, self._passes_of(row)
        row, passes = self._counting[counted]
        found = row.have_class(position, ids)
        return found if found.all() else passes.classes_at(position)[row.classes.of[ids]]

    # ------------------------------------------------------------------ keys

    def again(self, row: JsonRow, position: int, allowed: np.ndarray, refused: np.ndarray) -> np.ndarray:
        """Of the tokens of some classes at a masked position, without those that are refused, those that spell a given key again,
        with the given tokens beside them, in the same object whatever else is filled in: the row is asked of a completion with
        each. In longer rows only of tokens within a key, and if the last completion has it in the object."""
        suspects = self._suspects(position)
        tokens = suspects[allowed[row.classes.of[suspects]] & ~np.isin(suspects, refused)]
        shown = set(row.grid.shown.of(row.given)[:, position].tolist())
        return np.array(
            [t for t in tokens.tolist() if t not in shown and not is_shown(row, position, t, self._work)], np.int64
        )

    def _suspects(self, position: int) -> np.ndarray:
        vocab, (before, after) = self._row.grid.vocab, self._beside.get(position, (None, None))
        if before is None or after is None or not self._keys:
            return NO_TOKENS
        beside = before.to_its_end(self._is_short), after.from_its_begin(self._is_short)
        if self._is_short:
            return spelling_tokens(vocab, self._keys, *beside)
        return (
            NO_TOKENS if self._last is None else tokens_inside(vocab, self._keys & self._last.beside(position), *beside)
        )

    @cached_property
    def _is_short(self) -> bool:
        return self._row.grid.is_short(self._row.tokens)

    @cached_property
    def _work(self) -> Work:
        return Work() if self._is_short else Work(FEW_TRIES)

    @cached_property
    def _last(self) -> Objects | None:
        """The objects of the last completion, if it is one of this row."""
        grid, given = self._row.grid, self._row.given
        row = grid.latest_read
        return grid.objects(row) if row is not None and ((given == MASKED) | (given == row)).all() else None

    @cached_property
    def _runs(self) -> list[Run]:
        return self._row.grid.runs_of(self._row.tokens)

    @cached_property
    def _beside(self) -> dict[int, tuple[Run, Run]]:
        """By masked position the runs before and after it; none behind a stop id."""
        return {before.end: (before, after) for before, after in pairwise(self._runs)}

    @cached_property
    def _keys(self) -> frozenset[bytes]:
        """That the row gives, or a matcher has read."""
        return frozenset((*(span.key for span in all_spans(self._runs)), *self._row.grid.begun.every_key))
