"""White space between the tokens of a JSON text: an automaton (BLANKS), whose initial state can depend on the gap."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.fields import longs
from grammarlm.layout.json import (
    AFTER_VALUE,
    ARRAY_BIT,
    BARRIER,
    BRACKET,
    FOLLOWS,
    FURTHER,
    INLINE,
    At,
    Frame,
    Gap,
    Kind,
    Object,
)

from .arrays import array_closes, array_continues
from .keys import object_closes, object_continues


@inlined
def blank_index(byte):
    index = int64(-1)
    if byte == 32:
        index = int64(0)
    elif byte == 9:
        index = int64(1)
    elif byte == 10:
        index = int64(2)
    elif byte == 13:
        index = int64(3)
    return index


@inlined
def blanks(arena, state, index):
    """The white space state after one more white space byte, -1: not allowed; index 4: what may follow, see FOLLOWS."""
    return int64(carray(pointer(arena[At.BLANKS]), 1 << 20, np.int16)[state * 5 + index])


@inlined
def may_follow(arena, state, byte):
    """May this byte, no white space, follow the white space?"""
    return blanks(arena, state, int64(4)) & (BRACKET if byte == 93 or byte == 125 else FOLLOWS) != 0


@inlined
def gap_state(arena, c, y, f):
    """The white space state of a thread: at the start of a gap, the initial state of that gap."""
    if y != Gap.START or arena[At.NATURAL] == 0:
        return int64(y)
    return natural_gap(arena, c, f)


@part
def natural_gap(arena, c, f):
    """The initial state of white space here. After it a frame must close, or continue: there is none if the frame
    cannot.
    """
    kind, found = c & 31, int64(Gap.CAN_START)
    if kind == Kind.VALUE:
        found = int64(Gap.AFTER_COLON)
    elif kind == Kind.KEYS or kind == Kind.ENTRY:
        if c >> 5 & 63 != 0:
            found = int64(Gap.AFTER_COMMA)
        elif object_continues(arena, f) if kind == Kind.KEYS else array_continues(arena, f):
            found = int64(Gap.AFTER_OPEN)
    elif kind == Kind.AFTER and f > BARRIER:
        frames = longs(arena, At.FRAMES)
        if frames[f * Frame.LENGTH] == BARRIER:
            note_after_value(arena, f)
        is_array = frames[f * Frame.LENGTH + Frame.ROW] & ARRAY_BIT != 0
        if array_closes(arena, f) if is_array else object_closes(arena, f):
            found = int64(Gap.BEFORE_CLOSE)
    return found


@part
def note_after_value(arena, f):
    """Notes that the row being computed reads its own frame after a value: see kernels/cpu/json/rows/rows.py."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row, seen = frames[f * Frame.LENGTH + Frame.ROW], frames[f * Frame.LENGTH + Frame.SEEN]
    arena[At.BEYOND] |= AFTER_VALUE
    if seen != arena[At.VIEW_SEEN] and row & ARRAY_BIT == 0:
        if program[row + Object.COUNT] > INLINE or seen & ~arena[At.VIEW_SEEN] != 0:
            arena[At.BEYOND] |= FURTHER
