"""The best completion and exact samples by kernels that go from the left, led by bounds of what follows.

Both look at few places where the bounds are tight: these know little of the stack (contexts.py), which matters little where most
frames are told apart by their control. Bounds that know more cost more, so those that know nothing are tried first. Where none
lead anywhere soon, None is returned, and the values of all places are computed (paths.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.stack_sets import Guide

from .contexts import pair_numbers

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw

    from .grid import Stack, StackGrid

MOST_PLACES = 1 << 18  # of a search: beyond, all values are computed sooner
FEW_PLACES = 1 << 15  # of one where there are bounds that know more
FIRST_STACKS = 1 << 20
# Of uniform numbers for whole rows, between two looks at the clock; most tries that end early take few of them.
ROUNDS = (8, *128 * [64])
FEW_ROUNDS = 9
OPERATED_NUMBERS = 256  # for a try where tables have operations, which take long: rows of up to 127 tokens are tried


class Guided:
    """The bounds of one row, under the lock of the table's sets."""

    def __init__(
        self,
        grid: StackGrid,
        row: np.ndarray,
        before: np.ndarray,
        inner: np.ndarray,
        scores: np.ndarray,
        is_sum: bool,
        height: int = 0,
    ):
        """`before`, `inner`: the states from the left at each boundary, and from the right within each token; `height`: of what
        bounds know of stacks."""
        table, steps = grid.table, len(row)
        pair_of, pairs = pair_numbers(table.sets, height)
        held = np.zeros((table.sets.records if height else 0, -(-pair_of.shape[1] // 64)), np.uint64)
        self._sets, self._row, self._has_operations = table.sets, row.copy(), bool(table.operations)
        self._arrays: dict[Guide, np.ndarray] = {}
        self._words = np.zeros(Guide.LENGTH, np.int64)
        for place, array in {
            Guide.ROW: self._row,
            Guide.BEFORE: np.ascontiguousarray(before, np.int32),
            Guide.INNER: np.ascontiguousarray(inner, np.int32),
            Guide.SCORES: np.ascontiguousarray(scores, np.float64),
            Guide.WEIGHT: np.empty((steps, len(table.kind_classes))),
            Guide.AHEAD: np.empty((steps + 1, pairs)),
            Guide.PAIR_OF: pair_of,
            Guide.HELD: held,
            Guide.STACK_CONTEXT: np.zeros(FIRST_STACKS, np.int32),
            Guide.LIVE: np.empty((steps, table.points), np.int32),
            Guide.REACHED: np.empty((steps + 1, table.controls), np.int32),
            Guide.EDGE_START: table.edges_from_controls[0],
            Guide.EDGE: table.edges_from_controls[1],
            Guide.STACK_BELOW: np.empty(FIRST_STACKS, np.int32),
            Guide.STACK_SYMBOL: np.empty(FIRST_STACKS, np.int32),
            Guide.STACK_SLOT: np.zeros(2 * FIRST_STACKS, np.int32),
        }.items():
            self._put(place, array)
        self._words[Guide.STEPS], self._words[Guide.IS_SUM] = steps, is_sum
        self._words[Guide.STACKS], self._words[Guide.STACK_CAPACITY] = 1, FIRST_STACKS
        self._words[Guide.STACK_SLOTS], self._words[Guide.SYMBOLS] = 2 * FIRST_STACKS, table.symbols
        self._words[Guide.HEIGHT], self._words[Guide.CONTEXTS] = height, pair_of.shape[1]
        self._words[Guide.PAIRS], self._words[Guide.HELD_SETS] = pairs, len(held)
        self._put_starts(grid.starts)
        entries.guide_row(self._sets.address, address_of(self._words))

    def _put_starts(self, starts: list[tuple[int, Stack]]) -> None:
        controls, stacks = list[int](), list[int]()
        for control, symbols in starts:
            stack = 0
            for symbol in symbols:
                stack = entries.guide_stack(address_of(self._words), stack, symbol)
                if stack < 0:
                    raise LimitExceeded(f"a canvas after a text with {len(symbols)} open frames")
            controls.append(control)
            stacks.append(stack)
        self._words[Guide.STARTS] = len(starts)
        self._put(Guide.START_CONTROL, np.array(controls, np.int32))
        self._put(Guide.START_STACK, np.array(stacks, np.int32))

    def _put(self, place: Guide, array: np.ndarray) -> None:
        self._arrays[place] = array
        self._words[place] = address_of(array)

    @property
    def rounds(self) -> Sequence[int]:
        return (OPERATED_NUMBERS // (2 * len(self._row) + 2),) if self._has_operations else ROUNDS

    @property
    def bound(self) -> float:
        """Of all completions: the best has no more, or they together have not."""
        controls, stacks = self._arrays[Guide.START_CONTROL], self._arrays[Guide.START_STACK]
        pairs = self._arrays[Guide.PAIR_OF][controls, self._arrays[Guide.STACK_CONTEXT][stacks]]
        bounds = self._arrays[Guide.AHEAD][0, pairs]
        return float(np.logaddexp.reduce(bounds) if self._words[Guide.IS_SUM] else bounds.max())

    def best(self, most: int | None = None) -> np.ndarray | None:
        """int32 [L]: the classes of the best completion; None where it takes too long to find: more than so many places."""
        most = MOST_PLACES if most is None else most
        return self._row if entries.guided_best(self._sets.address, address_of(self._words), most) else None

    def drawn(
        self, draw: SoftmaxDraw, is_single: bool, check: Callable[[], None], rounds: Sequence[int] | None = None
    ) -> np.ndarray | None:
        """int32 [L]: the classes of a completion by the softmax of its score; None where too many tries end early. `is_single`:
        each row has one derivation at most."""
        self._words[Guide.IS_SINGLE], rows = is_single, 2 * len(self._row) + 2
        for round_ in ROUNDS if rounds is None else rounds:
            uniforms = draw.uniforms(round_ * rows)
            given = self._sets.address, address_of(self._words), address_of(uniforms), len(uniforms)
            made = entries.guided_draw(*given)
            if made:
                return self._row if made > 0 else None
            check()
        return None


def best_led(guides: Iterable[tuple[Guided, bool]]) -> np.ndarray | None:
    """The best completion by the first bounds that lead there; with each whether others follow."""
    for guide, others in guides:
        found = guide.best(FEW_PLACES if others else MOST_PLACES)
        if found is not None:
            return found
    return None


def drawn_led(
    guides: Iterable[tuple[Guided, bool]], draw: SoftmaxDraw, is_single: bool, check: Callable[[], None]
) -> np.ndarray | None:
    """A sample by the first bounds that lead to one; None where none do, or all completions have the probability 0."""
    for guide, others in guides:
        if np.isneginf(guide.bound):
            return None
        found = guide.drawn(draw, is_single, check, ROUNDS[:FEW_ROUNDS] if others else guide.rounds)
        if found is not None:
            return found
    return None
