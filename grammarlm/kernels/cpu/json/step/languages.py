"""Strings of a language or of a finite set: automata over the bytes of the decoded text, and sorted ranges.

A language is a lazy automaton, whose states Python computes on demand: `after` notes a missing state in MISSING and treats the byte
as rejected; the kernel's caller computes the states and calls again. Every state but 0 can be finished.
"""

import numpy as np
from numba import int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets, ulongs
from grammarlm.layout.json import SHARED_BIT, At, Key, Want
from grammarlm.layout.json_calls import MISSING_ENOUGH, MISSING_MOST
from grammarlm.layout.json_strings import (
    BEYOND_ASCII,
    BLANKS_BEYOND,
    KNOWN_LOOPS,
    NEVER,
    UNKNOWN_LOOPS,
)

from .text import utf8_byte, utf8_length

USUAL_TEXT = np.int64(0b111111 | 1 << BEYOND_ASCII)  # digits, letters, characters beyond ASCII


@inlined
def note_missing(arena, state):
    missing = longs(arena, At.MISSING)
    known = False
    for i in range(missing[0]):
        known = known or missing[1 + i] == state
    if not known and missing[0] < MISSING_MOST:
        missing[0] += 1
        missing[missing[0]] = state
        if missing[0] >= MISSING_ENOUGH:
            arena[At.WANTED] |= Want.ENOUGH


@inlined
def ask_for(arena, state):
    """Notes a missing state, before any walk is begun that would have to restart."""
    note_missing(arena, state)
    arena[At.WANTED] |= Want.WAITS


@inlined
def table_of(arena, state):
    """Transitions, of the schema's own languages or of the shared ones; a state's row is `state & (SHARED_BIT - 1)`."""
    return ints(arena, At.SHARED_STATES if state & SHARED_BIT else At.STATES)


@inlined
def case_of(arena, state):
    """The case that accepts in the state, counted from 1; 0: none."""
    return int64(ints(arena, At.SHARED_ACCEPTS if state & SHARED_BIT else At.ACCEPTS)[state & (SHARED_BIT - 1)])


@inlined
def is_universal(arena, state):
    """Can every string continue from the state, in one case?"""
    return state & SHARED_BIT == 0 and octets(arena, At.UNIVERSAL)[state] != 0  # no format accepts every string


@inlined
def is_total(arena, state):
    """Can every string continue from the state and be finished?"""
    return state & SHARED_BIT == 0 and octets(arena, At.TOTAL)[state] != 0


@part
def common_target(arena, state, low, high, but, nor, note):
    """The common target of the bytes low to high, except two, from a state; -1: they differ; 0: not computed yet (noted if
    `note`).
    """
    table, at = table_of(arena, state), (state & (SHARED_BIT - 1)) * 256
    while low == but or low == nor:
        low += 1
    found = int64(table[at + low])
    if found == 0 and note:
        note_missing(arena, state)
    for byte in range(low, high + 1):
        if byte != but and byte != nor and int64(table[at + byte]) != found:
            found = int64(-1)
    return found


@part
def characters_return(arena, state, blanks, note):
    """Do all characters beyond ASCII lead from the state back to it? 1 or -1; 0: a state on the way is not computed yet.

    `blanks`: tests those with the first bytes of a blank, otherwise all others.
    """
    for lead in range(0xC2, 0xF5):
        low, high = int64(0x80), int64(0xBF)
        if lead == 0xE0:
            low = int64(0xA0)
        elif lead == 0xF0:
            low = int64(0x90)
        elif lead == 0xED:
            high = int64(0x9F)
        elif lead == 0xF4:
            high = int64(0x8F)
        first, second = int64(0), int64(0)  # second bytes of blanks after this lead byte
        if lead == 0xE1:
            first = int64(0x9A)
        elif lead == 0xE2:
            first, second = int64(0x80), int64(0x81)
        elif lead == 0xE3:
            first = int64(0x80)
        elif lead == 0xEF:
            first = int64(0xBB)
        if blanks != (lead == 0xC2 or first != 0) and (blanks or lead == 0xC2):
            continue
        if blanks and lead != 0xC2:
            low, high = first, max(first, second)
            first, second = int64(0), int64(0)
        at = common_target(arena, state, int64(lead), int64(lead), int64(0), int64(0), note)
        if at > 0:
            at = common_target(arena, at, low, high, first, second, note)
        for _ in range((lead >= 0xE0) + (lead >= 0xF0)):
            if at > 0:
                at = common_target(arena, at, int64(0x80), int64(0xBF), int64(0), int64(0), note)
        if at == 0:
            return int64(0)
        if at != state:
            return int64(-1)
    return int64(1)


