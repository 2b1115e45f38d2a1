"""The arrays of a suffix tree, its nodes and the table of their children."""

from collections import namedtuple

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.suffix import DEPTH, ROOT, Field, Node

Tree = namedtuple("Tree", ["facts", "text", "nodes", "slots", "cursors"])


@inlined
def tree_of(address):
    facts = carray(pointer(address), int64(Field.LENGTH), np.int64)
    return Tree(
        facts,
        carray(pointer(facts[Field.TEXT]), facts[Field.TEXT_SIZE], np.int32),
        carray(pointer(facts[Field.NODES]), (facts[Field.NODE_ROOM], int64(Node.WIDTH)), np.int32),
        carray(pointer(facts[Field.SLOTS]), facts[Field.SLOT_COUNT], np.int32),
        carray(pointer(facts[Field.CURSORS]), (DEPTH, 2), np.int32),
    )


@inlined
def token_at(tree, place):
    return tree.text[place & (len(tree.text) - 1)]


@inlined
def hashed(tree, parent, token):
    x = uint64(parent) * uint64(0x9E3779B97F4A7C15) ^ uint64(token) * uint64(0xC2B2AE3D27D4EB4F)
    return int64(x ^ x >> uint64(32)) & (len(tree.slots) - 1)


@part
def slot_of(tree, parent, token):
    """The slot of the child of this first token, or the free one where it would be."""
    nodes, slots = tree.nodes, tree.slots
    slot = hashed(tree, parent, token)
    while True:
        child = slots[slot]
        if child == ROOT or (nodes[child, Node.PARENT] == parent and nodes[child, Node.TOKEN] == token):
            return slot
        slot = (slot + 1) & (len(slots) - 1)


@inlined
def child_of(tree, parent, token):
    """ROOT if there is none."""
    return int64(tree.slots[slot_of(tree, parent, token)])


@part
def clear_slot(tree, slot):
    """Frees a slot; later ones that it stood in the way of move up."""
    nodes, slots = tree.nodes, tree.slots
    last = len(slots) - 1
    place = slot
    while True:
        place = (place + 1) & last
        child = slots[place]
        if child == ROOT:
            break
        home = hashed(tree, nodes[child, Node.PARENT], nodes[child, Node.TOKEN])
        if (place - home) & last >= (place - slot) & last:
            slots[slot] = child
            slot = place
    slots[slot] = ROOT


@part
def link(tree, node):
    """Makes it the first child of its parent."""
    nodes = tree.nodes
    parent = nodes[node, Node.PARENT]
    following = nodes[parent, Node.CHILD]
    nodes[node, Node.BEFORE], nodes[node, Node.NEXT] = ROOT, following
    if following != ROOT:
        nodes[following, Node.BEFORE] = node
    nodes[parent, Node.CHILD] = node


@part
def unlink(tree, node):
    nodes = tree.nodes
    before, following = nodes[node, Node.BEFORE], nodes[node, Node.NEXT]
    if before != ROOT:
        nodes[before, Node.NEXT] = following
    else:
        nodes[nodes[node, Node.PARENT], Node.CHILD] = following
    if following != ROOT:
        nodes[following, Node.BEFORE] = before


@part
def new_node(tree, parent, token, start, length, count):
    """A node, in no list and no slot yet."""
    facts, nodes = tree.facts, tree.nodes
    node = facts[Field.FREE]
    if node != ROOT:
        facts[Field.FREE] = nodes[node, Node.PARENT]
    else:
        node = facts[Field.FRESH]
        facts[Field.FRESH] += 1
    facts[Field.ALIVE] += 1
    nodes[node, Node.PARENT], nodes[node, Node.TOKEN] = parent, token
    nodes[node, Node.START], nodes[node, Node.LENGTH] = start & (len(tree.text) - 1), length
    nodes[node, Node.COUNT] = count
    nodes[node, Node.CHILD] = nodes[node, Node.NEXT] = nodes[node, Node.BEFORE] = ROOT
    return node


@part
def free_node(tree, node):
    tree.nodes[node, Node.PARENT] = tree.facts[Field.FREE]
    tree.facts[Field.FREE] = node
    tree.facts[Field.ALIVE] -= 1


@part
def add_leaf(tree, parent, token, place):
    leaf = new_node(tree, parent, token, place, 1, 1)
    tree.slots[slot_of(tree, parent, token)] = leaf
    link(tree, leaf)
    return leaf


@part
def split(tree, node, length):
    """Cuts an edge after `length` tokens, which the running text ends with: the new node above has these, `node` the others."""
    facts, nodes, cursors = tree.facts, tree.nodes, tree.cursors
    parent, token = nodes[node, Node.PARENT], nodes[node, Node.TOKEN]
    above = new_node(tree, parent, token, facts[Field.LAST] - length, length, nodes[node, Node.COUNT])
    unlink(tree, node)
    link(tree, above)
    tree.slots[slot_of(tree, parent, token)] = above
    nodes[node, Node.START] = (nodes[node, Node.START] + length) & (len(tree.text) - 1)
    nodes[node, Node.LENGTH] -= length
    nodes[node, Node.PARENT], nodes[node, Node.TOKEN] = above, tree.text[nodes[node, Node.START]]
    tree.slots[slot_of(tree, above, nodes[node, Node.TOKEN])] = node
    link(tree, node)
    for place in range(facts[Field.LAST] - facts[Field.OPEN], facts[Field.LAST]):
        at = place % DEPTH
        if cursors[at, 0] == node:
            if cursors[at, 1] > length:
                cursors[at, 1] -= length
            else:
                cursors[at, 0] = above
                nodes[node, Node.COUNT] -= 1
    return above


@part
def join(tree, node):
    """Makes one edge of a node and its only child, where all windows go along both."""
    nodes = tree.nodes
    child = int64(nodes[node, Node.CHILD])
    if (
        node == ROOT
        or child == ROOT
        or nodes[child, Node.NEXT] != ROOT
        or nodes[child, Node.COUNT] != nodes[node, Node.COUNT]
    ):
        return
    clear_slot(tree, slot_of(tree, node, nodes[child, Node.TOKEN]))
    parent, token = nodes[node, Node.PARENT], nodes[node, Node.TOKEN]
    slot = slot_of(tree, parent, token)
    unlink(tree, node)
    nodes[child, Node.PARENT], nodes[child, Node.TOKEN] = parent, token
    nodes[child, Node.START] = (nodes[child, Node.START] - nodes[node, Node.LENGTH]) & (len(tree.text) - 1)
    nodes[child, Node.LENGTH] += nodes[node, Node.LENGTH]
    tree.slots[slot] = child
    link(tree, child)
    free_node(tree, node)
