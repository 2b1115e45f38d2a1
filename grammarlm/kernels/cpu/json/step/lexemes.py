"""In a string, one of the words of a finite set, or a literal: the thread after one more byte."""

import numpy as np
from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import key_range, longs, thread
from grammarlm.layout.json import DEAD, ESCAPE, FIELD, ROW, At, Frame, Key, Kind

from .frames import extend_chain, is_other
from .languages import after, after_point, case_of, first_that_fits, length_fits, narrow, narrow_point, next_point
from .text import BODY, DONE, PART, QUOTE, RANGES, RAW, WRONG, escape_range, text_step
from .unique import is_unique, is_word_new

LITERALS = np.frombuffer(b" truefalsenull", np.uint8)  # `sub` of a literal is the index of the next byte


@inlined
def dead():
    return int64(DEAD), int64(0), int64(0), int64(0)


@inlined
def literal_step(c, f, byte):
    at = c >> 5 & 63
    c2 = c + 32
    if LITERALS[at] != byte:
        c2 = int64(DEAD)
    elif at == 4 or at == 9 or at == 13:
        c2 = thread(Kind.AFTER, 0, 0, 0)
    return c2, int64(0), int64(0), f


@part
def is_literal_new(arena, f, at):
    """Can a literal, whose next byte is at this index, become an item that is new?"""
    chains_before = arena[At.CHAIN_COUNT]
    chain = longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.TEXT]
    for i in range(at, 5 if at < 5 else 10 if at < 10 else 14):
        chain = extend_chain(arena, chain, int64(LITERALS[i]))
    known = is_other(arena, f, chain)
    arena[At.CHAIN_COUNT] = chains_before
    return not known


@part
def string_step(arena, c, x, y, f, byte):
    program = longs(arena, At.PROGRAM)
    row, sub, count, escape = c >> 11 & ROW, c >> 5 & 63, y >> 24, y & ESCAPE
    least, most, lengths = program[row], program[row + 1], program[row + 3]
    sub2, escape2, what = text_step(sub, escape, byte, arena[At.PLAIN])
    if what == WRONG:
        return dead()
    if what == QUOTE:
        if count < least or (x != 0 and case_of(arena, x) == 0):
            return dead()
        return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f
    if sub == BODY and (least > 0 or most >= 0):
        if most >= 0:
            count += 1
            if count > most:
                return dead()
        else:
            count = min(count + 1, least)
    if x != 0:
        if what == RAW:
            x = after(arena, x, byte)
        elif what == DONE:
            x = after_point(arena, x, escape2)
        else:
            alive = False
            for i in range(RANGES):
                low, high = escape_range(sub2, escape2, arena[At.PLAIN], i)
                alive = alive or first_that_fits(arena, x, low, high, lengths, least, most, count) <= high
            if not alive:
                return dead()
        if x == 0 or (lengths != 0 and what != PART and not length_fits(arena, x, least, most, count)):
            return dead()
    if what == DONE:
        escape2 = int64(0)
    return thread(Kind.STRING, sub2, row, 0), x, count << 24 | escape2, f


@part
def word_step(arena, c, x, y, f, byte):
    program = longs(arena, At.PROGRAM)
    table, sub = c >> 11 & ROW, c >> 5 & 63
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    sub2, escape2, what = text_step(sub, y & ESCAPE, byte, arena[At.PLAIN])
    if what == WRONG:
        return dead()
    if what == QUOTE:
        if program[table + low * Key.LENGTH + Key.SIZE] != read:
            return dead()
        return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f
    if what == RAW:
        low, high = narrow(arena, table, low, high, read, byte)
        read += 1
    elif what == DONE:
        low, high, read = narrow_point(arena, table, low, high, read, escape2)
        escape2 = int64(0)
    elif not range_takes(arena, f, table, low, high, read, sub2, escape2):
        return dead()
    if low >= high or (what != PART and is_unique(arena, f) and not is_word_new(arena, f, table, low, high)):
        return dead()
    return thread(Kind.WORD, sub2, table, 0), key_range(low, high, read), escape2, f


@part
def range_takes(arena, f, table, low, high, read, sub, escape):
    """Does one of the words low to high - 1 continue with a character that an incomplete escape can become? A new word, if
    items are unique.
    """
    unique = is_unique(arena, f)
    for i in range(low, high):
        if can_become(arena, sub, escape, next_point(arena, table, i, read)):
            if not unique or is_word_new(arena, f, table, i, i + 1):
                return True
    return False


@part
def can_become(arena, sub, escape, point):
    """Can an incomplete escape become this code point?"""
    for i in range(RANGES):
        first, last = escape_range(sub, escape, arena[At.PLAIN], i)
        if first <= point <= last:
            return True
    return False
