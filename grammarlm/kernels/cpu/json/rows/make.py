"""Computes the row of one thread, independent of the frames around its own, by kind of position.

White space and what may follow it (`enter`), values, strings and keys of a language, declared keys and all others. A token that
leaves the frame is noted as a crossing. A row that misses something (a state, room) is recomputed.
"""

import numpy as np
from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, key_range, longs, thread
from grammarlm.kernels.cpu.json.step.arrays import array_row, ways_at
from grammarlm.kernels.cpu.json.step.blanks import gap_state
from grammarlm.kernels.cpu.json.step.keys import missing_count, with_other
from grammarlm.kernels.cpu.json.step.languages import (
    ask_for,
    case_of,
    goes_on_as_text,
    is_total,
    is_universal,
    table_of,
)
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.layout.json import (
    DEAD,
    FIELD,
    INLINE,
    NO_LANGUAGE,
    ROW,
    SHARED_BIT,
    Array,
    At,
    Frame,
    Gap,
    Kind,
    Object,
    Shape,
    Spot,
    Want,
)

from .closers import BASE_BODY, BASE_ZERO, closers_after, other_keys
from .correct import differ, is_of_case
from .make_language import make_key, make_string, make_total_key
from .rows import copy_base
from .walk import visit, walk

VALUE_BYTES = np.frombuffer(b'"-0123456789[fnt{', np.uint8)


@inlined
def is_plain_string(program, row):
    return program[row] == 0 and program[row + 1] < 0 and program[row + 2] == 0


@part
def enter(arena, spot, byte, c, x, f, but_plain, row):
    """Adds all tokens of white space, the byte, and more: the thread is before them. `but_plain`: except for the alternative of
    an unrestricted string, which the base row has.
    """
    spots, program, frames = longs(arena, At.SPOTS), longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = spot * Spot.LENGTH
    offsets, nodes = ints(spots, at + Spot.OFFSETS), ints(spots, at + Spot.NODES)
    if offsets[byte] == offsets[byte + 1]:
        return
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    way = int64(0)
    while arena[At.WANTED] & Want.OUT_OF_ROOM == 0:
        c2, x2, y2, f2 = step(arena, c, x, int64(Gap.CAN_START), f, int64(byte), way)
        more = arena[At.MORE]
        is_left_out = but_plain and c2 & 31 == Kind.STRING and is_plain_string(program, c2 >> 11 & ROW)
        is_left_out = (
            is_left_out and frames[f2 * Frame.LENGTH + Frame.NEEDED] == frames[f * Frame.LENGTH + Frame.NEEDED]
        )
        if c2 != DEAD and not is_left_out:
            for i in range(offsets[byte], offsets[byte + 1]):
                visit(arena, int64(nodes[i]), c2, x2, y2, f2, row)
        if more == 0:
            break
        way += 1
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def has_plain_string(program, node):
    for i in range(program[node]):
        if program[node + 2 + 2 * i] == Shape.STRING and is_plain_string(program, program[node + 3 + 2 * i]):
            return True
    return False


@part
def make_value(arena, spot, c, x, f, strings, row):
    """White space and the beginning of a value, as allowed by a node's alternatives (or all ways to read an item)."""
    for byte in VALUE_BYTES:
        enter(arena, spot, int64(byte), c, x, f, strings, row)


