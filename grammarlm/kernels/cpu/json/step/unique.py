"""Unique items (`uniqueItems`): strings, numbers and literals.

The frame of such an array holds the text of the item being read (TEXT, a chain as in keys.py) and a list of the earlier ones
(OTHERS). Equal values have equal texts: a string's is decoded, a number's is put into a canonical form when it ends.

An item is live iff it can become one that is new: `begins_new`, `string_can_differ`, `number_can_differ`.
"""

import numpy as np
from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import longs, octets
from grammarlm.layout.json import ARRAY_BIT, BARRIER, Array, At, Frame, Key, Kind
from grammarlm.layout.numbers import Flag, Number

from .frames import (
    add_other,
    begun_like,
    copy_frame,
    extend_chain,
    is_other,
)
from .keys import all_gone
from .languages import after_point, first_point
from .number_values import word
from .numbers import number_ends, number_step
from .text import (
    BODY,
    DONE,
    LAST_1,
    LAST_2,
    LEAD_E0,
    QUOTE,
    RANGES,
    RAW,
    escape_range,
    text_step,
    utf8_byte,
    utf8_length,
)

FEWEST_OF_ESCAPE, FEWEST_OF_BYTE = (
    16,
    64,
)  # lower bounds: characters that an incomplete escape, or its first bytes, can become
MOST_TRIED = 20_000  # steps of the search for a new number
NUMBER_BYTES = np.frombuffer(b"1234567890.eE-+", np.uint8)


@inlined
def is_unique(arena, f):
    if f <= BARRIER:
        return False
    row = longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.ROW]
    return row & ARRAY_BIT != 0 and longs(arena, At.PROGRAM)[(row & ~int64(ARRAY_BIT)) + Array.UNIQUE] != 0


@part
def with_text(arena, f, byte):
    """The frame with one more byte of its item."""
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
    """The frame after its item; -1 if an equal item exists."""
    frames = longs(arena, At.FRAMES)
    text = frames[f * Frame.LENGTH + Frame.TEXT]
    if is_other(arena, f, text):
        return int64(-1)
    made = copy_frame(arena, f)
    add_other(arena, made, text)
    frames[made * Frame.LENGTH + Frame.TEXT] = 0
    return made


@part
def read_item(arena, c, y, f, byte):
    """The frame after one byte of a string or literal; -1 if the item ends and is not new."""
    kind = c & 31
    if kind == Kind.LITERAL:
        made = with_text(arena, f, byte)
        at = c >> 5 & 63
        return finished(arena, made) if at == 4 or at == 9 or at == 13 else made
    _, escape2, what = text_step(c >> 5 & 63, y & ((1 << 24) - 1), byte, arena[At.PLAIN])
    if what == RAW:
        return with_text(arena, f, byte)
    if what == DONE:
        return with_point(arena, f, escape2)
    return finished(arena, f) if what == QUOTE else f


@part
def number_ended(arena, f):
    """The frame after a number. Its text becomes canonical: sign, digits without leading and trailing zeros, their power of ten."""
    frames, chains = longs(arena, At.FRAMES), longs(arena, At.CHAINS)
    made = copy_frame(arena, f)
    at = made * Frame.LENGTH
    size = int64(0)
    entry = frames[at + Frame.TEXT]
    text = np.empty(2048, np.uint8)
    while entry != 0 and size < 2048:  # the list runs backwards
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
    last, begun = int64(-1), int64(-1)  # significant digits, as indexes into `text`
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
        for i in range(last + 1, end):  # zeros after the last significant digit
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
def is_text_new(arena, f, chain, start, size):
    """Is the chain, and after it this text in the blob, new among the items?"""
    chains_before, blob = arena[At.CHAIN_COUNT], octets(arena, At.BLOB)
    for i in range(start, start + size):
        chain = extend_chain(arena, chain, int64(blob[i]))
    known = is_other(arena, f, chain)
    arena[At.CHAIN_COUNT] = chains_before
    return not known


