"""Layout of the arena of a canvas's lattice (masks/canvas/stack/arena.py fills it, kernels/cpu/canvas/ read it).

A **set of nodes** is a run of uint64 words in a pool, bit n = node n; sets of one boundary have as many words as the nodes made up
to it need. Boundaries are numbered 0 to STEPS, step i lies between boundaries i and i + 1.
"""

from .constants import Constants

MASKED = -1  # in place of a class: the token is missing
ROOT = 0  # the symbol of the empty stack, which is node 0
DONE, POOL_FULL, NODES_FULL, ENTRIES_FULL, VALUES_FULL = 0, 1, 2, 3, 4  # what a pass returns
FAR = 60_000  # a number of tokens that no room has


class Lattice(Constants):
    """Indices into the arena, int64: addresses of arrays, and numbers."""

    # the table (masks/canvas/stack/table.py)
    CONTROLS = 0  # points below are controls, then push points, then micro points
    PUSHES = 1
    POINTS = 2
    EDGES = 3
    SYMBOLS = 4
    CLASSES = 5
    RULES = 6
    EDGE_CONTROL = 7  # int32 [EDGES]
    EDGE_POINT = 8  # int32 [EDGES]
    CLASS_START = 9  # int32 [CLASSES + 1]
    CLASS_EDGES = 10  # int32: the edges of each class
    PUSH_SYMBOL = 11  # int32 [PUSHES]
    PUSH_AFTER = 12  # int32 [PUSHES]
    RULE_START = 13  # int32 [micro points + 1]
    RULE_POINT = 14  # int32 [RULES], ascending
    RULE_SYMBOL = 15  # int32 [RULES]: the symbol that is popped; -1 - symbol: it stays
    RULE_AFTER = 16  # int32 [RULES]
    INVERSE_START = 17  # int32 [POINTS + 1]: rules by the point after
    INVERSE_RULES = 18  # int32 [RULES]
    EDGE_START = 19  # int32 [EDGES + 1]
    EDGE_CLASSES = 20  # int32: the classes of each edge
    # the row
    STEPS = 21
    ROW = 22  # int32 [STEPS]: classes
    LIVE_CONTROLS = 23  # uint8 [STEPS + 1, CONTROLS]: can the right edge be reached, whatever is on the stack?
    LIVE_POINTS = 24  # uint8 [STEPS, POINTS]
    # nodes
    NODE_CAPACITY = 25
    NODES = 26
    NODE_SYMBOL = 27  # int32 [NODE_CAPACITY]
    NODE_PUSH = 28  # int32 [NODE_CAPACITY]
    NODE_OFFSET = 29  # int64 [NODE_CAPACITY]: its parents in POOL, and those that it can be closed to in REACH
    NODE_COUNT = 30  # int64 [STEPS + 1]: nodes made up to each boundary
    # sets
    WORDS = 31  # words of the scratch sets: NODE_CAPACITY / 64, rounded up, and one more
    POOL_CAPACITY = 32
    POOL_USED = 33
    POOL = 34  # uint64
    REACH = 35  # uint64, as long as POOL
    ENTRY_CAPACITY = 36
    ON_TOP_START = 37  # int64 [STEPS + 2]: by boundary, the sets of nodes that can be on top
    ON_TOP_CONTROL = 38  # int32 [ENTRY_CAPACITY]
    ON_TOP_OFFSET = 39  # int64 [ENTRY_CAPACITY]
    CLOSED_START = 40  # int64 [STEPS + 1]: by step, the sets of nodes that are popped
    CLOSED_POINT = 41  # int32 [ENTRY_CAPACITY]: the point after
    CLOSED_OFFSET = 42  # int64 [ENTRY_CAPACITY]
    BACK_CAPACITY = 43
    BACK_USED = 44
    BACK_POOL = 45  # uint64
    BACK_START = 46  # int64 [STEPS]: by step, the sets on which a point can be completed
    BACK_END = 47  # int64 [STEPS]
    BACK_POINT = 48  # int32 [ENTRY_CAPACITY]
    BACK_OFFSET = 49  # int64 [ENTRY_CAPACITY]
    # scratch
    SETS = 50  # uint64 [POINTS, WORDS]
    HAS = 51  # uint8 [POINTS], zero between steps
    LISTED = 52  # int32 [LIST_CAPACITY]
    LIST_CAPACITY = 53
    WITH_SYMBOL = 54  # uint64 [SYMBOLS, WORDS]
    LAST = 55  # uint64 [max(RULES, POINTS), WORDS]
    RESULT = 56  # uint64 [max(RULES, POINTS), WORDS]
    LINE = 57  # uint64 [WORDS]
    NUMBERS = 58  # int64 [max(WORDS, SYMBOLS, POINTS)]
    BEFORE = 59  # uint64 [CONTROLS, WORDS]
    HAS_BEFORE = 60  # uint8 [CONTROLS]
    PLACE = 61  # int64 [POINTS]
    # the right edge
    ROOM = 62  # tokens that may follow; -1: the row's last step is that of the stop ids
    REACHED = 63  # points that are reached by a pop
    REACHED_POINT = 64  # int32 [REACHED]
    CLOSING = (
        65  # uint16 [CONTROLS + REACHED, SYMBOLS, REACHED + 1]: fewest tokens; the last column is the end of the row
    )
    # values of places (kernels/cpu/canvas/values.py)
    SCORES = 66  # float64 [STEPS, CLASSES]
    IS_SUM = 67  # 1: sums over derivations, 0: the best of them
    VALUE_CAPACITY = 68
    VALUES = 69  # entries used
    VALUE_START = 70  # int64 [STEPS + 2]: by boundary, the values of controls; sorted by control, then node
    VALUE_POINT = 71  # int32 [VALUE_CAPACITY]
    VALUE_NODE = 72  # int32 [VALUE_CAPACITY]
    VALUE = 73  # float64 [VALUE_CAPACITY]
    MICRO_START = 74  # int64 [STEPS + 1]: by step, the values of micro points
    MICRO_POINT = 75  # int32 [VALUE_CAPACITY]
    MICRO_NODE = 76  # int32 [VALUE_CAPACITY]
    MICRO_VALUE = 77  # float64 [VALUE_CAPACITY]
    INTO_START = 78  # int64 [NODE_CAPACITY + 1]: by node, the values of the ways into it
    INTO_END = 79  # int64 [NODE_CAPACITY + 1]
    INTO_NODE = 80  # int32 [VALUE_CAPACITY]: the parent
    INTO_VALUE = 81  # float64 [VALUE_CAPACITY]
    HIGHEST = 82  # float64 [POINTS, NODES]: scratch, -inf between steps
    SUM = 83  # float64 [POINTS, NODES]: scratch
    CURRENT = 84  # float64 [CONTROLS, NODES]: scratch, -inf at first
    CONTROL_START = 85  # int32 [CONTROLS + 1]: edges are sorted by control
    LIVE_FROM = 86  # the last step whose live points are not known, -1: none
    LIVE_UNTIL = 87  # the first such step; before it they are known if nothing has changed behind it
    LENGTH = 88
