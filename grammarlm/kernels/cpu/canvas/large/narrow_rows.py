"""What may stand at a position, as far as narrow passes know it: classes that can, and classes that perhaps can."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, pointer
from grammarlm.layout.narrow import Narrow
from grammarlm.layout.stack_sets import StackSets

from ..bits import lowest
from ..sets.passes import has_more
from ..sets.records import kinds_of, sets_arena
from ..sets.stack_sets import meet
from .narrow import alive, completed, has_common, lead_few
from .narrow_arrays import class_edges_of, class_range, every_edge, every_start, narrow_of

MOST_BY_EDGES = 4096  # from where no more than so many edges lead on, these are looked at one after another


@kernel("int64(int64, int64, int64, int64, int64)", seconds=6)
def narrow_classes(address, narrow_address, states_address, out_address, maybe_address):
    """uint64 [KIND_WORDS]: the classes that narrow states lead to one another by, and others of which it is not known whether any
    do. States: int32 [4, CONTROLS], before and after the token: narrow ones, then wide ones. Returns FULL."""
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    controls, points, words = arena[StackSets.CONTROLS], arena[StackSets.POINTS], narrow[Narrow.WORDS]
    states = carray(pointer(states_address), (4, controls), np.int32)
    left, right, wide_left, wide_right = int64(0), int64(1), int64(2), int64(3)
    out = carray(pointer(out_address), arena[StackSets.KIND_WORDS], np.uint64)
    maybe = carray(pointer(maybe_address), arena[StackSets.KIND_WORDS], np.uint64)
    classes = kinds_of(arena)
    asks_most = narrow[Narrow.MOST] != 0
    most = carray(pointer(narrow[Narrow.MOST] if asks_most else out_address), len(out), np.uint64)
    for w in range(len(out)):  # until the end OUT has all that is not asked about, too
        out[w] = ~most[w] if asks_most else uint64(0)
        maybe[w] = uint64(0)
    every = carray(pointer(arena[StackSets.CONTROL_CLASSES]), (controls, len(out)), np.uint64)
    from_, to = every_edge(arena)
    kind_of = carray(pointer(arena[StackSets.EDGE_KIND]), arena[StackSets.EVERY_EDGE], np.int32)
    large_start = carray(pointer(narrow[Narrow.LARGE_START]), controls + 1, np.int32)
    large_edge = carray(pointer(narrow[Narrow.LARGE_EDGE]), int64(large_start[controls]), np.int32)
    control_order = carray(pointer(narrow[Narrow.CONTROL_ORDER]), controls, np.int32)
    may = np.zeros(len(out), np.uint64)
    for i in range(controls):
        c = int64(control_order[i])
        if states[wide_left, c]:
            for w in range(len(out)):
                may[w] |= every[c, w]
        if states[left, c] == 0 or not has_more(every, c, out):
            continue
        for k in range(large_start[c], large_start[c + 1]):
            e = int64(large_edge[k])
            kind, stacks = int64(kind_of[e]), int64(states[right, to[e]])
            if stacks and has_more(classes, kind, out) and meet(address, int64(states[left, c]), stacks):
                for w in range(len(out)):
                    out[w] |= classes[kind, w]
    living = alive(states, wide_right, words)
    finals = carray(pointer(narrow[Narrow.FINALS]), (points, words), np.uint64)
    here = carray(pointer(narrow[Narrow.HERE]), points, np.int32)
    other = carray(pointer(narrow[Narrow.OTHER]), points, np.int32)
    starts = every_start(arena, narrow)
    is_few = lead_few(arena, narrow, states, left, int64(MOST_BY_EDGES))
    is_wide_few = lead_few(arena, narrow, states, wide_left, int64(MOST_BY_EDGES))
    for c in range(controls):
        if is_few and states[left, c] and has_more(every, int64(c), out):
            for e in range(starts[c], starts[c + 1]):
                kind = int64(kind_of[e])
                if has_more(classes, kind, out) and meet(
                    address,
                    int64(states[left, c]),
                    completed(address, narrow_address, here, states, right, int64(to[e])),
                ):
                    for w in range(len(out)):
                        out[w] |= classes[kind, w]
    for w in range(len(out)):
        maybe[w] = out[w]
    for c in range(controls):
        if is_wide_few and states[wide_left, c] and has_more(every, int64(c), maybe):
            for e in range(starts[c], starts[c + 1]):
                kind, q = int64(kind_of[e]), int64(to[e])
                if (
                    has_more(classes, kind, maybe)
                    and has_common(finals, q, living)
                    and meet(
                        address,
                        int64(states[wide_left, c]),
                        completed(address, narrow_address, other, states, wide_right, q),
                    )
                ):
                    for w in range(len(out)):
                        maybe[w] |= classes[kind, w]
    of = class_edges_of(arena)
    for w in range(len(out)):
        rest = may[w] & ~out[w]
        if is_few and is_wide_few:
            rest = uint64(0)
        while rest:
            token_class = 64 * int64(w) + lowest(rest)
            bit = rest & (~rest + uint64(1))
            rest &= rest - uint64(1)
            first, last = class_range(arena, token_class)
            for i in range(first if not is_few else last, last):
                e = int64(of[i])
                c, q = int64(from_[e]), int64(to[e])
                if states[left, c] and meet(
                    address, int64(states[left, c]), completed(address, narrow_address, here, states, right, q)
                ):
                    out[w] |= bit
                    break
            if out[w] & bit or maybe[w] & bit:
                continue
            for i in range(first if not is_wide_few else last, last):
                e = int64(of[i])
                c, q = int64(from_[e]), int64(to[e])
                if states[wide_left, c] and has_common(finals, q, living):
                    if meet(
                        address,
                        int64(states[wide_left, c]),
                        completed(address, narrow_address, other, states, wide_right, q),
                    ):
                        maybe[w] |= bit
                        break
            if arena[StackSets.FULL]:
                break
    for w in range(len(out)):
        maybe[w] &= ~out[w]
        if asks_most:
            out[w] &= most[w]
    here[:] = 0
    other[:] = 0
    return arena[StackSets.FULL]


@kernel("int64(int64, int64, int64)")
def narrow_meet(address, first_address, second_address):
    """Has some control the same stack in two rows of states (int32 [CONTROLS])? FULL may be set."""
    controls = sets_arena(address)[StackSets.CONTROLS]
    first = carray(pointer(first_address), controls, np.int32)
    second = carray(pointer(second_address), controls, np.int32)
    for c in range(controls):
        if first[c] and second[c] and meet(address, int64(first[c]), int64(second[c])):
            return 1
    return 0
