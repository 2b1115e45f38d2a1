"""Objects: which keys may come next, which have been read, and whether the object may close.

Keys with an entry are sorted by bytes, so a key prefix is a range of them, and a set of them is a bit set. Objects of
more than INLINE keys store the bit set in the arena of chains. Keys without an entry are listed as chains (frames.py), so that
none is repeated.
"""

import numpy as np
from numba import int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import longs, octets
from grammarlm.layout.json import (
    ARRAY_BIT,
    BARRIER,
    COUNT_BIT,
    FIRST_OBLIGATION,
    FURTHER,
    INLINE,
    At,
    Frame,
    Key,
    Object,
)

from .frames import add_other, begun_like, copy_frame, new_entries, new_frame
from .languages import after, case_of, note_missing

ENDLESS = np.int64(1 << 40)  # of COUNTS: too many strings to count


@inlined
def ones(bits):
    """Population count."""
    count = int64(0)
    rest = uint64(bits)
    while rest != uint64(0):
        rest &= rest - uint64(1)
        count += 1
    return count


@part
def is_seen(arena, frame, index, many):
    seen = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.SEEN]
    if not many:
        return seen >> index & 1 != 0
    if seen == 0:
        return False
    return longs(arena, At.CHAINS)[2 * seen + index // INLINE] >> (index % INLINE) & 1 != 0


@part
def first_needed(arena, frame):
    """For an object of many keys: the lowest rank still required; the number of keys if none is."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = frames[frame * Frame.LENGTH + Frame.ROW]
    needed = program[row + Object.NEEDED_LIST]
    for i in range(program[needed]):
        index = program[needed + 1 + i]
        if not is_seen(arena, frame, index, True):
            return program[program[row + Object.KEYS] + index * Key.LENGTH + Key.RANK]
    return program[row + Object.COUNT]


@part
def missing_count(arena, frame):
    """The number of keys still required."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = frame * Frame.LENGTH
    row, needed = frames[at + Frame.ROW], frames[at + Frame.NEEDED]
    if program[row + Object.COUNT] > INLINE:
        return needed  # a counter in this case
    if program[row + Object.OBLIGATIONS] != 0:
        needed &= (int64(1) << FIRST_OBLIGATION) - 1
    return ones(needed)


@part
def obligations_of(arena, frame):
    """Offset of the obligations of the frame's object, if some are not met; 0 otherwise."""
    if frame <= BARRIER:
        return int64(0)
    frames = longs(arena, At.FRAMES)
    at = frame * Frame.LENGTH
    if frames[at + Frame.ROW] & ARRAY_BIT or frames[at + Frame.NEEDED] >> FIRST_OBLIGATION == 0:
        return int64(0)
    return longs(arena, At.PROGRAM)[frames[at + Frame.ROW] + Object.OBLIGATIONS]


@part
def meeting(arena, frame, bits):
    """The frame after a key that meets obligations."""
    made = copy_frame(arena, frame)
    longs(arena, At.FRAMES)[made * Frame.LENGTH + Frame.NEEDED] &= ~bits
    return made


@part
def open_keys(arena, frame):
    """Bit set of the keys that may come next, for an object of at most INLINE keys."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = frame * Frame.LENGTH
    row, seen, needed = frames[at + Frame.ROW], frames[at + Frame.SEEN], frames[at + Frame.NEEDED]
    found = program[row + Object.USABLE] & ~seen
    ordered = arena[At.MODE] == 1
    ranks, keys = program[row + Object.RANKS], program[row + Object.KEYS]
    if ordered:
        found &= program[ranks + frames[at + Frame.LAST]]
        if needed != 0:
            lowest = program[row + Object.COUNT]
            for i in range(program[row + Object.COUNT]):
                if needed >> i & 1:
                    lowest = min(lowest, program[keys + i * Key.LENGTH + Key.RANK])
            found &= ~program[ranks + lowest + 1]
    count, most, least = frames[at + Frame.COUNT], program[row + Object.MOST], program[row + Object.LEAST]
    spare = int64(1) << 40
    if most >= 0:
        spare = most - count - ones(needed)
        if spare <= 0:
            found &= needed
    implied = program[row + Object.IMPLIED]
    if implied != 0:
        for i in range(program[implied]):
            index, more = program[implied + 1 + 2 * i], program[implied + 2 + 2 * i]
            if found >> index & 1:
                more &= ~seen & ~needed & ~(int64(1) << index)
                room = spare if needed >> index & 1 else spare - 1
                late = ordered and more & ~program[ranks + program[keys + index * Key.LENGTH + Key.RANK]] != 0
                if ones(more) > room or late:
                    found &= ~(int64(1) << index)
    others = program[row + Object.AVAILABLE]
    if ordered and least > 0 and others >= 0:
        for i in range(program[row + Object.COUNT]):
            if found >> i & 1:
                rank = program[keys + i * Key.LENGTH + Key.RANK]
                later = program[row + Object.USABLE] & ~seen & program[ranks + rank + 1]
                later = without_passed(program, implied, later & ~(int64(1) << i), seen | int64(1) << i)
                if count + 1 + ones(later) + others < least:
                    found &= ~(int64(1) << i)
    return found


@part
def without_passed(program, implied, later, seen):
    """Of the keys that may come later, those that do not require a key whose turn has passed."""
    again = implied != 0
    while again:
        again = False
        for i in range(program[implied]):
            index, more = program[implied + 1 + 2 * i], program[implied + 2 + 2 * i]
            if later >> index & 1 and more & ~(seen | later) != 0:
                later &= ~(int64(1) << index)
                again = True
    return later


@part
def usable_from(arena, row, rank):
    """For an object of many keys: the number of usable keys with at least this rank."""
    program = longs(arena, At.PROGRAM)
    count = int64(0)
    for i in range(program[row + Object.COUNT]):
        key = program[row + Object.KEYS] + i * Key.LENGTH
        count += program[key + Key.RANK] >= rank and program[key + Key.NODE] >= 0
    return count


@part
def is_open(arena, frame, index, lowest):
    """May this key come next, in an object of many keys? `lowest` is first_needed."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = frame * Frame.LENGTH
    row = frames[at + Frame.ROW]
    key = program[row + Object.KEYS] + index * Key.LENGTH
    if program[key + Key.NODE] < 0 or is_seen(arena, frame, index, True):
        return False
    needs = program[key + Key.RANK] == lowest or is_needed(arena, row, index)
    if arena[At.MODE] == 1:
        rank = program[key + Key.RANK]
        if rank < frames[at + Frame.LAST] or rank > lowest:
            return False
        others, least = program[row + Object.AVAILABLE], program[row + Object.LEAST]
        if least > 0 and others >= 0:
            if frames[at + Frame.COUNT] + 1 + usable_from(arena, row, rank + 1) + others < least:
                return False
    most = program[row + Object.MOST]
    return most < 0 or needs or frames[at + Frame.COUNT] + frames[at + Frame.NEEDED] < most


@part
def is_needed(arena, row, index):
    program = longs(arena, At.PROGRAM)
    needed = program[row + Object.NEEDED_LIST]
    for i in range(program[needed]):
        if program[needed + 1 + i] == index:
            return True
    return False


@part
def any_open(arena, frame, low, high):
    """May one of the keys low to high - 1 come next?"""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    if low >= high:
        return False
    count = program[frames[frame * Frame.LENGTH + Frame.ROW] + Object.COUNT]
    if frames[frame * Frame.LENGTH] == BARRIER and frame != arena[At.VIEW_FRAME] and (low > 0 or high < count):
        arena[At.BEYOND] |= FURTHER
    if count <= INLINE:
        within = ((int64(1) << (high - low)) - 1) << low
        return open_keys(arena, frame) & within != 0
    lowest = first_needed(arena, frame)
    for i in range(low, high):
        if is_open(arena, frame, i, lowest):
            return True
    return False


@part
def one_open(arena, frame, index):
    return any_open(arena, frame, index, index + 1)


@part
def others_open(arena, frame):
    """May a key without an entry come next?"""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = frame * Frame.LENGTH
    row = frames[at + Frame.ROW]
    if program[row + Object.OTHERS] == -1:
        return False
    missing = missing_count(arena, frame)
    most = program[row + Object.MOST]
    if arena[At.MODE] == 1:
        if missing != 0:
            return False
        others, least = program[row + Object.AVAILABLE], program[row + Object.LEAST]
        if others >= 0 and least > 0:  # after such a key only such keys can follow
            if frames[at + Frame.COUNT] + others - begun_like(arena, frame, int64(0)) < least:
                return False
    if most >= 0 and frames[at + Frame.COUNT] + missing >= most:
        return False
    language = program[row + Object.LANGUAGE]
    if language == 0:
        return True
    return not used_up(arena, frame, language, int64(0), int64(0), program[row + Object.COUNT], int64(0))


@part
def names_may_end(arena, row):
    """Can the other keys of an object be exhausted?"""
    program = longs(arena, At.PROGRAM)
    state = program[row + Object.LANGUAGE]
    return program[row + Object.AVAILABLE] > 0 or (state != 0 and longs(arena, At.COUNTS)[state] != -ENDLESS)


@part
def used_up(arena, frame, state, chain, low, high, read):
    """Are all keys that continue from a state of the language of other keys exhausted?

    They were read before, or have an entry: the range low to high - 1, of which `read` bytes have been read.
    """
    counts = longs(arena, At.COUNTS)
    if counts[state] == -ENDLESS:
        return False
    program = longs(arena, At.PROGRAM)
    gone = begun_like(arena, frame, chain)
    row = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.ROW]
    blob = octets(arena, At.BLOB)
    for i in range(low, high):
        key = program[row + Object.KEYS] + i * Key.LENGTH
        here = int64(state)
        for j in range(read, program[key + Key.SIZE]):
            if here != 0:
                here = after(arena, here, int64(blob[program[key + Key.BYTES] + j]))
        gone += here != 0 and case_of(arena, here) != 0
    return all_gone(arena, state, gone)


