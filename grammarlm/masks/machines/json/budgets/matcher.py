"""A token budget for JSON texts: the matcher.

Near the end of the budget every token is checked, but not one by one: a kernel groups the tokens by the state that they
lead to (kernels/cpu/json/ends.py; in a string nearly all lead to one), and for each such class completion.py bounds the
number of tokens that end the text from there. Far from the end none of this is needed: budgets/growth.py bounds how much one
token can lengthen the shortest completion, so the number of safe steps is known ahead, and until then masks are the
ordinary ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.filters import greedy
from grammarlm.masks.filters.budget import costs_of
from grammarlm.masks.filters.budgeted import BudgetedMatcher, _ordinary
from grammarlm.masks.filters.canonical_matcher import _CanonicalRows
from grammarlm.masks.machines.json.matcher import JsonMatcher
from grammarlm.masks.mask_array import as_integer
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.protocol import FINISHED, Epoch
from grammarlm.masks.trail import Head

from .growth import growth_of
from .narrow_mask import NarrowMask

if TYPE_CHECKING:
    from grammarlm.masks.constraint import Constraint
    from grammarlm.masks.machines.json.epoch import JsonEpoch

# Tokens left; a plan (tokens that end the text) where the computed completion takes more tokens than are left; how many
# steps are safe, whatever they are.
Budget = tuple[int, "tuple[int, ...] | None", int]


class JsonBudgetedMatcher(BudgetedMatcher, JsonMatcher):
    """A matcher of JSON texts that end, without the stop id, within `max_tokens` tokens."""

    __slots__ = ("_near",)

    def __init__(self, constraint: Constraint, max_tokens: int):
        self._near: tuple[Head, np.ndarray] | None = None  # a head, and its mask
        super().__init__(constraint, max_tokens)
        left = self._start[4][0]
        self._pay((left, None, 0))
        self._pay(self._settled(left))
        self._start = self._head

    def _settled(self, left: int) -> Budget:
        """The budget of this state, with the number of safe steps from here."""
        fewest = self._made(_fewest)
        growth = growth_of(cast("JsonEpoch", self._head[1]))
        safe = max((left - fewest) // (growth + 1), 0)
        return left, None, safe

    # ------------------------------------------------------------------ masks

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """As Matcher's."""
        if self._head[4][2] > 0:
            return JsonMatcher.fill_mask(self, mask, row)
        return Matcher.fill_mask(self, mask, row)

    def _probe(self) -> JsonBudgetedMatcher:
        other = cast(JsonBudgetedMatcher, super()._probe())
        other._near = self._near
        return other

    def _known_row(self) -> np.ndarray | None:
        epoch, state = self._head[1:3]
        return epoch.rows[state]

    def _new_row(self) -> np.ndarray:
        head = self._head
        if self._near is not None and self._near[0] is head:
            return self._near[1]
        bits = self._made(self._narrowed)
        self._near = self._head, bits
        return bits

    def _row(self) -> np.ndarray:
        bits = self._known_row()
        return self._new_row() if bits is None else bits

    def _narrowed(self, epoch: Epoch, state: int) -> np.ndarray:
        left, plan, safe = self._head[4]
        if safe > 0 or state == FINISHED:
            return epoch.row(state)
        row = NarrowMask(cast("JsonEpoch", epoch), left).fill(state)
        plan = costs_of(epoch).plan(epoch, state) if plan is None else plan
        if plan:
            row.view(np.uint8)[plan[0] >> 3] |= 1 << (plan[0] & 7)
        if epoch.accepting[state]:
            row |= epoch.program.facts.stop_row
        return row

    @property
    def is_narrowed(self) -> bool:
        """As BudgetedMatcher's."""
        if self.is_finished or self._head[4][2] > 0:
            return False
        return not np.array_equal(self._new_row(), self._made(_ordinary))

    # ------------------------------------------------------------------ reading

    def advance(self, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        head = self._head
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        left, plan, safe = head[4]
        if safe <= 0 and head[2] != FINISHED and token not in self._stops:
            if not 0 <= token < self._ids or not self._new_row()[token >> 5] >> (token & 31) & 1:
                return False
            head = self._head
        if not super(BudgetedMatcher, self).advance(token):
            return False
        if self._head[2] == FINISHED:
            return True
        if safe > 1:
            self._pay((left - 1, None, safe - 1))
            return True
        try:
            self._pay((left - 1, None, 0))
            if self._made(_fewest) > left - 1:  # only the next token of a plan may lead to that
                plan = self._plan_of(head) if plan is None else plan
                if not plan or plan[0] != token:
                    self._return_to(head)
                    return False
                self._pay((left - 1, plan[1:], 0))
            else:
                self._pay(self._settled(left - 1))
        except LimitExceeded:
            self._return_to(head)
            raise
        return True

    def _plan_of(self, head: Head) -> tuple[int, ...]:
        here, self._head = self._head, head
        try:
            return self._made(_plan)
        finally:
            self._head = here

    def advance_bytes(self, data: bytes) -> bool:
        """Reads any bytes as one step, which costs as many tokens as the longest-match tokenization of the bytes has."""
        head = self._head
        if not super(BudgetedMatcher, self).advance_bytes(data) or self._head is head:
            return self._head is head and self.is_finished and not data
        left = head[4][0]
        if not data:
            self._pay(head[4])
            return True
        left -= greedy.cost(self._automaton.program.vocab, bytes(data))
        try:
            self._pay((left, None, 0))
            if left < 0 or self._made(_fewest) > left:
                self._return_to(head)
                return False
            self._pay(self._settled(left))
        except LimitExceeded:
            self._return_to(head)
            raise
        return True


class CanonicalJsonBudgetedMatcher(_CanonicalRows, JsonBudgetedMatcher):
    """The same, over canonical tokens."""

    __slots__ = ()


def _fewest(epoch: Epoch, state: int) -> int:
    return costs_of(epoch).fewest(epoch, state)


def _plan(epoch: Epoch, state: int) -> tuple[int, ...]:
    return costs_of(epoch).plan(epoch, state)
