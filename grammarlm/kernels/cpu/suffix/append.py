"""A text grows by tokens, ends, and is forgotten from its first place on."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.suffix import DEPTH, END, ROOT, Field, Node

from .tree import (
    add_leaf,
    child_of,
    clear_slot,
    free_node,
    join,
    link,
    slot_of,
    split,
    token_at,
    tree_of,
    unlink,
)


@kernel("int64(int64, int64, int64)", holds_gil=True)
def suffix_append(address, tokens_address, count):
    """The running text has these tokens more; how many of them there was room for."""
    tree = tree_of(address)
    tokens = carray(pointer(tokens_address), count, np.int32)
    for i in range(count):
        if not has_room(tree):
            return i
        append(tree, tokens[i])
    return count


@inlined
def has_room(tree):
    """For a token, and for the END after it: each window may need a leaf and a cut, and each may be cut at the end."""
    facts = tree.facts
    places = facts[Field.LAST] - facts[Field.FIRST] + 2
    nodes, least = facts[Field.NODE_ROOM] - facts[Field.ALIVE], 3 * int64(DEPTH) + 2
    return places <= len(tree.text) and nodes >= least


@part
def append(tree, token):
    facts, nodes, cursors = tree.facts, tree.nodes, tree.cursors
    last = facts[Field.LAST]
    tree.text[last & (len(tree.text) - 1)] = token
    first = last - facts[Field.OPEN]
    for place in range(first, last + 1):
        at = place % DEPTH
        node, offset = int64(ROOT), int64(0)
        if place < last:
            node, offset = int64(cursors[at, 0]), int64(cursors[at, 1])
        if offset < nodes[node, Node.LENGTH]:
            if token_at(tree, nodes[node, Node.START] + offset) == token:
                offset += 1
            else:
                node, offset = add_leaf(tree, split(tree, node, offset), token, last), int64(1)
        else:
            child = child_of(tree, node, token)
            if child != ROOT:
                node, offset = child, int64(1)
                nodes[node, Node.COUNT] += 1
                if nodes[node, Node.BEFORE] != ROOT:
                    unlink(tree, node)
                    link(tree, node)
            elif node != ROOT and nodes[node, Node.COUNT] == 1:
                offset += 1
                nodes[node, Node.LENGTH] = offset
            else:
                node, offset = add_leaf(tree, node, token, last), int64(1)
        if offset == nodes[node, Node.LENGTH]:
            nodes[node, Node.START] = (last - offset + 1) & (len(tree.text) - 1)
        cursors[at, 0], cursors[at, 1] = node, offset
    facts[Field.LAST] = last + 1
    facts[Field.OPEN] = min(last + 1 - first, DEPTH - 1)


@kernel("void(int64)", holds_gil=True)
def suffix_end(address):
    """The running text has ended; the next one begins."""
    end(tree_of(address))


@part
def end(tree):
    facts, nodes, cursors = tree.facts, tree.nodes, tree.cursors
    last = facts[Field.LAST]
    for place in range(last - facts[Field.OPEN], last):
        at = place % DEPTH
        node, offset = int64(cursors[at, 0]), int64(cursors[at, 1])
        if offset < nodes[node, Node.LENGTH]:
            split(tree, node, offset)
    tree.text[last & (len(tree.text) - 1)] = END
    facts[Field.LAST] = last + 1
    facts[Field.OPEN] = 0


@kernel("void(int64, int64, int64)", holds_gil=True)
def suffix_forget(address, places, nodes):
    """Forgets the oldest places until there is room for so many places and nodes, or nothing is left.

    A text that still runs ends: its cursors know nothing of nodes that are cut off.
    """
    tree = tree_of(address)
    facts = tree.facts
    if facts[Field.OPEN] > 0:
        end(tree)
    while facts[Field.FIRST] < facts[Field.LAST] and (
        facts[Field.LAST] - facts[Field.FIRST] + places > len(tree.text)
        or facts[Field.NODE_ROOM] - facts[Field.ALIVE] < nodes
    ):
        if token_at(tree, facts[Field.FIRST]) != END:
            forget(tree, facts[Field.FIRST])
        facts[Field.FIRST] += 1


@part
def forget(tree, place):
    """The window at this place is no longer counted."""
    nodes = tree.nodes
    node, depth = int64(ROOT), int64(0)
    while depth < DEPTH and token_at(tree, place + depth) != END:
        child = child_of(tree, node, token_at(tree, place + depth))
        depth += nodes[child, Node.LENGTH]
        nodes[child, Node.COUNT] -= 1
        if nodes[child, Node.COUNT] == 0:
            clear_slot(tree, slot_of(tree, node, nodes[child, Node.TOKEN]))
            unlink(tree, child)
            while child != ROOT:  # a window alone: one child at most
                below = int64(nodes[child, Node.CHILD])
                if below != ROOT:
                    clear_slot(tree, slot_of(tree, child, nodes[below, Node.TOKEN]))
                free_node(tree, child)
                child = below
            break
        node = child
    join(tree, node)


@kernel("void(int64)", holds_gil=True)
def suffix_rehash(address):
    """Fills the empty table of children."""
    tree = tree_of(address)
    nodes = tree.nodes
    node = int64(nodes[ROOT, Node.CHILD])
    while node != ROOT:  # all nodes, those above first
        tree.slots[slot_of(tree, nodes[node, Node.PARENT], nodes[node, Node.TOKEN])] = node
        if nodes[node, Node.CHILD] != ROOT:
            node = int64(nodes[node, Node.CHILD])
        else:
            while node != ROOT and nodes[node, Node.NEXT] == ROOT:
                node = int64(nodes[node, Node.PARENT])
            node = int64(nodes[node, Node.NEXT])
