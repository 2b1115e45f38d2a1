"""Keys of a canvas: which of the states within them have the same future."""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import longs
from grammarlm.kernels.cpu.json.step.keys import one_open
from grammarlm.layout.json import At, Frame, Key, Object


@part
def narrowed_to_open(arena, f, low, high):
    """Of the keys of an object that has no others, the first and the last that may come."""
    while low < high and not one_open(arena, f, low):
        low += 1
    while low < high and not one_open(arena, f, high - 1):
        high -= 1
    return low, high


@part
def least_passed(arena, row, low, high, f):
    """In the schema's order: how many ranks must have passed so that none of these keys may come whose turn has passed in `f`. No
    other key matters, as LAST is set anew where the key ends."""
    program = longs(arena, At.PROGRAM)
    keys, last, found = program[row + Object.KEYS], longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.LAST], int64(0)
    for i in range(low, high):
        rank = program[keys + i * Key.LENGTH + Key.RANK]
        if rank < last:
            found = max(found, rank + 1)
    return found
