"""Items that must all be different: strings, numbers and literals.

The frame of such an array holds the text of the item being read (TEXT, a chain as in json_keys.py) and a list of those before it
(OTHERS). Equal values have equal texts: a string's is decoded, a number's is brought to one form when it ends.
"""

import numpy as np
from numba import carray, int64

from .jit import inlined, part, pointer
from .json_keys import copy_frame, extend_chain, is_other, new_entries
from .json_places import ARRAY_BIT, BARRIER, Array, At, Frame, Key, Kind, longs
from .json_text import DONE, QUOTE, RAW, text_step, utf8_byte, utf8_length


@inlined
def is_unique(arena, f):
    if f <= BARRIER:
        return False
    row = longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.ROW]
    return row & ARRAY_BIT != 0 and longs(arena, At.PROGRAM)[(row & ~int64(ARRAY_BIT)) + Array.UNIQUE] != 0


@part
def with_text(arena, f, byte):
    """The frame with one byte more of its item."""
    frames = longs(arena, At.FRAMES)
    made = copy_frame(arena, f)
    at = made * Frame.LENGTH
    frames[at + Frame.TEXT] = extend_chain(arena, frames[at + Frame.TEXT], byte)
    return made


@part
def with_point(arena, f, point):
    frames = longs(arena, At.FRAMES)
    made = copy_frame(arena, f)
    at = made * Frame.LENGTH
    length = utf8_length(point)
    for i in range(length):
        frames[at + Frame.TEXT] = extend_chain(arena, frames[at + Frame.TEXT], utf8_byte(point, length, i))
    return made


@part
def finished(arena, f):
    """The frame behind its item; -1 where there has been an equal one."""
    frames, chains = longs(arena, At.FRAMES), longs(arena, At.CHAINS)
    text = frames[f * Frame.LENGTH + Frame.TEXT]
    if is_other(arena, f, text):
        return int64(-1)
    made = copy_frame(arena, f)
    at = made * Frame.LENGTH
    entry = new_entries(arena, 1)
    if entry != 0:
        chains[2 * entry] = frames[at + Frame.OTHERS]
        chains[2 * entry + 1] = text
        frames[at + Frame.OTHERS] = entry
    frames[at + Frame.TEXT] = 0
    return made


@part
def read_item(arena, c, y, f, byte):
    """The frame behind one byte of a string or literal; -1 where the item ends and is not new."""
    kind = c & 31
    if kind == Kind.LITERAL:
        made = with_text(arena, f, byte)
        at = c >> 5 & 63
        return finished(arena, made) if at == 4 or at == 9 or at == 13 else made
    _, escape2, what = text_step(c >> 5 & 63, y & ((1 << 24) - 1), byte)
    if what == RAW:
        return with_text(arena, f, byte)
    if what == DONE:
        return with_point(arena, f, escape2)
    return finished(arena, f) if what == QUOTE else f


@part
def number_ended(arena, f):
    """The frame behind a number: its text in one form, the sign, digits without zeros around them, and their power of ten."""
    frames, chains = longs(arena, At.FRAMES), longs(arena, At.CHAINS)
    made = copy_frame(arena, f)
    at = made * Frame.LENGTH
    size = int64(0)
    entry = frames[at + Frame.TEXT]
    text = np.empty(2048, np.uint8)
    while entry != 0 and size < 2048:  # backwards
        text[2047 - size] = chains[2 * entry + 1] & 0xFF
        entry = chains[2 * entry]
        size += 1
    first = 2048 - size
    power, scale, sign = int64(0), int64(0), int64(1)
    end = int64(2048)
    for i in range(first, 2048):
        if text[i] == 101 or text[i] == 69:
            end = i
            for j in range(i + 1, 2048):
                if text[j] == 45:
                    sign = int64(-1)
                elif text[j] != 43:
                    power = power * 10 + int64(text[j]) - 48
            break
    power *= sign
    point = False
    last, begun = int64(-1), int64(-1)  # the digits that count, as places in text
    for i in range(first, end):
        if text[i] == 46:
            point = True
        elif text[i] != 45:
            if point:
                scale -= 1
            if text[i] != 48:
                last = i
                if begun < 0:
                    begun = i
    chain = extend_chain(arena, int64(0), int64(110))  # n
    if begun >= 0:
        for i in range(last + 1, end):  # zeros behind the last digit that counts
            if text[i] == 48:
                scale += 1
        if text[first] == 45:
            chain = extend_chain(arena, chain, int64(45))
        for i in range(begun, last + 1):
            if text[i] != 46:
                chain = extend_chain(arena, chain, int64(text[i]))
        power += scale
        for i in range(3):
            chain = extend_chain(arena, chain, (power + 65536) >> (8 * i) & 0xFF)
    frames[at + Frame.TEXT] = chain
    return finished(arena, made)


@part
def is_word_new(arena, f, table, low, high):
    """Is one of the words low..high not among the items yet?"""
    program, frames, chains = longs(arena, At.PROGRAM), longs(arena, At.FRAMES), longs(arena, At.CHAINS)
    blob = carray(pointer(arena[At.BLOB]), 1 << 40, np.uint8)
    for i in range(low, high):
        start, size = program[table + i * Key.LENGTH + Key.BYTES], program[table + i * Key.LENGTH + Key.SIZE]
        known = False
        entry = frames[f * Frame.LENGTH + Frame.OTHERS]
        while entry != 0 and not known:
            chain = chains[2 * entry + 1]
            if chains[2 * chain + 1] >> 8 & 0xFFFFFF == size + 1:
                at = size - 1
                while at >= 0 and chains[2 * chain + 1] & 0xFF == blob[start + at]:
                    chain = chains[2 * chain]
                    at -= 1
                known = at < 0 and chains[2 * chain + 1] & 0xFF == 34
            entry = chains[2 * entry]
        if not known:
            return True
    return False
