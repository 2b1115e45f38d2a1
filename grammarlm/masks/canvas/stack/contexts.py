"""What bounds know of a stack: an automaton that reads stacks from the bottom up, and where it ends is the **context** of a stack.

    contexts = Contexts(sets)                        # one context: nothing is known
    contexts = Contexts(sets, known)                 # `known`: stacks that are told apart from all others, with what stands on them

Of a stack that stands on a known one with one symbol more on top, all is known. Of any other the longest known stack at its bottom
is known, the symbol on top, and how many are between them, up to MOST_BETWEEN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .bits import bits
from .symbols import ROOT, Stack

if TYPE_CHECKING:
    from .sets import StackSets

MOST_BETWEEN = 1  # what tells them apart costs more than to know more stacks
MOST_CELLS = 1 << 26  # numbers that bounds of a row take; those that the row leads to are written
MOST_PAIRS = 1 << 24


class Contexts:
    def __init__(self, sets: StackSets, known: set[Stack] | None = None):
        """`known` has with each stack all that are below it, down to the empty one."""
        table = sets.table
        self.is_plain = known is None
        self.known = known or set()
        if known is None:
            self.after, self.top = np.zeros((1, table.symbols), np.int32), np.zeros(1, np.int32)
            allowed = np.ones((table.points, 1), bool)
        else:
            self._follow(sets, known)
            allowed = self._allowed(sets)
        self._number(allowed)
        self.count = len(self.top)
        above, symbol = np.nonzero(self.after >= 0)
        below = np.argsort(self.after[above, symbol], kind="stable")
        self.below = above[below].astype(np.int32)
        starts = np.searchsorted(self.after[above, symbol][below], np.arange(self.count + 1))
        self.below_start = starts.astype(np.int32)

    def fits(self, steps: int, held_sets: int) -> bool:
        """Are there few enough for the bounds of a row?"""
        is_small = self.count * len(self.pair_start) <= MOST_PAIRS and held_sets * (-(-self.count // 64)) <= MOST_PAIRS
        return is_small and (steps + 1) * self.pairs <= MOST_CELLS

    def with_more(self, sets: StackSets, stacks: Iterable[Stack]) -> Contexts:
        """Those that know more stacks."""
        return Contexts(sets, self.known.union(stack[:size] for stack in stacks for size in range(len(stack) + 1)))

    def _follow(self, sets: StackSets, known: set[Stack]) -> None:
        can_stand = bits(sets.belows, sets.table.symbols).T  # on what: which
        pushable = [np.flatnonzero(row).tolist() for row in can_stand]
        # (known stack, symbols between, top): between -1: the stack itself, of which the empty one alone has a number of its own
        first: tuple[Stack, int, int] = ((), -1, ROOT)
        numbers = {first: 0}
        waiting, rows, tops = [first], [], []
        for stack, between, top in waiting:
            row = np.full(sets.table.symbols, -1, np.int32)
            here = (*stack, top)
            for symbol in pushable[top]:
                if between < 0:
                    after = (stack, 0, symbol)
                elif between == 0 and here in known:
                    after = (here, 0, symbol)
                else:
                    after = (stack, min(between + 1, MOST_BETWEEN), symbol)
                number = numbers.setdefault(after, len(numbers))
                if number == len(waiting):
                    waiting.append(after)
                row[symbol] = number
            rows.append(row)
            tops.append(top)
        self.after, self.top = np.array(rows), np.array(tops, np.int32)

    def _allowed(self, sets: StackSets) -> np.ndarray:
        """bool [points, contexts]: which can be, and where micro points go on."""
        table = sets.table
        can_be = bits(sets.tops, table.symbols)
        has_rule = np.zeros((table.points, table.symbols), bool)
        has_rule[: table.first_micro] = True
        rules = table.rule_rows[table.rule_rows[:, 1] < table.symbols]
        has_rule[rules[:, 0], np.where(rules[:, 1] < 0, ~rules[:, 1], rules[:, 1])] = True
        return np.asarray((can_be & has_rule)[:, self.top])

    def _number(self, allowed: np.ndarray) -> None:
        point, context = np.nonzero(allowed)  # few of them
        self.pair_of = np.full(allowed.shape[::-1], -1, np.int32)
        self.pair_of[context, point] = np.arange(len(point))
        self.pair_start = np.searchsorted(point, np.arange(len(allowed) + 1)).astype(np.int32)
        self.pairs = int(self.pair_start[-1])
