"""Accessors of what narrow passes read: a stack table's rules, pushes and edges, and the few of these that masked tokens take."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.narrow import Narrow
from grammarlm.layout.stack_sets import StackSets


@inlined
def narrow_of(address):
    return carray(pointer(address), int64(Narrow.LENGTH), np.int64)


@inlined
def rules_of(arena):
    starts = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(starts[arena[StackSets.MICROS]])
    return (
        starts,
        carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32),
        carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32),
    )


@inlined
def pushes_of(arena):
    return (
        carray(pointer(arena[StackSets.PUSH_SYMBOL]), arena[StackSets.PUSHES], np.int32),
        carray(pointer(arena[StackSets.PUSH_AFTER]), arena[StackSets.PUSHES], np.int32),
    )


@inlined
def class_range(arena, token_class):
    starts = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    return int64(starts[token_class]), int64(starts[token_class + 1])


@inlined
def class_edges_of(arena):
    starts = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    return carray(pointer(arena[StackSets.CLASS_EDGES]), int64(starts[arena[StackSets.CLASSES]]), np.int32)


@inlined
def every_edge(arena):
    size = arena[StackSets.EVERY_EDGE]
    return (
        carray(pointer(arena[StackSets.EDGE_CONTROL]), size, np.int32),
        carray(pointer(arena[StackSets.EDGE_POINT]), size, np.int32),
    )


@inlined
def few_edges(narrow, is_plain):
    """Those that masked tokens take."""
    size = narrow[Narrow.PLAIN_EDGES if is_plain else Narrow.EDGES]
    return (
        carray(pointer(narrow[Narrow.PLAIN_CONTROL if is_plain else Narrow.EDGE_CONTROL]), size, np.int32),
        carray(pointer(narrow[Narrow.PLAIN_POINT if is_plain else Narrow.EDGE_POINT]), size, np.int32),
    )


@inlined
def every_start(arena, narrow):
    return carray(pointer(narrow[Narrow.EVERY_START]), arena[StackSets.CONTROLS] + 1, np.int32)