@part
def find_loops(arena, state, note):
    """Computes `loops_of`; 0: a state is not computed yet, and noted if `note`."""
    table, at = table_of(arena, state), (state & (SHARED_BIT - 1)) * 256
    classes = octets(arena, At.CLASSES)
    if table[at] == 0:
        if note:
            note_missing(arena, state)
        return int64(0)
    found = int64((1 << 62) - 1)
    for byte in range(0x80):
        if int64(table[at + byte]) != state:
            found &= ~(int64(1) << int64(classes[byte]))
    found &= ~(int64(1) << int64(NEVER))
    note = note and found & USUAL_TEXT == USUAL_TEXT
    returns, blanks_return = characters_return(arena, state, False, note), characters_return(arena, state, True, note)
    if returns == 0 or blanks_return == 0:
        return int64(0)
    if returns < 0:
        found &= ~(int64(1) << int64(BEYOND_ASCII))
    if blanks_return < 0:
        found &= ~(int64(1) << int64(BLANKS_BEYOND))
    return found | KNOWN_LOOPS


@inlined
def loops_of(arena, state):
    """Bit set of the byte classes that loop: bytes (or whole characters beyond ASCII) that lead from the state to itself."""
    loops = longs(arena, At.SHARED_LOOPS if state & SHARED_BIT else At.LOOPS)
    at = state & (SHARED_BIT - 1)
    if loops[at] == 0:
        found = find_loops(arena, state, False)
        loops[at] = found if found != 0 else UNKNOWN_LOOPS
    return max(loops[at], int64(0))


@part
def goes_on_as_text(arena, state):
    """Do nearly all tokens stay in the state, as in the body of any string, or at least after an ordinary letter?

    Missing states that this depends on are noted; then the row is recomputed.
    """
    after_letter = int64(table_of(arena, state)[(state & (SHARED_BIT - 1)) * 256 + 0x65])
    for here in (int64(state), after_letter):
        if here > 0:
            loops = loops_of(arena, here)
            if loops == 0:
                loops = find_loops(arena, here, True)
            if loops & USUAL_TEXT == USUAL_TEXT:
                return True
    return False


@part
def after(arena, state, byte):
    """The state after a byte; 0 if it is rejected, or not computed yet (noted)."""
    found = int64(table_of(arena, state)[uint64(state & (SHARED_BIT - 1)) * uint64(256) + uint64(byte)])
    if found <= 0:
        if found == 0:
            note_missing(arena, state)
        found = int64(0)
    return found


@part
def after_point(arena, state, point):
    """The state after a character."""
    length = utf8_length(point)
    for i in range(length):
        state = after(arena, state, utf8_byte(point, length, i))
        if state == 0:
            break
    return int64(state)


