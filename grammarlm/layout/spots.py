"""Layout of what is known of the spots of a stack table, and of one row (made by masks/canvas/stack/large/spots.py)."""

from .constants import Constants


class Spots(Constants):
    """Indices into the arena, int64: addresses of arrays, and numbers."""

    # the table
    SPOTS = 0
    SPOT_OF = 1  # int32 [CONTROLS, SYMBOLS]: the spot of a control and a symbol on top, -1: none
    GOALS = 2  # used, with the spots, which are the first of them
    GOAL_CAPACITY = 3
    MEMBER_START = 4  # int32 [GOAL_CAPACITY + 1]: of the goals behind the spots
    MEMBER_CAPACITY = 5
    MEMBER = 6  # int32 [MEMBER_CAPACITY]: spots, ascending
    GOAL_SLOTS = 7  # a power of two
    GOAL_SLOT = 8  # int32 [GOAL_SLOTS]: 1 + goals by hash, 0: none
    GOAL_OF = 9  # int32 [POINTS, SYMBOLS]: the goal of a point and a symbol on top, -1: none
    TERM_START = 10  # int32 [SPOTS + 1]
    TERM_KIND = 11  # int32: of edges, the kind
    TERM_GOAL = 12  # int32: and the goal
    # the row
    STEPS = 13
    ROW = 14  # int32 [STEPS]: classes
    SCORES = 15  # float64 [STEPS, CLASSES]
    LEFT = 16  # int32 [STEPS + 1, CONTROLS]: sets of stacks, of which none are left out that rows lead to
    RIGHT = 17  # int32 [STEPS + 1, CONTROLS]: none of those that can be completed
    IS_SUM = 18  # 1: logs of sums over completions, 0: the best of them
    WEIGHT = 19  # float64 [STEPS, KINDS]: of the classes of each kind
    AHEAD = 20  # float64 [STEPS + 1, SPOTS]: of the completions from each spot, at most
    USED = 21  # of the uniform numbers: a try begins again there
    FOUND = 22  # int32 [STEPS]: the classes that are drawn
    END = 23  # the state that they lead to
    LIVE = 24  # uint64 [STEPS + 1, words]: the spots that a row can perhaps go through, as bits
    TAKEN = 25  # uint8 [KINDS]: what a position of the class SOME may take
    LENGTH = 26
