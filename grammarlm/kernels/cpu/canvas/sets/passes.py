"""Both passes over a row of a machine with a stack, by the sets of stacks of each control, and what may stand at a position.

Each step is a question about two numbers, a state and a class, and its answer is kept: a row that differs from another in one token
asks new questions only where the states differ.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.stack_sets import StackSets

from .heights import lowered_state
from .patterns import RUN, pattern_of, spread_inner
from .records import kinds_of, put_answer, record, sets_arena, words_of
from .stack_sets import meet
from .steps import backward_step, forward_step, inner_state


@kernel("int64(int64, int64, int64, int64, int64)", seconds=6)
def sets_forward(address, row_address, steps, states_address, height):
    """int32 [steps + 1]: the states at all boundaries, the first given; without stacks of more symbols than `height`, unless that
    is 0. Returns 0, or why it must begin again."""
    arena = sets_arena(address)
    row = carray(pointer(row_address), steps, np.int32)
    states = carray(pointer(states_address), steps + 1, np.int32)
    for i in range(steps):
        states[i + 1] = forward_step(address, int64(states[i]), int64(row[i]))
        if height and arena[StackSets.FULL] == 0:
            states[i + 1] = lowered_state(address, int64(states[i + 1]), height)
        if arena[StackSets.FULL]:
            break
    return arena[StackSets.FULL]


@kernel("int64(int64, int64, int64, int64, int64, int64)", seconds=6)
def sets_backward(address, row_address, steps, states_address, inner_address, height):
    """int32 [steps + 1]: the states at all boundaries, the last given; int32 [steps]: those within each token. `height`: as in
    sets_forward."""
    arena = sets_arena(address)
    row = carray(pointer(row_address), steps, np.int32)
    states = carray(pointer(states_address), steps + 1, np.int32)
    inner = carray(pointer(inner_address), steps, np.int32)
    for i in range(steps - 1, -1, -1):
        inner[i] = inner_state(address, int64(states[i + 1]), height)
        states[i] = backward_step(address, int64(inner[i]), int64(row[i]))
        if height and arena[StackSets.FULL] == 0:
            states[i] = lowered_state(address, int64(states[i]), height)
        if arena[StackSets.FULL]:
            break
    return arena[StackSets.FULL]


@part
def meeting(address, left, right, known, a, b):
    """Have set a of one state and set b of another a stack in common? `known` keeps what was found."""
    first, second = words_of(sets_arena(address), left), words_of(sets_arena(address), right)
    at = a * int64(len(second)) + b
    if known[at] == 0:
        known[at] = 1 if meet(address, int64(first[1 + a]), int64(second[1 + b])) else 2
    return known[at] == 1


@inlined
def has_more(classes, row, known):
    """Has a row of classes one that is not known?"""
    more = uint64(0)
    for w in range(len(known)):
        more |= classes[row, w] & ~known[w]
    return more != 0


@kernel("int64(int64, int64, int64, int64)", seconds=3)
def sets_classes(address, before, inner, out_address):
    """uint64 [KIND_WORDS]: the classes that lead from a state before a token to one within it. Returns FULL. Most controls have
    only classes that another has led on with, so their edges are not looked at."""
    arena = sets_arena(address)
    out = carray(pointer(out_address), arena[StackSets.KIND_WORDS], np.uint64)
    out[:] = uint64(0)
    spread_inner(address, pattern_of(arena, inner))
    from_, to = (
        words_of(arena, pattern_of(arena, before)),
        carray(pointer(arena[StackSets.INNER_OF]), arena[StackSets.POINTS], np.int32),
    )
    sizes = int64(len(words_of(arena, before))), int64(len(words_of(arena, inner)))
    known = np.zeros(sizes[0] * sizes[1], np.uint8)
    starts = carray(pointer(arena[StackSets.CONTROL_START]), arena[StackSets.CONTROLS] + 1, np.int32)
    points = carray(pointer(arena[StackSets.EDGE_POINT]), arena[StackSets.EDGES], np.int32)
    kind_of = carray(pointer(arena[StackSets.EDGE_KIND]), arena[StackSets.EDGES], np.int32)
    classes = kinds_of(arena)
    every = carray(
        pointer(arena[StackSets.CONTROL_CLASSES]), (arena[StackSets.CONTROLS], arena[StackSets.KIND_WORDS]), np.uint64
    )
    for i in range(1, len(from_), RUN):
        a = int64(from_[i + 2])
        for c in range(from_[i], from_[i + 1]):
            if not has_more(every, c, out):
                continue
            for e in range(starts[c], starts[c + 1]):
                b, kind = int64(to[points[e]]), int64(kind_of[e])
                if b and has_more(classes, kind, out) and meeting(address, before, inner, known, a, b):
                    for w in range(len(out)):
                        out[w] |= classes[kind, w]
    return arena[StackSets.FULL]


@kernel("int64(int64, int64, int64)", seconds=2)
def sets_meet(address, left, right):
    """Has some control of two states a stack in common? 1 or 0, -1 where it must be asked again."""
    arena = sets_arena(address)
    first, second = words_of(arena, pattern_of(arena, left)), words_of(arena, pattern_of(arena, right))
    known = np.zeros(int64(len(words_of(arena, left))) * int64(len(words_of(arena, right))), np.uint8)
    found, i, j = int64(0), int64(1), int64(1)
    while i < len(first) and j < len(second):
        overlap = first[i] < second[j + 1] and second[j] < first[i + 1]
        if overlap and meeting(address, left, right, known, int64(first[i + 2]), int64(second[j + 2])):
            found = int64(1)
            break
        if first[i + 1] <= second[j + 1]:
            i += RUN
        else:
            j += RUN
    return found if arena[StackSets.FULL] == 0 else int64(-1)


@kernel("int64(int64, int64, int64)")
def sets_record(address, words_address, count):
    """The number of a record, made if need be; 0 where there is no room."""
    return record(address, words_address, count, int64(1))


@kernel("void(int64)")
def sets_rehash(address):
    """Fills SLOT, which is empty, with all records."""
    arena = sets_arena(address)
    slots, mask = carray(pointer(arena[StackSets.SLOT]), arena[StackSets.SLOTS], np.int32), arena[StackSets.SLOTS] - 1
    hashes = carray(pointer(arena[StackSets.HASH]), arena[StackSets.RECORD_CAPACITY], np.uint64)
    for n in range(1, arena[StackSets.RECORDS]):
        at = int64(hashes[n]) & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = n


@kernel("void(int64, int64, int64, int64)")
def sets_remember(address, asked_address, answers_address, slots):
    """Takes the answers of an arena that had as many slots."""
    asked = carray(pointer(asked_address), slots, np.uint64)
    answers = carray(pointer(answers_address), slots, np.int32)
    for at in range(slots):
        if asked[at] != 0:
            put_answer(address, asked[at], int64(answers[at]))
