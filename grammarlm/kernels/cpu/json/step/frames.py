"""Frames of open objects and arrays, and **chains**: texts as linked lists with one entry per byte (previous entry; byte,
length and a hash). Chains are compared by hash first, then by bytes.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import longs
from grammarlm.layout.json import ARRAY_BIT, BARRIER, FIRST_OBLIGATION, At, Frame, Object, Want

MOST_COMPARED = 64  # nested frames of two threads that are compared


@part
def new_frame(arena, parent, row):
    """Allocates a frame. If there is no room, the last slot is returned and WANTED says so."""
    made = arena[At.FRAME_COUNT]
    if made + 1 >= arena[At.FRAME_CAPACITY]:
        arena[At.WANTED] |= Want.FRAMES
        made = arena[At.FRAME_CAPACITY] - 1  # never a frame in use
    else:
        arena[At.FRAME_COUNT] = made + 1
    frames = longs(arena, At.FRAMES)
    at = made * Frame.LENGTH
    frames[at + Frame.PARENT] = parent
    frames[at + Frame.ROW] = row
    for i in range(Frame.SEEN, Frame.LENGTH):
        frames[at + i] = 0
    return made


@part
def copy_frame(arena, frame):
    frames = longs(arena, At.FRAMES)
    made = new_frame(arena, frames[frame * Frame.LENGTH], frames[frame * Frame.LENGTH + Frame.ROW])
    for i in range(Frame.SEEN, Frame.LENGTH):
        frames[made * Frame.LENGTH + i] = frames[frame * Frame.LENGTH + i]
    return made


@part
def new_entries(arena, count):
    """Allocates entries of chains; 0 if there is no room, and WANTED says so."""
    made = arena[At.CHAIN_COUNT]
    if made + count >= arena[At.CHAIN_CAPACITY]:
        arena[At.WANTED] |= Want.CHAINS
        return int64(0)
    arena[At.CHAIN_COUNT] = made + count
    return made


@part
def extend_chain(arena, chain, byte):
    """The chain with one byte appended; chain 0 is the empty key."""
    chains, length, hashed = longs(arena, At.CHAINS), length_of(arena, chain), int64(0)
    if chain != 0:
        hashed = chains[2 * chain + 1] >> 32
    made = new_entries(arena, 1)
    hashed = (hashed * 31 + byte + 1) & 0x7FFFFFFF
    if made == 0:
        return chain
    chains[2 * made] = chain
    chains[2 * made + 1] = int64(byte) | min(length + 1, int64(0xFFFFFF)) << 8 | hashed << 32
    return made


@inlined
def length_of(arena, chain):
    return longs(arena, At.CHAINS)[2 * chain + 1] >> 8 & 0xFFFFFF if chain != 0 else int64(0)


@part
def same_chain(arena, one, other):
    chains = longs(arena, At.CHAINS)
    while one != other:
        if one == 0 or other == 0 or chains[2 * one + 1] != chains[2 * other + 1]:
            return False
        one, other = chains[2 * one], chains[2 * other]
    return True


@part
def is_other(arena, frame, chain):
    """Was this key read already, among those without an entry?"""
    chains = longs(arena, At.CHAINS)
    entry = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.OTHERS]
    while entry != 0:
        if same_chain(arena, chains[2 * entry + 1], chain):
            return True
        entry = chains[2 * entry]
    return False


@part
def same_entries(arena, one, other):
    """Are two lists of keys or items equal?"""
    chains = longs(arena, At.CHAINS)
    while one != other:
        if one == 0 or other == 0 or not same_chain(arena, chains[2 * one + 1], chains[2 * other + 1]):
            return False
        one, other = chains[2 * one], chains[2 * other]
    return True


@part
def begun_like(arena, frame, chain):
    """The number of other keys read before that have this prefix."""
    chains, length, count = longs(arena, At.CHAINS), length_of(arena, chain), int64(0)
    entry = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.OTHERS]
    while entry != 0:
        key = chains[2 * entry + 1]
        while length_of(arena, key) > length:
            key = chains[2 * key]
        count += same_chain(arena, key, chain)
        entry = chains[2 * entry]
    return count


@part
def add_other(arena, frame, chain):
    """Adds a key, or an item that must differ, to the frame's list."""
    frames, chains, entry = longs(arena, At.FRAMES), longs(arena, At.CHAINS), new_entries(arena, 1)
    if entry != 0:
        chains[2 * entry], chains[2 * entry + 1] = frames[frame * Frame.LENGTH + Frame.OTHERS], chain
        frames[frame * Frame.LENGTH + Frame.OTHERS] = entry


@part
def same_registers(arena, one, other):
    """Do two frames agree in all but the frame around them, what is required, their lists, and the item being read?"""
    frames, a, b = longs(arena, At.FRAMES), one * Frame.LENGTH, other * Frame.LENGTH
    for i in (Frame.ROW, Frame.SEEN, Frame.COUNT, Frame.LAST):
        if frames[a + i] != frames[b + i]:
            return False
    return True


@part
def covers(arena, one, other):
    """Can a text within the frame `one` go on in all ways that it can within `other`? Certainly where the frames, and those around
    them, are equal, but for obligations that only `other` has to meet. False where it would take long to find out."""
    frames, program = longs(arena, At.FRAMES), longs(arena, At.PROGRAM)
    first, second = int64(one), int64(other)
    for _ in range(MOST_COMPARED):
        if first == second:
            break
        if first <= BARRIER or second <= BARRIER or not same_registers(arena, first, second):
            return False
        a, b = first * Frame.LENGTH, second * Frame.LENGTH
        row, needed = frames[a + Frame.ROW], frames[b + Frame.NEEDED]
        if row & ARRAY_BIT == 0 and program[row + Object.OBLIGATIONS] != 0:
            needed &= frames[a + Frame.NEEDED] | (int64(1) << FIRST_OBLIGATION) - 1
        if frames[a + Frame.NEEDED] != needed:
            return False
        first, second = frames[a + Frame.PARENT], frames[b + Frame.PARENT]
    if first != second:
        return False
    first, second = int64(one), int64(other)
    while first != second:  # lists can be long: they are compared where everything else agrees
        a, b = first * Frame.LENGTH, second * Frame.LENGTH
        if not same_entries(arena, frames[a + Frame.OTHERS], frames[b + Frame.OTHERS]):
            return False
        if not same_chain(arena, frames[a + Frame.TEXT], frames[b + Frame.TEXT]):
            return False
        first, second = frames[a + Frame.PARENT], frames[b + Frame.PARENT]
    return True
