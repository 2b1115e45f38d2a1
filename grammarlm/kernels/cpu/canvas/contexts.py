"""Contexts: what bounds know of a stack (guide.py), its top and bottom symbol and its height up to HEIGHT. With HEIGHT 0 they know
nothing: all stacks have context 0.

Otherwise HEIGHT is 2 or more, and 0 is the empty stack.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Guide, Record, StackSets

from .arrays import has_bit, lowest
from .feasible import add_bit
from .records import sets_arena, words_of


@inlined
def context_of(top, bottom, high, symbols, height):
    return 1 + ((top - 1) * (symbols - 1) + bottom - 1) * height + high - 1


@inlined
def bottom_of(context, symbols, height):
    return (context - 1) // height % (symbols - 1) + 1


@inlined
def high_of(context, height):
    return (context - 1) % height + 1


@inlined
def pushed(context, symbol, symbols, height):
    """The context of a stack with one more symbol on top."""
    if height == 0:
        found = int64(0)
    elif context == 0:
        found = context_of(symbol, symbol, int64(1), symbols, height)
    else:
        high = min(high_of(context, height) + 1, height)
        found = context_of(symbol, bottom_of(context, symbols, height), high, symbols, height)
    return found


@inlined
def top_of(context, symbols, height):
    """The symbol on top; ROOT of the empty stack. Where HEIGHT is not 0."""
    return (context - 1) // (height * (symbols - 1)) + 1 if context > 0 else int64(ROOT)


@inlined
def pairs_of(guide, arena):
    """int32 [POINTS, CONTEXTS]: the number of a point with a context, -1: never."""
    return carray(pointer(guide[Guide.PAIR_OF]), (arena[StackSets.POINTS], guide[Guide.CONTEXTS]), np.int32)


@inlined
def held_of(guide):
    """uint64 [HELD_SETS, words]: the contexts of the stacks in a set."""
    shape = guide[Guide.HELD_SETS], (guide[Guide.CONTEXTS] + int64(63)) >> int64(6)
    return carray(pointer(guide[Guide.HELD]), shape, np.uint64)


@part
def find_held(address, guide_address):
    """HELD of all sets. A set has a higher number than those of what is below its symbols."""
    arena, guide = sets_arena(address), carray(pointer(guide_address), int64(Guide.LENGTH), np.int64)
    held, symbols, height = held_of(guide), arena[StackSets.SYMBOLS], guide[Guide.HEIGHT]
    for n in range(1, len(held)):
        words = words_of(arena, int64(n))
        if words[0] != Record.SET:
            continue
        for i in range(1, len(words), 2):
            symbol = int64(words[i])
            if symbol == ROOT:
                add_bit(held, int64(n), int64(0))
                continue
            for w in range(held.shape[1]):
                bits = held[words[i + 1], w]
                while bits:
                    context = int64(w) * 64 + lowest(bits)
                    bits &= bits - uint64(1)
                    add_bit(held, int64(n), pushed(context, symbol, symbols, height))


@inlined
def set_at(words, number):
    """The set of stacks that a number of a state stands for, by the words of the state; 0 where it is 0."""
    return int64(words[1 + number]) if number > 0 else int64(0)


@inlined
def holds(held, stacks, context):
    """Has a stack of a set the context? Without contexts `held` has no rows."""
    return stacks > 0 and (len(held) == 0 or has_bit(held, stacks, context))


@inlined
def held_word(held, stacks, word):
    """The contexts of a set, 64 at a time."""
    return held[stacks, word] if len(held) > 0 else uint64(1)