@part
def is_word_new(arena, f, table, low, high):
    """Is one of the words low to high - 1 new among the items?"""
    program, chains_before, found = longs(arena, At.PROGRAM), arena[At.CHAIN_COUNT], False
    quote = extend_chain(arena, int64(0), int64(34))
    for i in range(low, high):
        word = table + i * Key.LENGTH
        if is_text_new(arena, f, quote, program[word + Key.BYTES], program[word + Key.SIZE]):
            found = True
            break
    arena[At.CHAIN_COUNT] = chains_before
    return found


@part
def string_can_differ(arena, c, x, y, f):
    """Can the string being read become a new item?"""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    if frames[f * Frame.LENGTH + Frame.OTHERS] == 0:
        return True
    sub, count, escape, most = c >> 5 & 63, y >> 24, y & ((1 << 24) - 1), program[(c >> 11 & ((1 << 24) - 1)) + 1]
    if x == 0 and (most < 0 or count < most):
        return True  # another character may follow
    text = frames[f * Frame.LENGTH + Frame.TEXT]
    gone = begun_like(arena, f, text)
    if gone == 0:
        return True
    if sub == BODY:
        return gone == 0 if x == 0 else not all_gone(arena, x, gone)
    if sub >= LAST_1:
        if x != 0:
            return not all_gone(arena, x, gone)
        fewest = int64(FEWEST_OF_BYTE)
        if sub == LAST_2:
            fewest *= 64
        elif sub >= LEAD_E0:
            fewest *= 32
        return gone < fewest
    if x == 0 and arena[At.PLAIN] == 0 and gone < FEWEST_OF_ESCAPE:
        return True
    for i in range(RANGES):
        first, last = escape_range(sub, escape, arena[At.PLAIN], i)
        if takes_new(arena, x, f, text, first, last):
            return True
    return False


@part
def takes_new(arena, state, f, text, point, last):
    """Is there a character of point..last with which the string is, or can become, new? In state 0 it is the last character."""
    chains_before = arena[At.CHAIN_COUNT]
    while point <= last:
        if state != 0:
            point = first_point(arena, state, point, last)
        elif 0xD800 <= point <= 0xDFFF:
            point = int64(0xE000)
        if point > last:
            break
        longer, length = text, utf8_length(point)
        for i in range(length):
            longer = extend_chain(arena, longer, utf8_byte(point, length, i))
        gone = begun_like(arena, f, longer)
        arena[At.CHAIN_COUNT] = chains_before
        if gone == 0 or (state != 0 and not all_gone(arena, after_point(arena, state, point), gone)):
            return True
        point += 1
    return False


@part
def number_can_differ(arena, row, x, y, f):
    """The same for a number: most are new as they are, or with one more digit; otherwise a search tries all continuations."""
    if longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.OTHERS] == 0:
        return True
    if word(row, Number.FLAGS) & Flag.SINGLE:
        return is_text_new(arena, f, int64(0), word(row - 16, 0), word(row - 16, 1))
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    stack = np.empty((512, 4), np.int64)  # state, frame, next byte to try
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = x, y, f, -1
    depth, tried, found = int64(0), int64(0), False
    while depth >= 0 and not found:
        x1, y1, f1, at = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        tried += 1
        if at < 0:
            found = number_ends(row, x1, y1) and number_ended(arena, f1) >= 0
            found = found or tried > MOST_TRIED or depth >= 511
            at = int64(0)
        x2, y2 = int64(-1), int64(0)
        while at < len(NUMBER_BYTES) and x2 < 0:
            x2, y2 = number_step(row, x1, y1, int64(NUMBER_BYTES[at]))
            at += 1
        stack[depth, 3] = at
        if x2 >= 0:
            depth += 1
            stack[depth, 0], stack[depth, 1] = x2, y2
            stack[depth, 2], stack[depth, 3] = with_text(arena, f1, int64(NUMBER_BYTES[at - 1])), -1
        else:
            depth -= 1
        if arena[At.WANTED] != 0:
            break
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    return found or arena[At.WANTED] != 0
