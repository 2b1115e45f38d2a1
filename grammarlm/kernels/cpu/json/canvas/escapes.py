"""Incomplete escapes of a canvas: which of them have the same future.

In a string of any text only surrogates matter. In one of a language an escape stands for a range of code points, which in UTF-8 is
a range of last bytes after the same first ones: two escapes are equal where those first bytes lead the language's automaton to the
same states, and the ranges are at the same place among the last bytes.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.step.languages import after
from grammarlm.kernels.cpu.json.step.text import utf8_byte, utf8_length
from grammarlm.layout.json import SHARED_BIT
from grammarlm.layout.json_strings import HEX, LOW_BACKSLASH, LOW_HEX

BY_STATES = 1 << 62  # marks what is compared in place of an escape
MOST_STATE = 1 << 14  # states are packed four to a word


@inlined
def plain_text_escape(sub, escape):
    """Of an incomplete escape in a string of any text, only what decides whether the second half of a pair must follow."""
    found = int64(0)
    if sub == HEX + 1:
        found = int64(13) if escape == 13 else int64(0)
    elif sub == HEX + 2:
        found = int64(0xD8) if 0xD8 <= escape <= 0xDB else int64(0)
    elif sub == HEX + 3:
        found = int64(0xD80) if 0xD80 <= escape <= 0xDBF else int64(0)
    return found


@part
def after_first_bytes(arena, state, point, last):
    """The state after the bytes of a character but the last few."""
    length = utf8_length(point)
    for i in range(length - last):
        if state != 0:
            state = after(arena, state, utf8_byte(point, length, i))
    return state & (SHARED_BIT - 1)


@part
def four_states(arena, state, point, last, apart):
    """The states after the first bytes of four code points that lie apart, packed; -1: they do not fit."""
    found = int64(0)
    for i in range(4):
        here = after_first_bytes(arena, state, point + i * apart, last)
        if here >= MOST_STATE:
            return int64(-1)
        found = found << int64(14) | here
    return found


@part
def shared_escape(arena, state, sub, escape):
    """What is compared of an incomplete escape in a language's state."""
    packed = int64(-1)
    if sub == HEX + 3 and 0xD80 <= escape <= 0xDBF:  # 16 first halves: four second bytes of four
        packed = four_states(arena, state, ((escape & 0x3F) << 14) + 0x10000, 2, 1 << 12)
    elif sub == HEX + 3 and escape >= 8:  # a quarter of the last bytes
        packed = after_first_bytes(arena, state, escape << 4, 1) << 2 | escape & 3
    elif sub == HEX + 2 and escape > 0 and not 0xD8 <= escape <= 0xDF:  # four bytes before the last
        packed = four_states(arena, state, escape << 8, 1, 1 << 6)
    elif LOW_BACKSLASH <= sub <= LOW_HEX + 1:  # a quarter of the third bytes
        packed = after_first_bytes(arena, state, (escape << 10) + 0x10000, 2) << 2 | escape & 3
    elif sub == LOW_HEX + 2:  # four third bytes
        packed = four_states(arena, state, (escape << 8) + 0x10000, 1, 1 << 6)
    elif sub == LOW_HEX + 3:
        packed = after_first_bytes(arena, state, (escape << 4) + 0x10000, 1) << 2 | escape & 3
    return escape if packed < 0 else packed | BY_STATES
