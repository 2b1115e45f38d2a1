"""Borders: what the rest of a text must satisfy. A border is a state of an automaton over bytes whose rows Python makes."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack import ANY, EXPANDED, NEED_ANSWER, NEED_BORDER, NUMBER, Field

from .arena import arena_of, entry_of, first_slot, ints, longs, missing, mixed, octets


@part
def answer(address, q, s, b):
    """What Python has answered: can a thread (q, s, b) be finished; or, where q is 0, the conjunction of the borders s and b. Or a
    missing code.
    """
    arena = arena_of(address)
    size = arena[Field.ANSWER_HASH_SIZE]
    table = longs(arena, Field.ANSWER_HASH, size)
    answers = carray(pointer(arena[Field.ANSWERS]), (arena[Field.ANSWER_COUNT], 4), np.int32)
    entry = entry_of(mixed(mixed(q, b), s + 1), 0)
    at = first_slot(entry, size)
    while table[at] >= 0:
        found = table[at] & NUMBER
        if answers[found, 0] == q and answers[found, 1] == s and answers[found, 2] == b:
            return int64(answers[found, 3])
        at = (at + 1) & (size - 1)
    question = longs(arena, Field.QUESTION, 5)
    question[0], question[1], question[2], question[3], question[4] = q, s, b, at, entry
    return missing(NEED_ANSWER, 0)


@part
def both(address, b, c):
    """The border that is satisfied iff both are, or a missing code."""
    if b == c or c == ANY:
        return int64(b)
    if b == ANY:
        return int64(c)
    return answer(address, int64(0), min(int64(b), int64(c)), max(int64(b), int64(c)))


@part
def border_after(address, border, byte):
    """The border after a byte, 0 if it is violated, or a missing code."""
    if border == ANY:
        return int64(ANY)
    arena = arena_of(address)
    if octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    classes = arena[Field.CLASSES]
    column = int64(octets(arena, Field.CLASS_OF, 256)[byte])
    return int64(ints(arena, Field.B_NEXT, (border + 1) * classes)[border * classes + column])
