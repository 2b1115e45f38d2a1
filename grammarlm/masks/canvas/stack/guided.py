"""The best completion and exact samples by kernels that go from the left, led by bounds of what follows.

Both look at few places where the bounds are tight: these forget the stack, which matters little where most frames are told apart by
their control. Where they are not, None is returned, and the values of all places are computed (paths.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.stack_sets import Guide

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw

    from .grid import Stack, StackGrid

MOST_PLACES = 1 << 18  # of a search: beyond, all values are computed sooner
FIRST_STACKS = 1 << 18
ROUNDS = (
    8,
    *16 * [512],
)  # of uniform numbers for whole rows, one after the other; most tries that end early take few of them


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
    ):
        """`before`, `inner`: the states from the left at each boundary, and from the right within each token."""
        table, steps = grid.table, len(row)
        self._sets, self._row = table.sets, row.copy()
        self._arrays: dict[Guide, np.ndarray] = {}
        self._words = np.zeros(Guide.LENGTH, np.int64)
        for place, array in {
            Guide.ROW: self._row,
            Guide.BEFORE: np.ascontiguousarray(before, np.int32),
            Guide.INNER: np.ascontiguousarray(inner, np.int32),
            Guide.SCORES: np.ascontiguousarray(scores, np.float64),
            Guide.WEIGHT: np.empty((steps, len(table.kind_classes))),
            Guide.AHEAD: np.empty((steps + 1, table.points)),
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
        self._words[Guide.STACK_SLOTS] = 2 * FIRST_STACKS
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
    def bound(self) -> float:
        """Of all completions: the best has no more, or they together have not."""
        return max(
            float(self._arrays[Guide.AHEAD][0, control]) for control in self._arrays[Guide.START_CONTROL].tolist()
        )

    def best(self) -> np.ndarray | None:
        """int32 [L]: the classes of the best completion; None where it takes too long to find."""
        looked_at = entries.guided_best(self._sets.address, address_of(self._words), MOST_PLACES)
        return self._row if looked_at else None

    def drawn(self, draw: SoftmaxDraw, check: Callable[[], None]) -> np.ndarray | None:
        """int32 [L]: the classes of a completion by the softmax of its score, where each row has one derivation; None where too
        many tries end early."""
        steps = len(self._row)
        shares = draw.uniforms(steps)
        for rounds in ROUNDS:
            uniforms = draw.uniforms(rounds * steps)
            made = entries.guided_draw(
                self._sets.address, address_of(self._words), address_of(uniforms), len(uniforms), address_of(shares)
            )
            if made:
                return self._row if made > 0 else None
            check()
        return None
