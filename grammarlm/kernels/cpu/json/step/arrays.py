"""Arrays: which items may come next, and whether the array may close.

An item is read in one of the **ways** of its position: a node, and the `contains` kinds that it counts for. Counters have 16 bits
per kind and saturate where more does not matter: at the maximum, or at the required minimum.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import longs
from grammarlm.layout.json import ARRAY_BIT, Array, At, Frame

from .frames import copy_frame

PLENTY = 1 << 40


@inlined
def array_row(frames, frame):
    return frames[frame * Frame.LENGTH + Frame.ROW] & ~int64(ARRAY_BIT)


@inlined
def ways_at(program, row, position):
    """Offset of the ways to read the item at a position: their count, then node and kinds of each."""
    return program[program[row + Array.ITEMS] + min(position, program[row + Array.PREFIX])]


@part
def can_count(program, row, first, kind):
    """How many items from a position on can count for a kind."""
    prefix, most = program[row + Array.PREFIX], program[row + Array.MOST]
    total = int64(0)
    for position in range(first, prefix + 1):
        if most >= 0 and position >= most:
            break
        ways = ways_at(program, row, position)
        some = False
        for way in range(program[ways]):
            some = some or program[ways + 2 + 2 * way] >> kind & 1 != 0
        if some:
            total += int64(1) if position < prefix else PLENTY if most < 0 else most - max(first, prefix)
    if first > prefix and (most < 0 or first < most):
        ways = ways_at(program, row, prefix)
        for way in range(program[ways]):
            if program[ways + 2 + 2 * way] >> kind & 1:
                return int64(PLENTY) if most < 0 else most - first
    return total


@part
def must_count(program, row, first, kind):
    """How many of the still required items from a position on can only count for the kind."""
    prefix, least = program[row + Array.PREFIX], program[row + Array.LEAST]
    total = int64(0)
    position = first
    while position < least:
        ways = ways_at(program, row, position)
        every = True
        for way in range(program[ways]):
            every = every and program[ways + 2 + 2 * way] >> kind & 1 != 0
        if position >= prefix:
            return total + (least - position if every else int64(0))
        if every:
            total += 1
        position += 1
    return total


@part
def way_fits(arena, frame, kinds):
    """May the next item count for exactly these kinds?"""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = array_row(frames, frame)
    bounds, so_far = program[row + Array.BOUNDS], frames[frame * Frame.LENGTH + Frame.LAST]
    position = frames[frame * Frame.LENGTH + Frame.COUNT]
    for kind in range(program[row + Array.CONTAINS]):
        count = so_far >> (16 * kind) & 0xFFFF
        least, most = program[bounds + 2 * kind], program[bounds + 2 * kind + 1]
        if kinds >> kind & 1:
            count += 1
        if most >= 0 and count + must_count(program, row, position + 1, kind) > most:
            return False
        if count < least and count + can_count(program, row, position + 1, kind) < least:
            return False
    return True


@part
def array_continues(arena, frame):
    """May another item come next?"""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = array_row(frames, frame)
    position, most = frames[frame * Frame.LENGTH + Frame.COUNT], program[row + Array.MOST]
    if most >= 0 and position >= most:
        return False
    ways = ways_at(program, row, position)
    if program[row + Array.CONTAINS] == 0:
        return program[ways] > 0
    for way in range(program[ways]):
        if way_fits(arena, frame, program[ways + 2 + 2 * way]):
            return True
    return False


@part
def array_closes(arena, frame):
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = array_row(frames, frame)
    if frames[frame * Frame.LENGTH + Frame.COUNT] < program[row + Array.LEAST]:
        return False
    bounds, so_far = program[row + Array.BOUNDS], frames[frame * Frame.LENGTH + Frame.LAST]
    for kind in range(program[row + Array.CONTAINS]):
        if so_far >> (16 * kind) & 0xFFFF < program[bounds + 2 * kind]:
            return False
    return True


@part
def with_item(arena, frame, kinds):
    """The frame after one more item. Positions and counts that no longer matter are not advanced, so that frames are shared."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = array_row(frames, frame)
    at = frame * Frame.LENGTH
    count, so_far = frames[at + Frame.COUNT], frames[at + Frame.LAST]
    last_told = max(program[row + Array.PREFIX], program[row + Array.LEAST])
    moves = program[row + Array.MOST] >= 0 or count < last_told or program[row + Array.UNIQUE] != 0
    if not moves and program[row + Array.CONTAINS] == 0:
        return frame
    bounds = program[row + Array.BOUNDS]
    for kind in range(program[row + Array.CONTAINS]):
        if kinds >> kind & 1:
            least, most = program[bounds + 2 * kind], program[bounds + 2 * kind + 1]
            if most >= 0 or so_far >> (16 * kind) & 0xFFFF < least:
                so_far += int64(1) << (16 * kind)
    if not moves and so_far == frames[at + Frame.LAST]:
        return frame
    made = copy_frame(arena, frame)
    frames[made * Frame.LENGTH + Frame.COUNT] = count + 1 if moves else count
    frames[made * Frame.LENGTH + Frame.LAST] = so_far
    return made