@part
def all_gone(arena, state, gone):
    """Are `gone` strings all that continue from a state?"""
    counts = longs(arena, At.COUNTS)
    if gone == 0 or gone < -counts[state]:
        return False
    if counts[state] <= 0:
        note_missing(arena, state | int64(COUNT_BIT))
        return False
    return gone >= counts[state]


@part
def object_continues(arena, frame):
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = frames[frame * Frame.LENGTH + Frame.ROW]
    return others_open(arena, frame) or any_open(arena, frame, int64(0), program[row + Object.COUNT])


@part
def object_closes(arena, frame):
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = frame * Frame.LENGTH
    return frames[at + Frame.NEEDED] == 0 and frames[at + Frame.COUNT] >= program[frames[at + Frame.ROW] + Object.LEAST]


@part
def open_object(arena, parent, row):
    """The frame of a new object."""
    program = longs(arena, At.PROGRAM)
    made = new_frame(arena, parent, row)
    longs(arena, At.FRAMES)[made * Frame.LENGTH + Frame.NEEDED] = program[row + Object.NEEDED]
    return made


@part
def with_key(arena, frame, index):
    """The frame after a key with an entry."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    made = copy_frame(arena, frame)
    at = made * Frame.LENGTH
    row = frames[at + Frame.ROW]
    count = program[row + Object.COUNT]
    frames[at + Frame.COUNT] += 1
    if arena[At.MODE] == 1:
        frames[at + Frame.LAST] = program[program[row + Object.KEYS] + index * Key.LENGTH + Key.RANK] + 1
    if count <= INLINE:
        frames[at + Frame.SEEN] |= int64(1) << index
        implied = program[row + Object.IMPLIED]
        if implied != 0:
            for i in range(program[implied]):
                if program[implied + 1 + 2 * i] == index:
                    frames[at + Frame.NEEDED] |= program[implied + 2 + 2 * i]
        frames[at + Frame.NEEDED] &= ~frames[at + Frame.SEEN]
        return made
    words = (count + INLINE - 1) // INLINE
    before = frames[at + Frame.SEEN]
    chains = longs(arena, At.CHAINS)
    entry = new_entries(arena, (words + 1) // 2)
    if entry != 0:
        for i in range(words):
            chains[2 * entry + i] = chains[2 * before + i] if before != 0 else 0
        chains[2 * entry + index // INLINE] |= int64(1) << (index % INLINE)
        frames[at + Frame.SEEN] = entry
    if is_needed(arena, row, index):
        frames[at + Frame.NEEDED] -= 1
    return made


@part
def with_other(arena, frame, chain):
    """The frame after any other key."""
    frames, made = longs(arena, At.FRAMES), copy_frame(arena, frame)
    at = made * Frame.LENGTH
    add_other(arena, made, chain)
    frames[at + Frame.COUNT] += 1
    if arena[At.MODE] == 1:
        frames[at + Frame.LAST] = longs(arena, At.PROGRAM)[frames[at + Frame.ROW] + Object.COUNT]
    return made
