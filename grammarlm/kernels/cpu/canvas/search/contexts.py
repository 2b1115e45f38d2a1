"""Contexts: what bounds know of a stack (guide.py).

A context is a state of an automaton that reads stacks from the bottom up (masks/canvas/stack/contexts.py makes it); context 0 is
where it begins. All stacks of a context have the same symbol on top. Where there is one context alone, bounds know nothing.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Guide, StackSets

from ..bits import has_bit, lowest
from ..sets.feasible import add_bit
from ..sets.records import sets_arena, words_of


@inlined
def next_of(guide):
    """int32 [CONTEXTS, SYMBOLS]: the context of a stack with one more symbol on top; -1: that cannot be."""
    return carray(pointer(guide[Guide.NEXT]), (guide[Guide.CONTEXTS], guide[Guide.SYMBOLS]), np.int32)


@inlined
def pairs_of(guide, arena):
    """int32 [CONTEXTS, POINTS]: the number of a point with a context, -1: never."""
    return carray(pointer(guide[Guide.PAIR_OF]), (guide[Guide.CONTEXTS], arena[StackSets.POINTS]), np.int32)


@inlined
def belows_in(guide):
    """Where the contexts begin that a pop leads to from each, and these."""
    starts = carray(pointer(guide[Guide.BELOW_START]), guide[Guide.CONTEXTS] + 1, np.int32)
    return starts, carray(pointer(guide[Guide.BELOW]), int64(starts[guide[Guide.CONTEXTS]]), np.int32)


@inlined
def held_words(guide):
    """Of a set of contexts."""
    return (guide[Guide.CONTEXTS] + int64(63)) >> int64(6)


@inlined
def held_of(guide):
    """uint64 [HELD_SETS, words]: the contexts of the stacks in a set."""
    return carray(pointer(guide[Guide.HELD]), (guide[Guide.HELD_SETS], held_words(guide)), np.uint64)


@kernel("int64(int64, int64, int64, int64, int64)")
def sets_of_row(address, states_address, count, place_address, records):
    """Numbers the sets of some states, int32 [count], and all that are below their symbols: int32 [records] by record, 0: none of
    them. Returns how many there are, with 0."""
    arena = sets_arena(address)
    states = carray(pointer(states_address), count, np.int32)
    places, found = carray(pointer(place_address), records, np.int32), int64(1)
    for i in range(count):
        words = words_of(arena, int64(states[i]))
        for j in range(2, len(words)):
            places[words[j]] = 1
    for n in range(records - 1, 0, -1):
        if places[n]:
            words = words_of(arena, int64(n))
            for i in range(2, len(words), 2):
                places[words[i]] = 1
    places[0] = 0
    for n in range(1, records):
        if places[n]:
            places[n] = int32(found)
            found += 1
    return found


@part
def find_held(address, guide_address):
    """HELD of all sets of the row. A set has a higher number than those of what is below its symbols."""
    arena, guide = sets_arena(address), carray(pointer(guide_address), int64(Guide.LENGTH), np.int64)
    held, after = held_of(guide), next_of(guide)
    records = carray(pointer(guide[Guide.HELD_RECORD]), len(held), np.int32)
    place = carray(pointer(guide[Guide.HELD_OF]), arena[StackSets.RECORDS], np.int32)
    for n in range(1, len(held)):
        words = words_of(arena, int64(records[n]))
        for i in range(1, len(words), 2):
            symbol = int64(words[i])
            if symbol == ROOT:
                add_bit(held, int64(n), int64(0))
                continue
            of = int64(place[words[i + 1]])
            for w in range(held.shape[1]):
                bits = held[of, w]
                while bits:
                    context = int64(w) * 64 + lowest(bits)
                    bits &= bits - uint64(1)
                    if after[context, symbol] >= 0:
                        add_bit(held, int64(n), int64(after[context, symbol]))


@inlined
def set_at(words, number):
    """The set of stacks that a number of a state stands for, by the words of the state; 0 where it is 0."""
    return int64(words[1 + number]) if number > 0 else int64(0)


@inlined
def held_at(guide, stacks):
    """The place of a set of the row in HELD; without contexts there are none, and it is as good as any."""
    found = stacks
    if guide[Guide.HELD_SETS] > 0:
        found = int64(carray(pointer(guide[Guide.HELD_OF]), stacks + 1, np.int32)[stacks])
    return found


@inlined
def holds(held, stacks, context):
    """Has a stack of a set, by its place, the context? Without contexts `held` has no rows."""
    return stacks > 0 and (len(held) == 0 or has_bit(held, stacks, context))


@inlined
def held_word(held, stacks, word):
    """The contexts of a set, 64 at a time."""
    return held[stacks, word] if len(held) > 0 else uint64(1)
