"""The automaton of a set of items, complete: its states are the prefixes, read from the sorted matrix level by level.

A node of the trie is a range of rows; nodes get numbers in order. All item ends without a continuation are one state.
"""

from __future__ import annotations

import numpy as np

from grammarlm.layout.csr import FINISHED, FIRST, MISS, Csr
from grammarlm.layout.items import END
from grammarlm.masks.machines.items.index import ItemIndex
from grammarlm.vocab.vocabulary import Vocabulary

from .fixed import FixedAutomaton, without_defaults

LEAF = FIRST  # the state after an item that has no continuation
START = FIRST + 1


def item_automaton(index: ItemIndex, vocab: Vocabulary) -> FixedAutomaton:
    """The automaton with a state for every prefix, and every edge."""
    parents, tokens, targets = [], [], []
    count = len(index)
    begins = np.arange(count) == 0  # which rows begin a node of this level
    here = np.full(count, START, np.int64)  # the node of each row
    states = START + 1
    stops = np.array(vocab.stop_ids, np.int64)
    for depth in range(index.length + 1):
        goes_on, ends = _cells(index, depth)
        ending = np.unique(here[ends & (here != LEAF)])  # nodes that are items, perhaps with children
        for stop in stops.tolist():
            parents.append(ending)
            tokens.append(np.full(len(ending), stop))
            targets.append(np.full(len(ending), FINISHED))
        if depth == index.length:
            break
        cells = index.cells(depth, 0, count).astype(np.int64)
        begins = begins | np.concatenate([[True], cells[1:] != cells[:-1]])
        begins &= goes_on
        is_leaf = _is_leaf(index, depth + 1, begins, goes_on)
        numbers = np.full(count, LEAF, np.int64)
        numbers[begins & ~is_leaf] = states + np.arange(int((begins & ~is_leaf).sum()))
        states += int((begins & ~is_leaf).sum())
        parents.append(here[begins])
        tokens.append(cells[begins] - index.shift)
        targets.append(numbers[begins])
        last = np.maximum.accumulate(np.where(begins, np.arange(count), 0))
        here = np.where(goes_on, numbers[last], LEAF)
    for state, target in ((FINISHED, FINISHED), (MISS, MISS), (LEAF, FINISHED)):
        parents.append(np.full(len(stops), state))
        tokens.append(stops)
        targets.append(np.full(len(stops), target))
    return FixedAutomaton(vocab, _sorted(parents, tokens, targets, states, vocab), START)


def _cells(index: ItemIndex, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows go on at a depth, and which end there."""
    count = len(index)
    goes_on = np.full(count, depth < index.length)
    was_open = np.ones(count, bool)
    if index.shift and depth < index.length:
        goes_on = index.cells(depth, 0, count) != END
    if index.shift and depth:
        was_open = index.cells(depth - 1, 0, count) != END
    return goes_on, was_open & ~goes_on


def _is_leaf(index: ItemIndex, depth: int, begins: np.ndarray, goes_on: np.ndarray) -> np.ndarray:
    """For the rows that begin a node: does no row of it go on at this depth?"""
    further, _ = _cells(index, depth)
    node = np.cumsum(begins) - 1
    some = np.zeros(int(begins.sum()) + 1, bool)
    some[node[further & goes_on]] = True
    is_leaf = np.zeros(len(begins), bool)
    is_leaf[begins] = ~some[node[begins]]
    return is_leaf


def _sorted(
    parents: list[np.ndarray], tokens: list[np.ndarray], targets: list[np.ndarray], states: int, vocab: Vocabulary
) -> Csr:
    parent, token, target = (np.concatenate(parts).astype(np.int32) for parts in (parents, tokens, targets))
    order = np.lexsort((token, parent))
    return without_defaults(vocab, np.bincount(parent, minlength=states), token[order], target[order])
