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
from grammarlm.masks.canvas.json.duplicate_keys.spelling import spelling_tokens
from grammarlm.masks.canvas.json.duplicate_keys.witness import Work
from grammarlm.masks.canvas.protocol import MASKED, Passes

from .known_row import JsonRow
from .lengths import Lengths, counted_to

FEW_TRIES = 64  # completions looked at for single tokens of a longer row: what they leave open a commit decides


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
        each. In longer rows only if the last completion has the key in the object."""
        suspects = self._spelling(position, None if self._is_short else self._last)
        tokens = suspects[allowed[row.classes.of[suspects]] & ~np.isin(suspects, refused)]
        if not len(tokens):
            return NO_TOKENS
        shown = set(row.grid.shown.of(row.given)[:, position].tolist())
        return np.array(
            [t for t in tokens.tolist() if t not in shown and not is_shown(row, position, t, self._work)], np.int64
        )

    @cached_property
    def _is_short(self) -> bool:
        return self._row.grid.is_short(self._row.tokens)

    @cached_property
    def _work(self) -> Work:
        return Work() if self._is_short else Work(FEW_TRIES, is_brief=True)

    @cached_property
    def _last(self) -> Objects | None:
        """The objects of the last completion, if it is one of this row."""
        grid, given = self._row.grid, self._row.tokens
        row = grid.latest_read
        is_one = row is not None and all(token in (MASKED, other) for token, other in zip(given, row, strict=True))
        return grid.objects(row) if row is not None and is_one else None

    def _spelling(self, position: int, last: Objects | None) -> np.ndarray:
        """The tokens that spell a key of the row again: only those that `last` has in the object. In longer rows a quote of it is
        theirs or given: where it may be masked, another token there makes another key of it, unless there is no other."""
        before, after = self._beside.get(position, (None, None))
        if before is None or after is None or not (self._is_short or last):
            return NO_TOKENS
        spelling = spelling_tokens(self._row.grid.vocab)
        keys = self._keys if last is None else self._keys & last.beside(position)
        found = spelling.of(keys, before.begins(self._is_short), after.ends(self._is_short)) if keys else []
        tokens = {token for _, groups in found for group in groups for token in group}
        tokens.update(spelling.two_keys.tolist() if after.starts and self._is_short else ())
        return np.array(sorted(tokens), np.int64)

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
