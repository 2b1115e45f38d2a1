"""The view of item sets: each token that occurs in an item is a class of its own, and a row is decided by its items.

The items that a row can still become are rows of the sorted matrix: tokens that are given from the left on narrow a range of
it, each other token filters that range by one column. Nothing is made of the set but the list of its tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.layout.items import END
from grammarlm.masks.machines.items.index import ItemIndex, Node

from .classes import STOP, TokenClasses, classes_of
from .protocol import MASKED, Draw, Passes

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.items.program import ItemsProgram
    from grammarlm.masks.matcher import Matcher

NO_ITEM = Node(0, 0, 0)


class ItemsView:
    """Texts that are one item."""

    def __init__(self, automaton: Automaton):
        program: ItemsProgram = automaton.program
        if program.reader.most > 1:
            raise UnsupportedFeature(
                "a canvas over gl.TokenList: lists of items have no view for canvases yet; gl.Tokens has"
            )
        self._index, vocab = program.index, program.vocab
        kinds = np.zeros(vocab.size, np.int64)
        for column in range(self._index.length):
            found = np.bincount(self._index.cells(column, 0, len(self._index)), minlength=self._index.shift + 1)
            tokens = np.flatnonzero(found[self._index.shift :])
            kinds[tokens] = tokens + 1
        self._classes, _ = classes_of(kinds, vocab.stop_ids)

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> ItemsGrid:
        node: Node | None = self._index.root
        if after is not None:
            threads = after._head[1].terms[after._head[2]]  # one: a list of items has no canvas
            node = None if after.is_finished else next(iter(threads))[2]
        return ItemsGrid(self._index, self._classes, node, length, room, check)


class ItemsGrid:
    """Rows of one length from one node; None: the text has ended."""

    def __init__(
        self,
        index: ItemIndex,
        classes: TokenClasses,
        node: Node | None,
        length: int,
        room: int,
        check: Callable[[], None],
    ):
        self.index, self.classes, self.node, self.length, self.room, self.check = (
            index,
            classes,
            node,
            length,
            room,
            check,
        )
        self.cell_classes = np.zeros(index.largest + 1, np.int32)  # by cell
        known = np.arange(index.shift, index.largest + 1)
        tokens = known - index.shift
        self.cell_classes[known] = classes.of[np.minimum(tokens, len(classes.of) - 1)]
        if index.shift:
            self.cell_classes[END] = STOP

    def passes(self, classes: np.ndarray, before: Passes | None) -> ItemsPasses:
        return ItemsPasses(self, classes)

    def column(self, node: Node, at: int, places: np.ndarray | None) -> np.ndarray:
        """int32: the classes at a position of the rows at some places of a node (None: all of its rows)."""
        depth = node.depth + at
        count = node.high - node.low if places is None else len(places)
        if depth >= self.index.length:
            return np.full(count, STOP, np.int32)
        cells = self.index.cells(depth, node.low, node.high)
        return self.cell_classes[cells if places is None else cells[places]]

    def places(self, row: np.ndarray) -> tuple[Node, int, np.ndarray]:
        """The items that a row of classes can become: a node, how many tokens it is beyond the grid's, and places from its
        first row on, one for each completion."""
        node, begun = self.node or NO_ITEM, 0
        while begun < self.length and row[begun] not in (MASKED, STOP):
            child = self.index.child(node, int(self.classes.members(int(row[begun]))[0])) if row[begun] else None
            if child is None:
                return NO_ITEM, begun, np.zeros(0, np.int64)
            node, begun = child, begun + 1
        fits = self.column(node, self.length + self.room - begun, None) == STOP
        for at in range(begun, self.length):
            if row[at] != MASKED:
                self.check()
                fits &= self.column(node, at - begun, None) == row[at]
        places = np.flatnonzero(fits)
        differs = np.zeros(len(places), bool)
        differs[:1] = True
        for at in range(begun, self.length):  # items that are the same within the row stand side by side
            column = self.column(node, at - begun, places)
            differs[1:] |= column[1:] != column[:-1]
        return node, begun, places[differs]


class ItemsPasses:
    """The items that one row can become."""

    def __init__(self, grid: ItemsGrid, row: np.ndarray):
        self._grid, self._row = grid, row
        self._ended = grid.node is None  # then only stop ids follow
        self.is_completable = bool(np.isin(row, (MASKED, STOP)).all()) if self._ended else len(self._found[2]) > 0

    @cached_property
    def _found(self) -> tuple[Node, int, np.ndarray]:
        return self._grid.places(self._row)

    def classes_at(self, position: int) -> np.ndarray:
        allowed = np.zeros(self._grid.classes.count, bool)
        if self.is_completable:
            allowed[STOP if self._ended else self._at(position)] = True
        return allowed

    def _at(self, position: int) -> np.ndarray:
        if self._row[position] == MASKED:
            node, begun, places = self._found
        else:
            others = self._row.copy()
            others[position] = MASKED
            node, begun, places = self._grid.places(others)
        return self._grid.column(node, position - begun, places)

    def reads(self, position: int, token_class: int) -> bool:
        before = np.append(self._row[:position], token_class)
        padded = np.concatenate([before, np.full(self._grid.length - len(before), MASKED)]).astype(np.int32)
        return ItemsPasses(self._grid, padded).is_completable

    def best(self, scores: np.ndarray) -> np.ndarray:
        return self._completion(lambda sums: int(np.argmax(sums)), scores)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return self._completion(draw, scores)

    def _completion(self, choose: Draw, scores: np.ndarray) -> np.ndarray:
        if self._ended:
            return np.full(self._grid.length, STOP, np.int32)
        node, begun, places = self._found
        sums = np.zeros(len(places))
        for at in np.flatnonzero(self._row == MASKED).tolist():
            sums += scores[at, self._grid.column(node, at - begun, places)]
        if np.isneginf(sums).all():
            raise ValueError("the logits give every completion of the row the probability 0")
        chosen = places[[choose(sums)]]
        found = self._row.copy()
        for at in range(begun, self._grid.length):
            found[at] = self._grid.column(node, at - begun, chosen)[0]
        return found