@part
def make_row(arena, c, x, y, f, row):
    """The row of a thread whose frames end at the barrier: (base, trie of remainders). Crossings are noted."""
    program, frames, spots = longs(arena, At.PROGRAM), longs(arena, At.FRAMES), longs(arena, At.SPOTS)
    kind, own = c & 31, c >> 11 & ROW
    base, remainders = int64(BASE_ZERO), int64(-1)
    if kind == Kind.AFTER or kind == Kind.KEYS or kind == Kind.COLON or kind == Kind.VALUE or kind == Kind.ENTRY:
        y = gap_state(arena, c, y, f)
        spot = y * Spot.LENGTH
        base = spots[spot + Spot.BLANK_BASE]
        if kind == Kind.AFTER:
            copy_base(arena, base, row)
            enter(arena, y, int64(44), c, x, f, False, row)
            enter(arena, y, int64(125), c, x, f, False, row)
            enter(arena, y, int64(93), c, x, f, False, row)
        elif kind == Kind.COLON:
            copy_base(arena, base, row)
            enter(arena, y, int64(58), c, x, f, False, row)
        elif kind == Kind.VALUE:
            strings = has_plain_string(program, own)
            if strings:
                base, remainders = spots[spot + Spot.START_BASE], spots[spot + Spot.REMAINDERS]
            copy_base(arena, base, row)
            make_value(arena, y, c, x, f, strings, row)
        elif kind == Kind.ENTRY:
            array = array_row(frames, f)
            most, count = program[array + Array.MOST], frames[f * Frame.LENGTH + Frame.COUNT]
            ways = ways_at(program, array, count)
            strings = program[array + Array.CONTAINS] == 0 and program[ways] == 1 and (most < 0 or count < most)
            strings = strings and program[array + Array.UNIQUE] == 0 and has_plain_string(program, program[ways + 1])
            if strings:
                base, remainders = spots[spot + Spot.START_BASE], spots[spot + Spot.REMAINDERS]
            copy_base(arena, base, row)
            make_value(arena, y, c, x, f, strings, row)
            if c >> 5 & 63 == 0:
                enter(arena, y, int64(93), c, x, f, False, row)
        else:
            make_keys(arena, spot, c, x, y, f, row)
            base = spots[spot + Spot.START_BASE] if frame_takes_any_key(arena, f) else base
        return base, remainders
    state = c >> 35
    if kind == Kind.STRING and c >> 5 & 63 == 0:
        return make_string(arena, c, x, y, f, own, row), remainders
    case = program[own + Object.DEFAULT] if kind == Kind.KEY else int64(0)
    if kind == Kind.KEY and state != NO_LANGUAGE and state != 0:
        if table_of(arena, state)[(state & (SHARED_BIT - 1)) * 256] == 0:
            ask_for(arena, state)  # before computing anything that would be recomputed
            return base, remainders
    if kind == Kind.KEY and c >> 5 & 63 == 0 and state != NO_LANGUAGE and state != 0:
        if case == 0 or (is_universal(arena, state) and not is_of_case(arena, state, case)):
            if is_universal(arena, state):
                case = case_of(arena, state)
            elif case == 0 and is_total(arena, state):
                make_total_key(arena, c, x, y, f, own, row)
                return int64(BASE_BODY), remainders
            else:
                is_body = goes_on_as_text(arena, state)
                base = int64(BASE_BODY if is_body else BASE_ZERO)
                copy_base(arena, base, row)
                make_key(arena, c, x, y, f, own, int64(0), is_body, row)
                return base, remainders
    if kind == Kind.KEY and c >> 5 & 63 == 0 and state != NO_LANGUAGE:
        base = int64(BASE_BODY)
        node = program[own + Object.OTHERS] if state == 0 else program[program[own + Object.CASES] + case - 1]
        other_keys(arena, node, with_other(arena, f, y >> 24), own, row)
        if state != 0 and not is_of_case(arena, state, case):
            make_key(arena, c, x, y, f, own, case, False, row)
        elif x & FIELD < x >> 21 & FIELD:
            differ(arena, int64(-1), c, x, y, f, case, row)
        return base, remainders
    copy_base(arena, base, row)
    walk(arena, int64(0), int64(-1), c, x, y, f, row)
    return base, remainders


@part
def frame_takes_any_key(arena, f):
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = frames[f * Frame.LENGTH + Frame.ROW]
    most = program[row + Object.MOST]
    if program[row + Object.OTHERS] < 0 or program[row + Object.LANGUAGE] != 0 or program[row + Object.COUNT] > INLINE:
        return False
    return most < 0 and (arena[At.MODE] != 1 or missing_count(arena, f) == 0)


@part
def make_keys(arena, spot, c, x, y, f, row):
    """White space and the beginning of a key."""
    program, frames, spots = longs(arena, At.PROGRAM), longs(arena, At.FRAMES), longs(arena, At.SPOTS)
    own = frames[f * Frame.LENGTH + Frame.ROW]
    if frame_takes_any_key(arena, f):
        copy_base(arena, spots[spot + Spot.START_BASE], row)
        which = spots[spot + Spot.REMAINDERS]
        other = thread(Kind.COLON, 0, program[own + Object.OTHERS], 0)
        # The key just read is unknown here; if it repeats another, `strike` removes it.
        closers_after(arena, which, other, with_other(arena, f, int64(0)), row)
        count, first = program[own + Object.COUNT], thread(Kind.KEY, 0, own, 0)
        offsets, nodes = ints(spots, spot + Spot.OFFSETS), ints(spots, spot + Spot.NODES)
        if count > 0:
            for i in range(offsets[34], offsets[35]):
                differ(arena, int64(nodes[i]), first, key_range(0, count, 0), int64(0), f, int64(0), row)
    else:
        copy_base(arena, spots[spot + Spot.BLANK_BASE], row)
        enter(arena, y, int64(34), c, x, f, False, row)
    if c >> 5 & 63 == 0:
        enter(arena, y, int64(125), c, x, f, False, row)
