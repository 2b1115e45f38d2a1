"""Where the last tokens of the running text stand in a tree, and what follows a place of a tree."""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.layout.suffix import DEPTH, MATCH, ROOT, Field, Node

from .tree import child_of, token_at

NOWHERE = -1


@inlined
def packed(node, offset):
    """A place in a tree: after `offset` tokens of a node's edge."""
    return int64(node) * DEPTH * 2 + offset


@inlined
def node_of(place):
    return place // (DEPTH * 2)


@inlined
def offset_of(place):
    return place % (DEPTH * 2)


@inlined
def goes_on(tree, node, offset):
    return offset < tree.nodes[node, Node.LENGTH] or tree.nodes[node, Node.CHILD] != ROOT


@inlined
def own_place(own, length):
    """After the last `length` tokens of the running text in its own tree; NOWHERE if nothing has followed them."""
    at = (own.facts[Field.LAST] - length) % DEPTH
    node, offset = int64(own.cursors[at, 0]), int64(own.cursors[at, 1])
    return packed(node, offset) if goes_on(own, node, offset) else int64(NOWHERE)


@part
def place_of(tree, own, length):
    """The same in another tree."""
    nodes = tree.nodes
    first = own.facts[Field.LAST] - length
    node, offset = int64(ROOT), int64(0)
    for i in range(length):
        token = token_at(own, first + i)
        if offset < nodes[node, Node.LENGTH]:
            if token_at(tree, nodes[node, Node.START] + offset) != token:
                return int64(NOWHERE)
            offset += 1
        else:
            node, offset = child_of(tree, node, token), int64(1)
            if node == ROOT:
                return int64(NOWHERE)
    return packed(node, offset) if goes_on(tree, node, offset) else int64(NOWHERE)


@part
def longest_own(own):
    """(length, place) of the longest suffix that something has followed: what follows it has followed all shorter ones."""
    length, place = int64(0), int64(NOWHERE)
    while length < min(own.facts[Field.OPEN], MATCH):
        longer = own_place(own, length + 1)
        if longer == NOWHERE:
            break
        length, place = length + 1, longer
    return length, place


@part
def longest_other(tree, own):
    """The same in another tree: by halving, after one attempt at the longest that there may be."""
    low, place = int64(0), int64(NOWHERE)
    high = min(own.facts[Field.LAST] - own.facts[Field.FIRST], int64(MATCH)) + 1  # no match of so many
    length = high - 1
    while low + 1 < high:
        found = place_of(tree, own, length)
        if found == NOWHERE:
            high = length
        else:
            low, place = length, found
        length = (low + high) // 2
    return low, place