@part
def length_fits(arena, state, least, most, count):
    """Can a string in this state, `count` characters long, be finished with at least `least` and at most `most` characters?"""
    where = longs(arena, At.LENGTH_OF)[state]
    if where < 0:
        return True
    bits = ulongs(arena, At.LENGTHS)
    words = int64(bits[where])
    first, last = max(least - count, int64(0)), most - count
    if most < 0 or last >= words * 64:
        if bits[where + 1] != uint64(0):  # lengths beyond those listed are all possible
            return True
        last = words * 64 - 1
    for word in range(first >> 6, (last >> 6) + 1):
        value = bits[where + 2 + word]
        if word == first >> 6:
            value = value >> uint64(first & 63) << uint64(first & 63)
        if word == last >> 6 and last & 63 != 63:
            value = value & ((uint64(1) << uint64((last & 63) + 1)) - uint64(1))
        if value != uint64(0):
            return True
    return False


@part
def first_that_fits(arena, state, low, high, lengths, least, most, count):
    """The first character of low..high after which a string in this state can be finished; beyond `high` if there is none, or if
    states are missing. Where `lengths` is not 0, with at least `least` and at most `most` characters; `count` have been read then.

    All characters that begin with bytes which are rejected are passed over at once; and those that differ in the last byte, where
    the state before it is that of others which were all refused.
    """
    missing = longs(arena, At.MISSING)
    point, refused = low, int64(-1)
    while point <= high and missing[0] == 0:
        length, found = utf8_length(point), int64(state)
        width = 6 * length  # bits of the code point in its other bytes
        for i in range(length - 1):
            if found != 0:
                found = after(arena, found, utf8_byte(point, length, i))
                width -= 6
        end = min(point | ((int64(1) << width) - 1), high)
        if found != 0 and found != refused:
            for here in range(point, end + 1):
                there = after(arena, found, utf8_byte(here, length, length - 1))
                if there != 0 and (lengths == 0 or length_fits(arena, there, least, most, count)):
                    return int64(here)
            if length > 1 and end - point == 63:
                refused = found
        point = end + 1
    return high + 1


@inlined
def first_point(arena, state, low, high):
    """The first character of low..high that the language accepts in the state; beyond `high` if there is none."""
    return first_that_fits(arena, state, low, high, int64(0), int64(0), int64(0), int64(0))


@part
def narrow(arena, table, low, high, read, byte):
    """The subrange of the sorted keys low to high - 1, which agree on `read` bytes, whose next byte is `byte`: binary search."""
    start = first_from(arena, table, low, high, read, byte)
    return start, first_from(arena, table, start, high, read, byte + 1)


@part
def first_from(arena, table, first, last, read, byte):
    """The first of some sorted keys whose next byte is not below `byte`."""
    program, blob = longs(arena, At.PROGRAM), octets(arena, At.BLOB)
    while first < last:
        middle = (first + last) >> 1
        key = table + middle * Key.LENGTH
        if program[key + Key.SIZE] <= read or int64(blob[program[key + Key.BYTES] + read]) < byte:
            first = middle + 1
        else:
            last = middle
    return int64(first)


@inlined
def narrow_point(arena, table, low, high, read, point):
    length = utf8_length(point)
    for i in range(length):
        if low < high:
            low, high = narrow(arena, table, low, high, read + i, utf8_byte(point, length, i))
    return low, high, read + length


@part
def next_point(arena, table, key_index, read):
    """The character of a key at byte offset `read`; -1 at its end."""
    program = longs(arena, At.PROGRAM)
    blob = octets(arena, At.BLOB)
    key = table + key_index * Key.LENGTH
    if program[key + Key.SIZE] <= read:
        return int64(-1)
    at = program[key + Key.BYTES] + read
    first = int64(blob[at])
    if first < 0x80:
        return first
    if first < 0xE0:
        return (first & 0x1F) << 6 | int64(blob[at + 1] & 0x3F)
    if first < 0xF0:
        return (first & 0x0F) << 12 | int64(blob[at + 1] & 0x3F) << 6 | int64(blob[at + 2] & 0x3F)
    high = (first & 0x07) << 18 | int64(blob[at + 1] & 0x3F) << 12
    return high | int64(blob[at + 2] & 0x3F) << 6 | int64(blob[at + 3] & 0x3F)
