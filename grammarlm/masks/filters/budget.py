"""The number of tokens that are enough to end a text, from each state of an epoch: the basis of token budgets.

The automaton gives a completion (`epoch.completion(state)`, bytes), which is tokenized by longest match; the number of
tokens is U, an upper bound on the *fewest* tokens that are enough. It can be kept, but is not always the minimum:
another completion may be longer in bytes and shorter in tokens. Where the vocabulary has no tokens for some of the
bytes, a breadth-first search finds the tokens.

A budget of `left` tokens allows a token iff U after it is below `left`. That is checked token by token only near the
end: a state whose every token leads to a U below `left` has its ordinary row. Each state has an upper bound for that
(`most_after`): first from the automaton (`epoch.completion_limit(state)`, a bound in bytes on all completions after a
token), later from the tokens themselves.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.protocol import FINISHED, Epoch
from grammarlm.masks.token_facts import pack_ids

from . import greedy

INFINITE = 1 << 62  # more tokens than any budget: the completion is too long to be written down


class CompletionCosts:
    """The costs of one epoch's states, by completions; a machine may derive its own. All methods run under the automaton's lock;
    `most_after` is read without."""

    def __init__(self) -> None:
        self._fewest: dict[int, int] = {}
        self._falling: dict[int, int] = {}  # as _fewest, or the rest of an earlier plan where that is shorter
        self.most_after = {FINISHED: -1}  # upper bound on U after each token of the state
        self._last: tuple[int, list[int] | None] | None = (
            None  # a state and its plan: a step asks for it, and then its row
        )
        self._looked_at: tuple[int, np.ndarray, np.ndarray] | None = None  # a state, its tokens, and U after each

    def fewest(self, epoch: Epoch, state: int) -> int:
        """U: this many tokens are enough to end the text; INFINITE where they are too many to be written down."""
        known = self._fewest.get(state)
        if known is None:
            plan = self._plan(epoch, state)
            known = self._fewest[state] = INFINITE if plan is None else len(plan)
        return known

    def falling(self, epoch: Epoch, state: int) -> int:
        """As `fewest`, but guaranteed to fall along the plan: after the first token of a plan the cheapest completion
        may be another text, which takes more tokens; then the rest of the plan counts."""
        known = self._falling.get(state)
        if known is not None:
            return known
        plan = self._plan(epoch, state)
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

    def plan(self, epoch: Epoch, state: int) -> tuple[int, ...]:
        """Tokens that end the text, as many as `fewest` says."""
        plan = self._plan(epoch, state)
        if plan is None:
            raise LimitExceeded("no end of the text is known, or the shortest is too long to be written down")
        return tuple(plan)

    def _plan(self, epoch: Epoch, state: int) -> list[int] | None:
        if self._last is None or self._last[0] != state:
            self._last = state, _plan(epoch, state)
        return self._last[1]

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """The mask row of a state with `left` tokens left: the tokens after which the rest is enough."""
        if state not in self.most_after:
            self.most_after[state] = _limit(epoch, state)
        if left > self.most_after[state]:
            return epoch.row(state)
        if self._looked_at is None or self._looked_at[0] != state:  # near its end a text often stays in one state
            ids, targets = tokens_and_targets(epoch, state)
            self._looked_at = state, ids, self._needed(epoch, targets)
        _, ids, needed = self._looked_at
        self.most_after[state] = int(needed.max(initial=0))
        if left > self.most_after[state]:
            return epoch.row(state)
        facts = epoch.program.facts
        row = pack_ids(ids[needed < left], len(facts.stop_row))
        return row | facts.stop_row if epoch.accepting[state] else row

    def _needed(self, epoch: Epoch, targets: np.ndarray) -> np.ndarray:
        """U of each state."""
        states, of = np.unique(targets, return_inverse=True)  # the numbers of some machines' states are large
        enough: np.ndarray = np.array([self.fewest(epoch, state) for state in states.tolist()], np.int64)[of]
        return enough

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """After so many steps, whatever they read, `left` tokens are still enough; 0 where it is not known. Asked where the program
        has a class of costs of its own."""
        return 0

    def rows_decide(self, epoch: Epoch) -> bool:
        """Is each token of a row certain to leave enough? Then no step looks a second time, and a row that is not empty needs no
        plan beside it."""
        return False


def costs_of(epoch: Epoch) -> CompletionCosts:
    """The epoch's costs, which live as long as it does."""
    if epoch.costs is None:
        epoch.costs = (epoch.program.costs_class or CompletionCosts)()
    costs: CompletionCosts = epoch.costs
    return costs


def fewest_of(epoch: Epoch, state: int) -> int:
    return costs_of(epoch).fewest(epoch, state)


def plan_of(epoch: Epoch, state: int) -> tuple[int, ...]:
    return costs_of(epoch).plan(epoch, state)


def tokens_and_targets(epoch: Epoch, state: int) -> tuple[np.ndarray, np.ndarray]:
    """The allowed tokens, stop ids left out, and the state after each."""
    row = epoch.row(state)
    ids = ids_of(row & ~epoch.program.facts.stop_row if epoch.accepting[state] else row)
    return ids, epoch.targets(state, ids)


def _limit(epoch: Epoch, state: int) -> int:
    """The automaton's bound on U after each token: a number of bytes is a bound where each byte is a token."""
    limit = epoch.completion_limit(state) if epoch.program.tokens_spell_all else None
    return INFINITE if limit is None else limit


def _plan(epoch: Epoch, state: int) -> list[int] | None:
    """Tokens that end the text from here; None where they are too many to be written down."""
    epoch.program.clock.check()
    end = epoch.completion(state)
    if end is None:
        return None
    plan: list[int] = []
    for piece in end:
        tokens = [piece] if isinstance(piece, int) else greedy.cut(epoch.program.vocab, piece)
        if tokens is None:  # no token begins at some byte
            return _search(epoch, state)
        plan += tokens
    return plan


def _search(epoch: Epoch, state: int) -> list[int]:
    """Breadth-first search for the shortest sequence of tokens that ends the text; ties are resolved by token ids."""
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
        ids, targets = tokens_and_targets(epoch, here)
        targets, first = np.unique(targets, return_index=True)
        for target, token in sorted(zip(targets.tolist(), ids[first].tolist(), strict=True), key=lambda pair: pair[1]):
            if target != state and target not in before:
                before[target] = here, token
                queue.append(target)
    raise LimitExceeded("no tokens are known to end the text")
