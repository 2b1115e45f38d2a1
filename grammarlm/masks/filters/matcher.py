"""A matcher whose rows are narrowed by filters: a budget of tokens, canonical tokens, or both.

    m = constraint.matcher(max_tokens=40)      # ValueError where a text may need more

**Budget.** Invariant at each step: the tokens left are enough to end the text. A token is allowed iff the invariant
holds after it, and there is always one: the first token of a plan that ends the text. While the budget is far from used
up all this costs one lookup, and the ordinary row is used (budget.py). Stop ids cost nothing.

**Canonical tokens** (`compile(canonical_only=True)`): where the grammar has few texts a row is reduced to the tokens of
their encodings (closed.py), elsewhere to those that the tokenizer could have produced after the last one (canonical.py);
stop ids and special tokens stay. Where nothing would stay the row is not reduced, and the constraint's report counts it.
After bytes that were read as bytes the last token is not known, so the next row is not reduced either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.mask_array import allow, as_integer
from grammarlm.masks.matcher import Matcher, checked
from grammarlm.masks.protocol import FINISHED, Epoch, row_of
from grammarlm.masks.trail import Budget, Head, before

from . import greedy
from .budget import INFINITE, costs_of, fewest_of, plan_of

if TYPE_CHECKING:
    from grammarlm.masks.compiled import Compiled


class FilteredMatcher(Matcher):
    """A Matcher whose tokens are canonical, or whose text ends, without its stop id, within `max_tokens` tokens."""

    __slots__ = ()

    def __init__(self, constraint: Compiled, max_tokens: int | None):
        super().__init__(constraint)
        if max_tokens is None:
            return
        left = as_integer(max_tokens, "matcher(max_tokens) takes a number of tokens")
        if not self._is_safe(left):
            needed = self._made(fewest_of)
            if left < needed:
                enough = f"{needed} tokens are" if needed < INFINITE else "no number of tokens is"
                raise ValueError(
                    f"max_tokens={left} may not be enough for a text of this grammar; {enough} known to be"
                )
            self._pay((left, None, 0))
        self._start = self._head

    def _pay(self, budget: Budget) -> None:
        """Stores the budget after the last step, before any fork shares that step."""
        trail, epoch, state, step, _, at = self._head
        trail[at + 2] = budget
        self._head = (trail, epoch, state, step, budget, at)

    @property
    def _counts_safe_steps(self) -> bool:
        """Does the machine know how far a budget lasts?"""
        return self._automaton.program.costs_class is not None

    def _is_safe(self, left: int) -> bool:
        """Stores the budget where it is known to be enough after some steps, whatever they read; False where it is not."""
        if not self._counts_safe_steps:
            return False
        safe = self._made(lambda epoch, state: costs_of(epoch).safe_steps(epoch, state, left))
        if safe > 0:
            self._pay((left, None, safe))
        return safe > 0

    # ------------------------------------------------------------------ masks

    def fill_mask(self, mask: np.ndarray, row: int = 0) -> bool:
        """Writes the mask of the next token into a row; False where every token is allowed, so that nothing need be applied."""
        if self._constraint._canonical is None and (self._head[4][2] > 0 or self._is_far()):
            return super().fill_mask(mask, row)
        _, array, rows, _, _ = self._target if mask is self._target[0] else self._take(mask)
        row = checked(row, rows)
        try:
            bits = self._affordable_row()
        except BaseException:  # fail closed
            array[row] = self._automaton.program.facts.stop_row
            raise
        narrowed = self._canonical_of(bits)
        if narrowed is not None:
            bits = narrowed
        elif report := self._constraint.report.canonical:
            report.rows_left_whole += 1
        array[row] = bits
        return self._everything is None or not np.array_equal(bits, self._everything)

    def _known_row(self) -> np.ndarray | None:
        """None where it is narrowed, too."""
        is_narrowed = self._constraint._canonical is not None or not self._is_far()
        return None if is_narrowed else super()._known_row()

    def _fill_known(self, array: np.ndarray, row: int) -> bool | None:
        if self._constraint._canonical is None and (self._head[4][2] > 0 or self._is_far()):
            return super()._fill_known(array, row)
        return None

    def _row(self) -> np.ndarray:
        bits = self._affordable_row()
        narrowed = self._canonical_of(bits)
        return bits if narrowed is None else narrowed

    # ------------------------------------------------------------------ budget

    def _is_far(self) -> bool:
        """Is every token affordable that the grammar allows?"""
        _, epoch, state, _, budget, _ = self._head
        if budget is None or budget[2] > 0:
            return True
        return bool(budget[0] > (epoch.costs or costs_of(epoch)).most_after.get(state, INFINITE))

    def _affordable_row(self) -> np.ndarray:
        """The row of the grammar and the budget."""
        if self._is_far():
            bits = Matcher._known_row(self)
            return self._new_row() if bits is None else bits
        if self._narrowed is None or self._narrowed[0] is not self._head:
            bits, decides = self._made(self._narrow)
            self._narrowed = self._head, bits, decides
        return self._narrowed[1]

    def _narrow(self, epoch: Epoch, state: int) -> tuple[np.ndarray, bool]:
        """The row, and whether each of its tokens is certain to leave enough."""
        left, plan, _ = self._head[4]
        costs = costs_of(epoch)
        row = costs.row(epoch, state, left)
        if plan is None and costs.rows_decide(epoch) and np.count_nonzero(row):
            return row, True
        if left <= costs.most_after.get(state, INFINITE):  # a row of our own; the plan's next token must not be missing
            plan = costs.plan(epoch, state) if plan is None else plan
            if plan:
                allow(row, plan[0])
        return row, False

    @property
    def is_narrowed(self) -> bool:
        """Does the budget forbid a token now that the grammar allows?"""
        return not self._is_far() and not np.array_equal(self._affordable_row(), self._made(row_of))

    @property
    def min_tokens_left(self) -> int:
        """This many tokens are enough to end the text, stop id not counted; never more than the budget has left."""
        budget = self._head[4]
        if budget is None or self.is_finished:
            return super().min_tokens_left
        fewest = self._made(fewest_of)
        return fewest if budget[1] is None else min(fewest, len(budget[1]))

    # ------------------------------------------------------------------ canonical tokens

    def _canonical_of(self, row: np.ndarray) -> np.ndarray | None:
        """The row without tokens that are not canonical after the last one, None where nothing would stay."""
        canonical = self._canonical_row()
        if canonical is None:
            return row
        narrowed = row & canonical
        return narrowed if narrowed.any() else None

    def _canonical_row(self) -> np.ndarray | None:
        """All ids that may follow the last token, whatever the grammar says; None where that token is not known."""
        canonical = self._constraint._canonical
        if canonical is None:
            return None
        if (kept := self._closed_row()) is not None:
            return kept
        head: Head | None = self._head
        while head is not None and head[3] == b"":
            head = before(head)
        if head is None or head[2] == FINISHED or isinstance(head[3], bytes):
            return None
        return canonical.row(head[3])

    def _closed_row(self) -> np.ndarray | None:
        """The tokens that go on with the encoding of a text; None where the texts are many, or none is written so."""
        if self._constraint._closed is None or self._head[2] == FINISHED:
            return None
        head: Head | None = self._head
        read: list[int | bytes] = []
        while head is not None and head[3] is not None:
            if head[3] != b"":
                read.append(head[3])
            head = before(head)
        return self._constraint._closed.row(reversed(read))

    @property
    def is_accepting(self) -> bool:
        """Is a stop id allowed now? Not where the text is complete, but the tokenizer writes it otherwise."""
        if not super().is_accepting:
            return False
        return self._closed_row() is None or any(has(self._row(), stop) for stop in self._stops)

    # ------------------------------------------------------------------ reading

    def advance(self, token: int) -> bool:
        """Reads one token; False where it is not allowed, and then nothing has changed."""
        if type(token) is not int:
            token = as_integer(token, "advance(token) takes a token id")
        if self._constraint._canonical is not None:
            kept = self._canonical_row()
            if (
                kept is not None
                and 0 <= token < 32 * len(kept)
                and not has(kept, token)
                and not has(self._row(), token)
            ):
                return False
        head = self._head
        if head[4] is None:
            return super().advance(token)
        left, _, safe = head[4]
        is_decided = False
        if safe <= 0 and self._counts_safe_steps and head[2] != FINISHED and token not in self._stops:
            if not 0 <= token < self._ids or not has(self._affordable_row(), token):
                return False
            head = self._head
            is_decided = self._narrowed is not None and self._narrowed[0] is head and self._narrowed[2]
        if not super().advance(token):
            return False
        if self._head[2] == FINISHED:
            return True
        left -= 1
        if safe > 1:
            self._pay((left, None, safe - 1))
            return True
        epoch = head[1]
        try:
            if self._is_safe(left):
                return True
            rest = None
            if (
                not is_decided
                and left < (epoch.costs or costs_of(epoch)).most_after.get(head[2], INFINITE)
                and self._made(fewest_of) > left
            ):
                rest = self._rest_of_plan(head, token, left)  # only the next token of a plan may lead to that
                if rest is None:
                    self._return_to(head)
                    return False
            self._pay((left, rest, 0))
        except LimitExceeded:
            self._return_to(head)
            raise
        return True

    def _rest_of_plan(self, head: Head, token: int, left: int) -> tuple[int, ...] | None:
        """The rest of the plan at a head, where the token is its next one."""
        here, self._head = self._head, head
        try:
            plan = self._made(plan_of) if head[4][1] is None else head[4][1]
        finally:
            self._head = here
        return plan[1:] if plan and plan[0] == token and len(plan) - 1 <= left else None

    def advance_bytes(self, data: bytes) -> bool:
        """Reads any bytes as one step, which costs as many tokens as the longest-match tokenization of the bytes has."""
        head = self._head
        budget = head[4]
        if not super().advance_bytes(data):
            return False
        if budget is None or self._head is head:  # the text had ended, and nothing was read
            return True
        if not data:
            self._pay(budget)
            return True
        left = budget[0] - greedy.cost(self._automaton.program.vocab, bytes(data))
        try:
            if self._is_safe(left):
                return True
            if left < 0 or self._made(fewest_of) > left:
                self._return_to(head)
                return False
            self._pay((left, None, 0))
        except LimitExceeded:
            self._return_to(head)
            raise
        return True


def has(row: np.ndarray, token: int) -> bool:
    return bool(row[token >> 5] >> (token & 31) & 1)
