"""How many tokens are enough to end a text, from each state of an epoch: what a budget is reckoned with.

The machine says how the text can end (`epoch.completion(state)`, bytes), the vocabulary cuts that into its longest tokens, and
their number is U, the *fewest* tokens that are known to be enough. It is a bound that can be kept, not the minimum: another end
may be longer in bytes and shorter in tokens. Where the vocabulary lacks tokens for some of the bytes, the tokens that end the
text are searched, breadth first.

A budget of `left` tokens allows a token iff U behind it is below `left`. That is asked token by token only near the end: a state
whose every token leads to a U below `left` has its ordinary row, and a bound for that is known per state (`most_behind`): first
from the machine (`epoch.completion_limit(state)`, the bytes that no completion behind a token exceeds), later from the tokens
themselves.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ..errors import LimitExceeded
from . import greedy
from .mask_array import ids_of

INFINITE = 1 << 62  # more tokens than any budget: the end is too far to be written down


class Costs:
    """What is known about one epoch's states. All methods run under the automaton's lock; `most_behind` is read without it."""

    def __init__(self) -> None:
        self._fewest: dict[int, int] = {}
        self._falling: dict[int, int] = {}  # the same, or what is left of a plan from before, where that is less
        self.most_behind: dict[int, int] = {}  # at least U behind each token of the state

    def fewest(self, epoch: Any, state: int) -> int:
        """So many tokens are enough to end the text, INFINITE where they are too many to be written down."""
        known = self._fewest.get(state)
        if known is None:
            plan = _plan(epoch, state)
            known = self._fewest[state] = INFINITE if plan is None else len(plan)
        return known

    def falling(self, epoch: Any, state: int) -> int:
        """Likewise, and behind the first of those tokens it is less: another text may be the nearest end there, and take more."""
        known = self._falling.get(state)
        if known is not None:
            return known
        plan = _plan(epoch, state)
        if plan is None:
            return INFINITE
        here, rest = state, tuple(plan)
        self._falling[state] = len(plan)
        while len(rest) > 1:
            here, rest = epoch.after_token(here, rest[0]), rest[1:]
            enough = self._falling.get(here)
            if (self.fewest(epoch, here) if enough is None else enough) <= len(rest):
                break
            self._falling[here] = len(rest)
        return len(plan)

    def plan(self, epoch: Any, state: int) -> tuple[int, ...]:
        """Tokens that end the text, as many as `fewest` says."""
        plan = _plan(epoch, state)
        if plan is None:
            raise LimitExceeded("no end of the text is known, or the shortest is too long to be written down")
        return tuple(plan)

    def row(self, epoch: Any, state: int, left: int) -> np.ndarray:
        """The mask row of a state with so many tokens left: those behind which the rest is enough."""
        if state not in self.most_behind:
            self.most_behind[state] = _limit(epoch, state)
        if left > self.most_behind[state]:
            return epoch.row(state)
        ids, behind = tokens_and_targets(epoch, state)
        enough = np.zeros(int(behind.max(initial=0)) + 1, np.int64)
        enough[behind] = 1
        for target in np.flatnonzero(enough).tolist():
            enough[target] = self.fewest(epoch, target)
        needed = enough[behind]
        self.most_behind[state] = int(needed.max(initial=0))
        if left > self.most_behind[state]:
            return epoch.row(state)
        facts = epoch.program.facts
        row = _packed(ids[needed < left], len(facts.stop_row))
        return row | facts.stop_row if epoch.accepting[state] else row


def costs_of(epoch: Any) -> Costs:
    """The epoch's costs, which live as long as it does."""
    try:
        return epoch.costs
    except AttributeError:
        epoch.costs = Costs()
        return epoch.costs


def tokens_and_targets(epoch: Any, state: int) -> tuple[np.ndarray, np.ndarray]:
    """The allowed tokens, stop ids left out, and the state behind each."""
    row = epoch.row(state)
    ids = ids_of(row & ~epoch.program.facts.stop_row if epoch.accepting[state] else row)
    if hasattr(epoch, "targets"):
        return ids, epoch.targets(state)[ids]
    return ids, np.fromiter((epoch.after_token(state, token) for token in ids.tolist()), np.int64, len(ids))


def _limit(epoch: Any, state: int) -> int:
    """What the machine knows of U behind each token: its bytes are a bound where each of them is a token."""
    limit = None
    if epoch.program.tokens_spell_all and hasattr(epoch, "completion_limit"):
        limit = epoch.completion_limit(state)
    return INFINITE if limit is None else limit


def _plan(epoch: Any, state: int) -> list[int] | None:
    """Tokens that end the text from here; None where they are too many to be written down."""
    epoch.program.clock.check()
    if hasattr(epoch, "completion_parts"):
        return _cut(epoch, state)
    end = epoch.completion(state)
    if end is None:
        return None
    plan = greedy.cut(epoch.program.vocab, end)
    return _search(epoch, state) if plan is None else plan


def _cut(epoch: Any, state: int) -> list[int] | None:
    """The tokens of an end that has special tokens in it; each of its bytes is a token."""
    parts = epoch.completion_parts(state)
    if parts is None:
        return None
    plan: list[int] = []
    for part in parts:
        plan += [part] if isinstance(part, int) else greedy.cut(epoch.program.vocab, part) or []
    return plan


def _search(epoch: Any, state: int) -> list[int]:
    """The shortest sequence of tokens that ends the text, of several one that the numbers of the tokens decide."""
    before: dict[int, tuple[int, int]] = {}
    queue = deque([state])
    while queue:
        here = queue.popleft()
        if epoch.accepting[here]:
            path = []
            while here != state:
                here, token = before[here]
                path.append(token)
            return path[::-1]
        epoch.program.clock.check()
        ids, behind = tokens_and_targets(epoch, here)
        targets, first = np.unique(behind, return_index=True)
        for target, token in sorted(zip(targets.tolist(), ids[first].tolist(), strict=True), key=lambda pair: pair[1]):
            if target != state and target not in before:
                before[target] = here, token
                queue.append(target)
    raise LimitExceeded("no tokens are known to end the text")


def _packed(ids: np.ndarray, words: int) -> np.ndarray:
    bits = np.zeros(words * 32, np.uint8)
    bits[ids] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
