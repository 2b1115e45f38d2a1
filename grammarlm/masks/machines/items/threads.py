"""How a text of items is read: a list of them, of which one item alone is the shortest.

A **thread** is one way to read the tokens so far, as a tuple; a text stands in a set of threads, nearly always in one.

Every thread can be completed: a set of items has no dead ends, and a list enters a node only while an item below it is
left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from grammarlm.errors import UnsatisfiableGrammar

from .index import ItemIndex, Node
from .nearest import nearest
from .separator import Separator

Path = tuple[int, ...]  # the tokens from the root to a node
Thread = tuple[Any, ...]
Before = Any  # the items before in a list: their paths, or their number where items may repeat


IN_ITEM = -1  # in place of an offset in the separator


class ItemList:
    """Texts that are one item or several. A thread: (the items before, this one's tokens so far, their node, offset in a
    separator).

    The items before are a set of paths, or their number where items may repeat.
    """

    def __init__(self, index: ItemIndex, longest: int, counts: tuple[int, int], distinct: bool, separator: Separator):
        self.index, self.distinct, self.separator = index, distinct, separator
        self.fewest, self.most = counts
        self.start: Thread = (frozenset() if distinct else 0, (), index.root, IN_ITEM)
        if distinct:  # the set may have fewer
            self.most = _count(index, index.root, self.most)
        if self.most < self.fewest:
            raise UnsatisfiableGrammar(
                f"a list of at least {self.fewest} different items, but the set has only {self.most}; lower `fewest`, or "
                "let items repeat (distinct=False)"
            )
        self.longest = self.fewest * (
            longest + len(separator)
        )  # upper bound on the tokens that end the text, from any thread

    # ------------------------------------------------------------------ what the machine asks

    def ids(self, thread: Thread) -> np.ndarray:
        """The tokens that it can read, text and special ones alike."""
        found = [self._ids(t) for t in self._continued(thread)]
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))

    def after(self, thread: Thread, token: int) -> Iterator[Thread]:
        """The threads after one of them."""
        for before, path, node, offset in self._continued(thread):
            if offset == IN_ITEM:
                child = self.index.child(node, token)
                if child is not None and self._is_alive(before, (*path, token), child):
                    yield before, (*path, token), child, IN_ITEM
            elif reached := self.separator.after(offset, token):
                is_over = reached == len(self.separator)
                yield (before, (), self.index.root, IN_ITEM) if is_over else (before, (), None, reached)

    def accepts(self, thread: Thread) -> bool:
        """May the text end here?"""
        before, path, node, offset = thread
        return offset == IN_ITEM and self._ends(before, path, node) and self._number(before) + 1 >= self.fewest

    def end(self, thread: Thread) -> list[int]:
        """Tokens that end the text, as few as are known."""
        before, path, node, offset = thread
        tokens: list[int] = []
        while True:
            if offset != IN_ITEM:
                tokens += self.separator.rest(offset)
                path, node = (), self.index.root
            rest = nearest(self.index, path, node, before if self.distinct else frozenset())
            tokens += rest
            before = self._with(before, (*path, *rest))
            if self._number(before) >= self.fewest:
                return tokens
            path, node, offset = (), self.index.root, 0 if len(self.separator) else IN_ITEM

    # ------------------------------------------------------------------ items that are left

    def _continued(self, thread: Thread) -> Iterator[Thread]:
        """The thread, and the one after its item where that may end here and another follow."""
        yield thread
        before, path, node, offset = thread
        if offset == IN_ITEM and self._ends(before, path, node) and self._number(before) + 1 < self.most:
            before = self._with(before, path)
            yield (before, (), None, 0) if len(self.separator) else (before, (), self.index.root, IN_ITEM)

    def _number(self, before: Before) -> int:
        return len(before) if self.distinct else before

    def _with(self, before: Before, item: Path) -> Before:
        return before | {item} if self.distinct else before + 1

    def _ends(self, before: Before, path: Path, node: Node) -> bool:
        """Does an item end here that has not come yet?"""
        return self.index.is_end(node) and not (self.distinct and path in before)

    def _ids(self, thread: Thread) -> np.ndarray:
        before, path, node, offset = thread
        if offset != IN_ITEM:
            return self.separator.ids(offset)
        ids = self.index.children(node)
        if not self.distinct:
            return ids
        tried = {item[len(path)] for item in before if item[: len(path)] == path and len(item) > len(path)}
        gone = [t for t in tried if (c := self.index.child(node, t)) and not self._is_alive(before, (*path, t), c)]
        return ids[~np.isin(ids, gone)] if gone else ids

    def _is_alive(self, before: Before, path: Path, node: Node) -> bool:
        """Is there an item at this node or below it that has not come yet?"""
        if not self.distinct:
            return True
        here = sum(item[: len(path)] == path for item in before)
        return not here or _count(self.index, node, here + 1) > here


def _count(index: ItemIndex, node: Node, up_to: int) -> int:
    """The number of different items at a node and below it, at most `up_to`."""
    return sum(1 for _ in islice(_ends_below(index, node), up_to))


def _ends_below(index: ItemIndex, node: Node) -> Iterator[Node]:
    waiting = [iter([node])]
    while waiting:
        here = next(waiting[-1], None)
        if here is None:
            waiting.pop()
            continue
        if index.is_end(here):
            yield here
        waiting.append(_children(index, here))


def _children(index: ItemIndex, node: Node) -> Iterator[Node]:
    return (child for token in index.children(node).tolist() if (child := index.child(node, token)))
