"""Masks of draft trees: of a whole tree at once, of several, or of one that grows while a model drafts.

    tree = gl.MaskTree(matcher)
    tree.fill(mask)                         # the state now: node -1
    first = tree.add(token)                 # a node; None where the token is refused
    tree.fill(mask, row, first)             # the mask after it
    second = tree.add(other, first)
    tree.matcher_at(second)                 # a matcher of its own, for what follows

A node that goes over a limit is cut: it counts as refused, `tree.cut` has the error, and the others are made all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from grammarlm.errors import LimitExceeded, MaskError, check_type

from .mask_array import as_integer, as_mask
from .matcher import Matcher
from .trail import Head

ROOT = -1


class MaskTree:
    """The states after the nodes of a draft tree. The matcher does not change; its own later steps do not matter here."""

    __slots__ = ("_heads", "_walker", "cut")

    def __init__(self, matcher: Matcher):
        check_type(matcher, Matcher, "MaskTree(matcher) takes a matcher")
        self._walker = matcher._probe()
        self._heads: list[Head] = [self._walker._head]
        self.cut: dict[tuple[int, int | None], LimitExceeded] = {}  # (node, token after it; None: its mask) -> error

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._heads) - 1

    def add(self, token: int, parent: int = ROOT) -> int | None:
        """A node for the token after node `parent`, -1: after the state now; None where it is refused there."""
        walker = self._at(parent)
        try:
            if not walker.advance(token):
                return None
        except LimitExceeded as error:
            self.cut[parent, token] = error
            return None
        self._heads.append(walker._head)
        return len(self._heads) - 2

    def fill(self, mask: np.ndarray, row: int = 0, node: int = ROOT) -> bool:
        """Writes the mask of what may follow the node, and returns what fill_mask returns; zeros where the node is cut."""
        walker = self._at(node)
        try:
            return walker.fill_mask(mask, row)
        except LimitExceeded as error:
            if node == ROOT:
                raise
            self.cut[node, None] = error
            mask[row] = 0
            return True

    def is_accepting(self, node: int = ROOT) -> bool:
        """May the text end after the node?"""
        return self._at(node).is_accepting

    def key(self, node: int) -> tuple[object, ...]:
        """Equal for nodes of equal depth whose texts have the same continuations, as far as that is known."""
        _, epoch, state, step, budget, _ = self._heads[self._known(node) + 1]
        return id(epoch), state, step, budget

    def keep(self, nodes: int) -> None:
        """Leaves the first nodes only."""
        nodes = as_integer(nodes, "MaskTree.keep(nodes) takes a number of nodes")
        if nodes < 0:
            raise ValueError(f"MaskTree.keep({nodes}): it takes the number of nodes to keep, 0 or more")
        del self._heads[nodes + 1 :]

    def matcher_at(self, node: int = ROOT) -> Matcher:
        """An independent matcher that has read up to the node."""
        return self._at(node)._probe()

    def _at(self, node: int) -> Matcher:
        """The walker, moved to a node."""
        return self._walker._at(self._heads[self._known(node) + 1])

    def _known(self, node: int) -> int:
        node = as_integer(node, "MaskTree takes the number of a node")
        if not ROOT <= node < len(self._heads) - 1:
            raise ValueError(f"the draft tree has no node {node}: -1 is the state now, and there are {len(self)} nodes")
        return node


def fill_tree(matcher: Matcher, tokens: Iterable[int], parents: Iterable[int], mask: np.ndarray) -> list[bool]:
    """The masks of a draft tree: row 0 for the current state, row i + 1 for the state after node i; returns what each
    fill_mask returns.

    Node i is tokens[i], read after node parents[i], or from the current state where that is -1. A node that is refused, or
    whose mask goes over a limit, gets a row of zeros, and so do all below it. The matcher and the rows beyond the tree do not
    change.
    """
    check_type(matcher, Matcher, "fill_tree(matcher, ...) takes a matcher")
    read, above = checked_tree(tokens, parents, "fill_tree")
    array = as_mask(mask, matcher._words)
    if len(array) < len(read) + 1:
        raise MaskError(f"the mask has {len(array)} rows, too few for the state now and {len(read)} nodes")
    return _filled(matcher, read, above, array)


def fill_trees(
    matchers: Sequence[Matcher | None],
    tokens: Sequence[Iterable[int]],
    parents: Sequence[Iterable[int]],
    mask: np.ndarray,
) -> list[list[bool]]:
    """The masks of several draft trees, tree after tree: of each as many rows as it has nodes, and one more, as fill_tree
    writes them. None in place of a matcher: every bit of its rows is set.

    If a tree's current state goes over a limit, its rows allow the stop ids only, the other trees are filled nevertheless, and
    the first such LimitExceeded is raised.
    """
    matchers = list(matchers)
    if not len(matchers) == len(tokens) == len(parents):
        raise ValueError(
            f"fill_trees: {len(matchers)} matchers, {len(tokens)} lists of tokens and {len(parents)} of parents; it takes one of "
            "each for every tree"
        )
    trees = [checked_tree(*tree, "fill_trees") for tree in zip(tokens, parents, strict=True)]
    words = {matcher._words for matcher in matchers if isinstance(matcher, Matcher)}
    if not all(matcher is None or isinstance(matcher, Matcher) for matcher in matchers):
        raise TypeError("fill_trees(matchers, ...) takes matchers and None")
    if len(words) > 1:
        raise MaskError("the matchers have several vocabularies, whose masks differ in width")
    array = as_mask(mask, words.pop() if words else mask.shape[-1])
    needs = sum(len(read) + 1 for read, _ in trees)
    if len(array) < needs:
        raise MaskError(f"the mask has {len(array)} rows, too few for {len(trees)} trees with {needs} states")
    found, first, error = [], 0, None
    for matcher, (read, above) in zip(matchers, trees, strict=True):
        rows = array[first : first + len(read) + 1]
        first += len(rows)
        if matcher is None:
            rows[:] = -1
            found.append([False] * len(rows))
            continue
        try:
            found.append(_filled(matcher, read, above, rows))
        except LimitExceeded as one:
            error = error or one
            found.append([True] * len(rows))
    if error is not None:
        raise error
    return found


def _filled(matcher: Matcher, tokens: list[int], parents: list[int], array: np.ndarray) -> list[bool]:
    """The rows of one tree; those that an error leaves unmade allow the stop ids only."""
    known = matcher._probe()._fill_nodes(tokens, parents, array)
    if known is not None:
        return known
    tree, needed = MaskTree(matcher), []
    nodes: list[int | None] = [ROOT]
    try:
        needed.append(tree.fill(array))
        for row, (token, parent) in enumerate(zip(tokens, parents, strict=True), 1):
            above = nodes[parent + 1]
            node = None if above is None else tree.add(token, above)
            if node is None:
                array[row] = 0
                needed.append(True)
            else:
                needed.append(tree.fill(array, row, node))
                if tree.cut and (node, None) in tree.cut:
                    node = None
            nodes.append(node)
    except BaseException:  # fail closed: only stop tokens are allowed where no row was made
        array[len(needed) : len(tokens) + 1] = matcher._automaton.program.facts.stop_row
        raise
    return needed


def checked_tree(tokens: object, parents: object, caller: str) -> tuple[list[int], list[int]]:
    read, above = _integers(tokens, "tokens", caller), _integers(parents, "parents", caller)
    if len(read) != len(above):
        raise ValueError(f"{caller}: {len(read)} tokens, but {len(above)} parents; each node has one of both")
    for node, parent in enumerate(above):
        if not ROOT <= parent < node:
            raise ValueError(f"{caller}: parents[{node}] is {parent}; it takes -1 (the state now) or an earlier node")
    return read, above


def _integers(values: object, name: str, caller: str) -> list[int]:
    """A list of integers, from a list or an array of one dimension."""
    values = getattr(values, "tolist", lambda: values)()
    if isinstance(values, list) and set(map(type, values)) <= {int}:
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{caller}({name}=...) takes a list or an array of integers, not {type(values).__name__}")
    return [
        as_integer(value, f"{caller}({name}=...) takes integers: a list or an array with one number a node")
        for value in values
    ]
