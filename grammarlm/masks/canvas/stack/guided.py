"""The best completion and exact samples by kernels that go from the left, led by bounds of what follows.

Both look at few places where the bounds are tight. Bounds that know nothing of the stack (contexts.py) are tried first, since most
rows need no more; then those that know its top, and which stacks they are led astray by. These are few: where bounds are led to,
tries end and searches stay, and what they do there is written down. Where nothing leads anywhere soon, None is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.canvas import MASKED
from grammarlm.layout.stack_sets import Guide
from grammarlm.masks.kernel_words import KernelWords

from .contexts import Contexts

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw
    from grammarlm.masks.canvas.stack.large.spot_bounds import SpotBounds

    from .rows import StackRows
    from .symbols import Stack

MOST_PLACES = 1 << 18, 1 << 20, 1 << 22, 1 << 23  # of a search: each time anew, after a look at the clock
MANY_MASKED = 64  # tokens of a row
FEW_PLACES = 1 << 15  # of one where bounds can know more
FIRST_STACKS = 1 << 18
# Of uniform numbers for whole rows, between two looks at the clock; most tries that end early take few of them.
ROUNDS = (8, *128 * [64])
FEW_ROUNDS = 2  # of these where bounds can know more
MOST_ENDED = 1 << 12
MORE_STACKS = 6  # that bounds come to know, the first time; each time as many more


class Guided(KernelWords):
    """The bounds of one row, under the lock of the table's sets."""

    def __init__(
        self,
        grid: StackRows,
        row: np.ndarray,
        before: np.ndarray,
        inner: np.ndarray,
        scores: np.ndarray,
        is_sum: bool,
        rounds: int = 1,
        stacks: int = FIRST_STACKS,
        spots: SpotBounds | None = None,
    ):
        """`before`, `inner`: the states from the left at each boundary, and from the right within each token. `rounds`: how many
        micro points a token may go through one after another, where these go round in a circle. `stacks`: room for so many;
        `spots`: whose bounds are taken instead of those of contexts, which do not know operations."""
        super().__init__(Guide.LENGTH)
        table, steps = grid.table, len(row)
        assert spots is not None or not table.operations
        self._grid, self._sets, self._given, self._has_operations = grid, table.sets, row, bool(table.operations)
        self._row = row.copy()
        self.masked = int((row == MASKED).sum())
        self._states = np.unique(np.concatenate([before, inner])).astype(np.int32)
        self._spots = spots
        for place, array in {
            Guide.ROW: self._row,
            Guide.BEFORE: np.ascontiguousarray(before, np.int32),
            Guide.INNER: np.ascontiguousarray(inner, np.int32),
            Guide.SCORES: np.ascontiguousarray(scores, np.float64),
            Guide.WEIGHT: np.full((steps, len(table.kind_classes)), np.nan) if spots is None else spots.weights,
            Guide.STACK_CONTEXT: np.zeros(stacks, np.int32),
            Guide.LIVE: np.empty((steps, table.points), np.int32),
            Guide.REACHED: np.empty((steps + 1, table.controls), np.int32),
            Guide.EDGE_START: table.edges_from_controls[0],
            Guide.EDGE: table.edges_from_controls[1],
            Guide.INNER_EDGE: table.inner_edges,
            Guide.STACK_BELOW: np.empty(stacks, np.int32),
            Guide.STACK_SYMBOL: np.empty(stacks, np.int32),
            Guide.STACK_SLOT: np.zeros(2 * stacks, np.int32),
            Guide.ENDED_STACK: np.empty(MOST_ENDED, np.int32),
        }.items():
            self.put(place, array)
        self.words[Guide.SPOTS] = 0 if spots is None else address_of(spots.words)
        self.words[Guide.STEPS], self.words[Guide.IS_SUM] = steps, is_sum
        self.words[Guide.INNER_EDGES], self.words[Guide.ROUNDS] = len(table.inner_edges), rounds
        self.words[Guide.STACK_CAPACITY], self.words[Guide.ENDED_CAPACITY] = stacks, MOST_ENDED
        self.words[Guide.STACK_SLOTS], self.words[Guide.SYMBOLS] = 2 * stacks, table.symbols
        self._more = 0
        self.know(self._first_contexts(is_sum))

    def _first_contexts(self, is_sum: bool) -> Contexts:
        """Those that know what is on top of the stack, where sums over many tokens are asked for: all take as long to make."""
        if is_sum and self.masked > MANY_MASKED and self.can_know_more:
            found = Contexts(self._sets, {()})
            if found.fits(len(self._row), 0):
                return found
        return Contexts(self._sets)

    def know(self, contexts: Contexts) -> None:
        """The bounds with these contexts, from now on."""
        steps = len(self._row)
        pairs = contexts.pairs if self._spots is None else 0
        self.put(Guide.AHEAD, np.empty((steps + 1, pairs)))
        self.contexts = contexts
        if not contexts.is_plain and not self.words[Guide.HELD_SETS]:
            places = np.zeros(self._sets.records, np.int32)
            given = address_of(self._states), len(self._states), address_of(places), len(places)
            self.words[Guide.HELD_SETS] = entries.sets_of_row(self._sets.address, *given)
            self.put(Guide.HELD_OF, places)
            self.put(Guide.HELD_RECORD, np.concatenate([[0], np.flatnonzero(places)]).astype(np.int32))
        held = int(self.words[Guide.HELD_SETS])
        arrays: dict[Guide, np.ndarray] = {
            Guide.PAIR_OF: contexts.pair_of,
            Guide.PAIR_START: contexts.pair_start,
            Guide.NEXT: contexts.after,
            Guide.TOP: contexts.top,
            Guide.BELOW_START: contexts.below_start,
            Guide.BELOW: contexts.below,
            Guide.HELD: np.zeros((held, -(-contexts.count // 64)), np.uint64),
        }
        for place, array in arrays.items():
            self.put(place, array)
        self.words[Guide.CONTEXTS], self.words[Guide.PAIRS] = contexts.count, contexts.pairs
        self.words[Guide.STACKS], self.words[Guide.ENDED], self.words[Guide.FIRST_STEPS] = 1, 0, steps
        self.arrays[Guide.STACK_SLOT][:] = 0
        self._put_starts(self._grid.starts)
        entries.guide_row(self._sets.address, self.address)

    @property
    def can_know_more(self) -> bool:
        """Tables with operations (operations.py) have hundreds of symbols: bounds by spots take their place."""
        return self._sets.table.symbols > 1 and not self._has_operations

    def know_more(self) -> bool:
        """Makes bounds that know the stacks by which those so far were led astray; False where there are none, or no room."""
        if not self.can_know_more:
            return False
        if self.contexts.is_plain:
            contexts = Contexts(self._sets, {()})
        else:
            astray = Counter(stack[:-1] for stack in self._ended() if stack and stack[:-1] not in self.contexts.known)
            self._more += MORE_STACKS
            if not astray:
                return False
            contexts = self.contexts.with_more(self._sets, [stack for stack, _ in astray.most_common(self._more)])
        if not contexts.fits(len(self._row), int(self.words[Guide.HELD_SETS])):
            return False
        self.know(contexts)
        return True

    def _ended(self) -> list[Stack]:
        """The stacks with which tries ended, or of places that a search looked at."""
        below, symbols = self.arrays[Guide.STACK_BELOW], self.arrays[Guide.STACK_SYMBOL]
        found = []
        for ended in self.arrays[Guide.ENDED_STACK][: int(self.words[Guide.ENDED])].tolist():
            above, stack = list[int](), ended
            while stack:
                above.append(int(symbols[stack]))
                stack = int(below[stack])
            found.append(tuple(reversed(above)))
        return found

    def _put_starts(self, starts: list[tuple[int, Stack]]) -> None:
        controls, stacks = list[int](), list[int]()
        for control, symbols in starts:
            stack = 0
            for symbol in symbols:
                stack = entries.guide_stack(self.address, stack, symbol)
                if stack < 0:
                    raise LimitExceeded(f"a canvas after a text with {len(symbols)} open frames")
            controls.append(control)
            stacks.append(stack)
        self.words[Guide.STARTS] = len(starts)
        self.put(Guide.START_CONTROL, np.array(controls, np.int32))
        self.put(Guide.START_STACK, np.array(stacks, np.int32))

    @property
    def bound(self) -> float:
        """Of all completions: the best has no more, or they together have not."""
        controls, stacks = self.arrays[Guide.START_CONTROL], self.arrays[Guide.START_STACK]
        pairs = self.arrays[Guide.PAIR_OF][self.arrays[Guide.STACK_CONTEXT][stacks], controls]
        bounds = self.arrays[Guide.AHEAD][0, pairs]
        return float(np.logaddexp.reduce(bounds) if self.words[Guide.IS_SUM] else bounds.max())

    def best(self, most: int = MOST_PLACES[0]) -> np.ndarray | None:
        """int32 [L]: the classes of the best completion; None where it takes too long to find: more than so many places."""
        return self._row if entries.guided_best(self._sets.address, self.address, most) else None

    def drawn(
        self, draw: SoftmaxDraw, is_single: bool, check: Callable[[], None], rounds: Sequence[int] | None = None
    ) -> np.ndarray | None:
        """int32 [L]: the classes of a completion by the softmax of its score; None where too many tries end early. `is_single`:
        each row has one derivation at most."""
        self.words[Guide.IS_SINGLE], rows = is_single, 2 * len(self._row) + 2
        for round_ in ROUNDS if rounds is None else rounds:
            uniforms = draw.uniforms(round_ * rows)
            given = self._sets.address, self.address, address_of(uniforms), len(uniforms)
            made = entries.guided_draw(*given)
            if made:
                return self._row if made > 0 else None
            check()
        return None


def best_led(guide: Guided, check: Callable[[], None]) -> np.ndarray | None:
    """The best completion by the first bounds that lead there."""
    found = guide.best(FEW_PLACES)
    while found is None:
        check()
        if not guide.know_more():
            return _best_of_many(guide, check)
        found = guide.best(FEW_PLACES)
    return found


def _best_of_many(guide: Guided, check: Callable[[], None]) -> np.ndarray | None:
    """By bounds that can know no more."""
    for most in MOST_PLACES:
        found = guide.best(most)
        if found is not None:
            return found
        check()
    return None


def drawn_led(guide: Guided, draw: SoftmaxDraw, is_single: bool, check: Callable[[], None]) -> np.ndarray | None:
    """A sample by the first bounds that lead to one; None where none do, or all completions have the probability 0. Whatever bounds
    know of tries before, a try by any of them that comes to its end has the law of completions."""
    knows_more = guide.can_know_more
    while not np.isneginf(guide.bound):
        found = guide.drawn(draw, is_single, check, ROUNDS[:FEW_ROUNDS] if knows_more else ROUNDS)
        if found is not None or not knows_more:
            return found
        knows_more = guide.know_more()
    return None
