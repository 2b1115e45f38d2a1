"""What the states of a schema do not know, decided row by row.

Which states a row needs is seen from its given tokens (grid.py): whether lengths are counted, which keys are tracked. Where keys
are free, and the states complete the row, a completion in which none comes twice is read (verify.py, duplicate_keys/witness.py). A
question that is not decided so is not answered: Undecided, a LimitExceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.json.duplicate_keys.answers import Answer, PlainRow, plain_answer
from grammarlm.masks.canvas.json.duplicate_keys.bounds import Bounds
from grammarlm.masks.canvas.json.duplicate_keys.repeats import Repeats
from grammarlm.masks.canvas.json.duplicate_keys.shown import only_shown
from grammarlm.masks.canvas.json.tables.explored import States
from grammarlm.masks.canvas.protocol import MASKED, Draw
from grammarlm.masks.canvas.stack.passes import StackPasses

from .singles import Singles
from .verify import amended

if TYPE_CHECKING:
    from .grid import JsonGrid

MOST_MARKED = 20_000  # states whose objects marks are followed through: marks make more of them than there may be
NO_TOKENS = np.zeros(0, np.int64)
NO_KEYS = frozenset[bytes]()


class JsonPasses:
    """What is known of one row."""

    def __init__(
        self, grid: JsonGrid, tokens: list[int], states: States, like: JsonPasses | None = None, before: JsonPasses | None = None
    ):  # fmt: skip
        """`like`: passes over a row that differs in one token; else the last row of these states is taken for such. `before`: over
        the canvas' row before."""
        self.grid, self.tokens, self.states = grid, tokens, states
        self._answers: dict[int, Answer] = {}
        self._singles = Singles(self)
        self._older: dict[int, tuple[Answer, frozenset[bytes]]] = {}
        self.lattice = grid.grid(states)
        self.classes: TokenClasses = self.lattice.classes
        self._like = like
        self.previous: JsonPasses | None = None  # of the canvas' row before
        self._before = before if before is not None and self._refines(before) else None
        repeats = self.repeats
        if self._before is not None and repeats is not None and repeats.low is None:
            self.__dict__["repeats"] = repeats = self._new_repeats(None)  # what was kept may be why
        if (self.low if repeats is None else repeats.low) is not None:
            self.is_completable = True
        else:
            self.is_completable = self.inner.is_completable if repeats is None else repeats.most.is_completable
        if self._before is not None:
            self._take(self._before)
        self._before = None
        self._given: dict[int, JsonPasses] = {}
        self._refused: dict[int, np.ndarray] = {}

    def _refines(self, before: JsonPasses) -> bool:
        """Does the row extend that of `before`, and was that completable?"""
        if not before.is_completable or before.states != self.states or before.lattice is not self.lattice:
            return False
        old = before._given_tokens
        return bool(((old == MASKED) | (old == self._given_tokens)).all())

    def _take(self, before: JsonPasses) -> None:
        """What is known of positions in the row before."""
        repeats, added = self.repeats, frozenset[bytes]()
        if repeats is not None:
            added = repeats.keys if repeats.added is None else repeats.added
        older = {position: (answer, keys | added) for position, (answer, keys) in before._older.items()}
        older |= {position: (answer, added) for position, answer in before._answers.items()}
        for position, (answer, keys) in older.items():
            self._older[position] = self._singles.still_known(position, answer), keys

    @cached_property
    def low(self) -> PlainRow | None:
        """The row without completions that have many brackets open at once; None where there is no other, or none is looked for."""
        grid, table = self.grid, self.lattice.table
        if not grid.has_free_keys or table.has_circles:
            return None
        found = PlainRow(self.lattice, self._row, grid.latest_low.get(self.states), grid.height)
        if not found.is_completable:
            return None
        grid.latest_low[self.states] = found
        return found

    @cached_property
    def inner(self) -> StackPasses:
        """The row without marks."""
        grid, like = self.grid, self._like
        found = self.lattice.passes(self._row, grid.latest.get(self.states) if like is None else like.inner)
        if like is None:
            grid.latest[self.states] = found
        return found

    @cached_property
    def _row(self) -> np.ndarray:
        given = self._given_tokens
        return np.where(given == MASKED, MASKED, self.classes.of[given]).astype(np.int32)

    @cached_property
    def _given_tokens(self) -> np.ndarray:
        return np.array(self.tokens, np.int64)

    # ------------------------------------------------------------------ equal keys

    @cached_property
    def repeats(self) -> Repeats | None:
        """The keys that may come twice; None where there are none."""
        may_repeat = self.grid.has_free_keys and not self._has_no_marks
        if not may_repeat:
            return None
        found = self._new_repeats(None if self._before is None else self._before.repeats)
        if not found.twins or self.grid.marked_if_few(self.states, 1) is None:
            return None  # where marks make too many states, _has_no_marks says so from now on
        return found

    @cached_property
    def _bounds(self) -> Bounds:
        assert self.repeats is not None
        return Bounds(self.repeats)

    def _new_repeats(self, like: Repeats | None) -> Repeats:
        return Repeats(self.grid, self.tokens, self.states, self.classes, like)

    @property
    def _has_no_marks(self) -> bool:
        """Are keys that may come twice told apart by completions alone?

        So it is where micro points go round in a circle, as those of some rules beside a schema: then there are no sets of
        stacks to follow marks by. And where there are many states, which marks would make too many.
        """
        table = self.lattice.table
        is_large = table.controls > MOST_MARKED or self.grid.has_no_marks(self.states)
        return self.grid.has_free_keys and (table.has_circles or is_large)

    def has_apart_keys(self) -> bool | None:
        """Has the row a completion in which no key comes twice? None: that is not decided."""
        if self._has_no_marks:
            return None
        return self.repeats is None or self.repeats.is_completable

    def amended(self, row: Sequence[int]) -> JsonPasses:
        return amended(self, row)

    def is_read(self, row: Sequence[int]) -> bool:
        """Does the machine read a row?"""
        text, stops = self.grid.text(row), self.grid.stops
        return all(token in stops for token in row[len(text) :]) and self.grid.reads(text, len(text) < len(row))

    def of_states(self, states: States) -> JsonPasses:
        """Passes over the row, of other states."""
        return JsonPasses(self.grid, self.tokens, states)

    def with_token(self, position: int, token: int) -> JsonPasses:
        """Passes over the row with a token at a masked position."""
        return JsonPasses(self.grid, [*self.tokens[:position], token, *self.tokens[position + 1 :]], self.states, self)

    def refused(self, position: int) -> np.ndarray:
        """See singles.py."""
        if not self.is_completable:
            return NO_TOKENS
        if self.tokens[position] != MASKED:
            return self._without(position).refused(position)
        if position not in self._refused:
            known = self._answer(position)
            again = self._singles.again(position, known) if self.grid.has_free_keys else NO_TOKENS
            self._refused[position] = np.union1d(known.refused, again) if len(again) else known.refused
        return self._refused[position]

    def _answer(self, position: int) -> Answer:
        """What may stand at a masked position of a row that can be completed."""
        known = self._answers.get(position)
        if known is None:
            known = self._found(position)
            if self.grid.is_small and self.grid.has_few_keys:
                known = only_shown(self, position, known)
            self._answers[position] = known
        return known

    def _found(self, position: int) -> Answer:
        repeats, (older, added) = self.repeats, self._older.get(position, (None, NO_KEYS))
        if repeats is None:
            found = plain_answer(self.low, position, older, self.inner.classes_at)
        else:
            if older is not None and self._bounds.holds(older, added):
                return older
            found = self._bounds.answer(position, older)
        if found is older:
            return found
        return self._singles.less(position, found)

    def _without(self, position: int) -> JsonPasses:
        """Passes over the row without a given token."""
        if position not in self._given:
            tokens = [*self.tokens[:position], MASKED, *self.tokens[position + 1 :]]
            known = self.previous
            is_known = known is not None and known.tokens == tokens and known.states == self.states
            self._given[position] = known if known and is_known else JsonPasses(self.grid, tokens, self.states, self)
        return self._given[position]

    # ------------------------------------------------------------------ what a canvas asks

    def classes_at(self, position: int) -> np.ndarray:
        if not self.is_completable:
            return np.zeros(self.classes.count, bool)
        if self.tokens[position] == MASKED:
            return self._answer(position).classes
        known = self.previous
        if known is not None and self._without(position) is known:
            return known.classes_at(position)
        return self.inner.classes_at(position) if self.repeats is None else self.repeats.classes_at(position)

    def have_class(self, position: int, ids: np.ndarray) -> np.ndarray:
        """bool: of which of some ids the class may stand at a masked position. Those of few open brackets are known sooner."""
        if not self.is_completable:
            return np.zeros(len(ids), bool)
        of, found = self.classes.of, np.zeros(len(ids), bool)
        if self.repeats is None:
            if self.low is not None:
                found = self.low.classes_at(position)[of[ids]]
        elif self.repeats.bound is not None:
            found = self.repeats.bound.classes_at(position)[self.repeats.bound.classes.of[ids]]
        return found if found.all() else self.classes_at(position)[of[ids]]

    def lead_between(self, first: int, before: list[int], ids: np.ndarray, after: list[int]) -> np.ndarray:
        """bool: of which of some ids is it known at once that the row can be completed with one of them between these tokens, which
        stand from a position on?"""
        row = self.low if self.repeats is None else self.repeats.bound
        found = np.zeros(len(ids), bool)
        if row is not None:
            of = row.classes.of[ids]
            for token_class in np.unique(of).tolist():
                token = int(ids[of == token_class][0])
                found[of == token_class] = row.leads_on(first, [*before, token, *after])
        return found

    def reads(self, position: int, token_class: int) -> bool:
        return self.inner.reads(position, token_class)

    def best(self, scores: np.ndarray) -> np.ndarray:
        return self.inner.best(scores)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return self.inner.sample(scores, draw)
