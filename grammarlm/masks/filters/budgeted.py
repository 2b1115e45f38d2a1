"""A matcher with a budget of tokens: the text always ends within it.

    m = constraint.matcher(max_tokens=40)      # ValueError where a text may need more

Invariant at each step: the tokens left are enough to end the text. A token is allowed iff the invariant holds after it,
and there is always one: the first token of a plan that ends the text. While the budget is far from used up all this
costs one lookup, and the ordinary row is used (budget.py). Stop ids cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.mask_array import as_integer
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.protocol import FINISHED, Epoch

from . import greedy
from .budget import INFINITE, costs_of

if TYPE_CHECKING:
    from grammarlm.masks.constraint import Constraint

# Tokens left; and a plan, tokens that end the text, stored only where the computed completion now takes more tokens
# than are left.
Budget = tuple[int, "tuple[int, ...] | None"]


class BudgetedMatcher(Matcher):
    """A Matcher whose text ends, without its stop id, within `max_tokens` tokens."""

    __slots__ = ()

    def __init__(self, constraint: Constraint, max_tokens: int):
        super().__init__(constraint)
        max_tokens = as_integer(max_tokens, "matcher(max_tokens) takes a number of tokens")
        needed = self._made(_fewest)
        if max_tokens < needed:
            enough = f"{needed} tokens are" if needed < INFINITE else "no number of tokens that can be told is"
            raise ValueError(
                f"max_tokens={max_tokens} may not be enough for a text of this grammar; {enough} known to be"
            )
        budget: Budget = max_tokens, None
        self._pay(budget)
        self._start = self._head

    def _pay(self, budget: Any) -> None:
        """Stores the budget after the last step, before any fork shares that step."""
        trail, epoch, state, step, _, at = self._head
        trail[at + 2] = budget
        self._head = (trail, epoch, state, step, budget, at)

    # ------------------------------------------------------------------ masks

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """Writes the mask of the next token into a row; False where every token is allowed, so that nothing need be applied."""
        is_needed = super().fill_mask(mask, row)
        if self._known_row() is not None:
            return is_needed
        try:
            bits = self._made(self._narrowed)
        except BaseException:  # fail closed
            self._mask[row] = self._automaton.program.facts.stop_row
            raise
        self._mask[row] = bits
        return self._everything is None or not np.array_equal(bits, self._everything)

    def _known_row(self) -> np.ndarray | None:
        _, epoch, state, _, (left, _), _ = self._head
        return epoch.rows[state] if left > _most_behind(epoch, state) else None

    def _row(self) -> np.ndarray:
        bits = self._known_row()
        return self._made(self._narrowed) if bits is None else bits

    def _narrowed(self, epoch: Epoch, state: int) -> np.ndarray:
        left, plan = self._head[4]
        if state == FINISHED:
            return epoch.row(state)
        costs = costs_of(epoch)
        row = costs.row(epoch, state, left)
        if left <= costs.most_behind[state]:  # a row of our own; the next token of the plan must not be missing in it
            plan = costs.plan(epoch, state) if plan is None else plan
            if plan:
                row.view(np.uint8)[plan[0] >> 3] |= 1 << (plan[0] & 7)
        return row

    @property
    def is_narrowed(self) -> bool:
        """Does the budget forbid a token now that the grammar allows?"""
        if self.is_finished or BudgetedMatcher._known_row(self) is not None:
            return False
        return not np.array_equal(self._made(self._narrowed), self._made(_ordinary))

    # ------------------------------------------------------------------ reading

    def advance(self, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        head = self._head
        if not super().advance(token):
            return False
        after = self._head
        if after[2] == FINISHED:
            return True
        left = head[4][0] - 1
        plan = None
        if left < _most_behind(head[1], head[2]):
            try:
                if self._made(_fewest) > left:
                    plan = self._rest_of_plan(head, after[3], left)
            except LimitExceeded:
                self._return_to(head)
                raise
            if plan is None and self._head is head:
                self._return_to(head)
                return False
        if plan is not None:
            self._head = after
        self._pay((left, plan))
        return True

    def _rest_of_plan(self, head: Any, token: Any, left: int) -> tuple[int, ...] | None:
        """The rest of the plan, where the token is its next one; the head is restored."""
        self._head = head
        plan: tuple[int, ...] = self._made(_plan) if head[4][1] is None else head[4][1]
        self._head = head
        return plan[1:] if plan and plan[0] == token and len(plan) - 1 <= left else None

    def advance_bytes(self, data: bytes) -> bool:
        """Reads any bytes as one step, which costs as many tokens as the longest-match tokenization of the bytes has."""
        head = self._head
        if not super().advance_bytes(data) or self._head is head:
            return self._head is head and self.is_finished and not data
        if not data:
            budget = head[4]
        else:
            left = head[4][0] - greedy.cost(self._automaton.program.vocab, bytes(data))
            try:
                fits = left >= 0 and self._made(_fewest) <= left
            except LimitExceeded:
                self._return_to(head)
                raise
            if not fits:
                self._return_to(head)
                return False
            budget = left, None
        self._pay(budget)
        return True

    @property
    def min_tokens_left(self) -> int:
        """This many tokens are enough to end the text, stop id not counted; never more than the budget has left."""
        if self.is_finished:
            return 0
        plan = self._head[4][1]
        fewest = self._made(_fewest)
        return fewest if plan is None else min(fewest, len(plan))


def _fewest(epoch: Epoch, state: int) -> int:
    return costs_of(epoch).fewest(epoch, state)


def _ordinary(epoch: Epoch, state: int) -> np.ndarray:
    return epoch.row(state)


def _plan(epoch: Epoch, state: int) -> tuple[int, ...]:
    return costs_of(epoch).plan(epoch, state)


def _most_behind(epoch: Epoch, state: int) -> int:
    """`Costs.most_behind` of a state, read without the lock."""
    if state == FINISHED:
        return -1
    return costs_of(epoch).most_behind.get(state, INFINITE)
