"""Marks in a row, around a key that is tracked: what they do to a state's range of tracked keys (layout/json_canvas.py).

A key may be declared in one object and free in another; only free ones are marked, declared ones are in SEEN of the frame.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import longs
from grammarlm.layout.json import FIELD, ROW, At, Frame, Key, Kind, Object
from grammarlm.layout.json_canvas import (
    BEGIN,
    BEGUN,
    END,
    FRESH,
    MARK,
    MOST_MARKS,
    NEED,
    RANGE,
    STATE_WORDS,
    Explore,
)


@inlined
def is_mark(byte):
    return (byte >= BEGIN and byte < BEGIN + MOST_MARKS) or byte == END or byte == NEED


@inlined
def has_ended(mark):
    """Is this a marked key if it ends here?"""
    return mark > FRESH and mark & 1 != 0


@inlined
def mark_after(track):
    """What a byte of a key leaves of its mark, as bits of the range."""
    mark = track >> MARK
    return int64(0) if mark <= FRESH or mark & 1 else mark << MARK


@inlined
def bit_of(work, mark):
    """The bit of a marked key in TEXT of its object's frame."""
    return work[Explore.WORD_COUNT] + (mark >> 1) - 1


@part
def marked_state(arena, work, state, byte):
    """The range of tracked keys of a state after a mark; -1: the mark leaves it out."""
    at = state * STATE_WORDS
    states, program = longs(work, Explore.STATES), longs(arena, At.PROGRAM)
    c, x, track = states[at], states[at + 5], states[at + 4]
    if c & 31 != Kind.KEY:  # x is no range of keys, and asking the program for one reads far outside of it
        return int64(-1) if byte == NEED else track
    mark = track >> MARK
    if byte == NEED:
        text = longs(arena, At.FRAMES)[states[at + 3] * Frame.LENGTH + Frame.TEXT]
        return track & int64(RANGE) if has_ended(mark) and text >> bit_of(work, mark) & 1 else int64(-1)
    if byte != END:
        is_begun = mark == FRESH and byte - BEGIN < work[Explore.MARKS]
        return (track & int64(RANGE)) | (BEGUN + 2 * (byte - BEGIN)) << MARK if is_begun else track
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    row = c >> 11 & ROW
    is_declared = low < high and program[program[row + Object.KEYS] + low * Key.LENGTH + Key.SIZE] == read
    is_begun = mark > FRESH and mark & 1 == 0 and not is_declared
    return track + (int64(1) << MARK) if is_begun else track
