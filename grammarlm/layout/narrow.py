"""Layout of what narrow passes need of a stack table (made by masks/canvas/stack/large/narrow.py, read by kernels/cpu/canvas)."""

from .constants import Constants


class Narrow(Constants):
    """Indices into the arena, int64: addresses of arrays, and numbers."""

    # edges of the few classes that masked tokens are taken to be of
    EDGES = 0
    EDGE_CONTROL = 1  # int32 [EDGES], ascending
    EDGE_POINT = 2  # int32 [EDGES]
    PLAIN_EDGES = 3  # those that leave the stack as it is
    PLAIN_CONTROL = 4  # int32 [PLAIN_EDGES], ascending
    PLAIN_POINT = 5  # int32 [PLAIN_EDGES]: controls
    # the whole table
    RANK = 6  # int32 [MICROS]: the place of each micro point in MICRO_ORDER
    WORDS = 7  # of a set of controls
    FINALS = 8  # uint64 [POINTS, WORDS]: the controls that each point can lead to
    REACHES = 9  # uint64 [CONTROLS, WORDS]: those that some token that looks at the stack can lead to from each
    WIDE = 10  # int32 [2, CONTROLS]: the stacks after any such token, from any; those before any such token, to any
    LARGE_START = 11  # int32 [CONTROLS + 1]
    LARGE_EDGE = 12  # int32: of each control the edges that leave the stack as it is and that many classes take
    CONTROL_ORDER = 13  # int32 [CONTROLS]: those with most classes first
    FREE_EDGES = 14  # all edges that leave the stack as it is
    FREE_CONTROL = 15  # int32 [FREE_EDGES], ascending
    FREE_POINT = 16  # int32 [FREE_EDGES]: controls
    EVERY_START = 21  # int32 [CONTROLS + 1]: all edges that masked tokens may take, by control
    MOST_EDGES = 22  # where no more than so many can be taken, a masked token is taken to be of any class
    # scratch, zero between uses
    MET = 17  # uint64 [MICROS / 64 + 1]: micro points by their places
    HERE = 18  # int32 [POINTS]: their sets
    OTHER = 19  # int32 [POINTS]
    WAITING = 20  # int32 [RULES + PUSHES + 1]
    # of one row, where it is not 0
    MOST = 23  # uint64 [KIND_WORDS]: no other classes are asked about, and only whether they surely may stand
    LENGTH = 24
