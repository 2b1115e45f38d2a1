"""Layout of the arena of a stack table's interned sets (masks/canvas/stack/sets.py makes it, kernels/cpu/canvas/ fill it).

A **record** is a run of int32 words with a number; equal words, one number. The first word says what it is. A record whose
words are a question keeps the answer as its value. Number 0 is no record: the empty set of stacks, or an answer not known.
"""

from .constants import Constants


class Record(Constants):
    """The first word of a record, and what follows it."""

    SET = 1  # (symbol, set of what may stand below it), ascending; ROOT, 0: the empty stack
    PATTERN = 2  # of each point a number, 0: no stack
    STATE = 3  # a pattern, and the set of stacks of each of its numbers from 1 on
    BODY = 4  # of a plan
    UNION = 5  # two sets: their union
    MEET = 6  # two sets: have they a stack in common? YES or NO
    FORWARD = 7  # state, class: the state after a token of that class
    INNER = 8  # state after a token: the state of all points within it
    BACKWARD = 9  # state of the points within a token, class: the state before it
    PLAN_FORWARD = 10  # pattern, class: a body
    PLAN_BACKWARD = 11
    SHAPE = 12  # a plan or pattern, which of its sets are equal: a body


YES, NO = 1, 2


class StackSets(Constants):
    """Indices into the arena, int64: addresses of arrays, and numbers."""

    # the table (masks/canvas/stack/table.py)
    CONTROLS = 0
    PUSHES = 1
    POINTS = 2
    EDGES = 3
    CLASSES = 4
    EDGE_CONTROL = 5  # int32 [EDGES], ascending
    EDGE_POINT = 6  # int32 [EDGES]
    CONTROL_START = 7  # int32 [CONTROLS + 1]
    CLASS_START = 8  # int32 [CLASSES + 1]
    CLASS_EDGES = 9  # int32: the edges of each class, ascending
    PUSH_SYMBOL = 10  # int32 [PUSHES]
    PUSH_AFTER = 11  # int32 [PUSHES]
    RULE_START = 12  # int32 [micro points + 1]
    RULE_SYMBOL = 13  # int32 [RULES]
    RULE_AFTER = 14  # int32 [RULES]
    MICROS = 15
    MICRO_ORDER = 16  # int32 [MICROS]: a micro point before those that its rules lead to
    LANDINGS = 17
    LANDING = 18  # int32 [LANDINGS]: controls that rules and pushes lead to
    LANDING_OF = 19  # int32 [CONTROLS]: the place of each among those, -1: it is none
    EDGE_KIND = 20  # int32 [EDGES]: edges of one kind are taken by the same classes
    KINDS = 21
    KIND_WORDS = 22  # of a set of classes
    KIND_CLASSES = 23  # uint64 [KINDS, KIND_WORDS]
    # records
    FULL = 24  # 1: records or words are full, 2: scratch is; nothing is written any more
    RECORDS = 25  # used, with record 0
    RECORD_CAPACITY = 26
    WORDS = 27  # used
    WORD_CAPACITY = 28
    START = 29  # int64 [RECORD_CAPACITY + 1]
    HASH = 30  # uint64 [RECORD_CAPACITY]
    VALUE = 31  # int32 [RECORD_CAPACITY]
    NUMBER = 32  # int32 [RECORD_CAPACITY]: scratch, zero between uses
    WORD = 33  # int32 [WORD_CAPACITY]
    SLOTS = 34  # a power of two
    SLOT = 35  # int32 [SLOTS]: record numbers by hash
    EMPTY_STACK = 36  # the set of the empty stack alone
    # scratch
    FRAMES = 37  # int64 [FRAME_CAPACITY, 6]: of recursion
    FRAME_CAPACITY = 38
    PAIRS = 39  # int32 [PAIR_CAPACITY]: of sets that are being made
    PAIR_CAPACITY = 40
    BODY = 41  # int32 [BODY_CAPACITY]: a record that is being made
    BODY_CAPACITY = 42
    EDGE_ORDER = 43  # int32 [EDGES]
    COUNTS = 44  # int32 [POINTS + 2]
    GROUP_OF = 45  # int32 [POINTS]
    REFINED = 46  # int32 [EDGES + POINTS + 2]
    STAMP = 47  # int32 [EDGES + POINTS + 2]
    TOUCHED = 48  # int32 [POINTS]
    SETS = 49  # int32 [EDGES + POINTS + 2]: of groups
    HERE = 50  # int32 [POINTS]: sets of points
    CHOSEN = 51  # int32 [EDGES + POINTS + 2]: sets that make a state
    PLACE = 52  # int32 [POINTS]: of each point which of those
    QUESTION = 53  # two words: int32 [4], a record that is asked for
    LENGTH = 55


class Walk(Constants):
    """Words of the place where a walk is, int64."""

    CONTROL = 0
    DEPTH = 1
    CAPACITY = 2  # symbols
    SYMBOLS = 3  # the first of them, the top last


class Guide(Constants):
    """Indices into the arena of a row's guide (kernels/cpu/canvas/guide.py), int64: addresses of arrays, and numbers."""

    STEPS = 0
    ROW = 1  # int32 [STEPS]: classes
    BEFORE = 2  # int32 [STEPS + 1]: states from the left
    INNER = 3  # int32 [STEPS]: states within each token from the right
    SCORES = 4  # float64 [STEPS, CLASSES]
    IS_SUM = 5  # 1: logs of sums over completions, 0: the best of them
    WEIGHT = 6  # float64 [STEPS, KINDS]: of the classes of each kind, where an edge of the kind is looked at
    AHEAD = 7  # float64 [STEPS + 1, POINTS]: by boundary, a bound from controls at it, and from points within the token before it
    STARTS = 8
    START_CONTROL = 9  # int32 [STARTS]
    START_STACK = 10  # int32 [STARTS]: its place among the stacks
    # stacks: 0 is the empty one
    STACKS = 11  # used
    STACK_CAPACITY = 12
    STACK_BELOW = 13  # int32 [STACK_CAPACITY]: the stack without its top
    STACK_SYMBOL = 14  # int32 [STACK_CAPACITY]: the top
    STACK_SLOTS = 15  # a power of two
    STACK_SLOT = 16  # int32 [STACK_SLOTS]: stacks by hash, 0: none
    LENGTH = 17


class Effects(Constants):
    """Indices into the arena of kernels/cpu/canvas/table_edges.py, int64."""

    STATES = 0
    CLASSES = 1
    MATRIX = 2  # int32 [STATES, CLASSES]: an effect, -1: none; below STATES the state reached, then special effects
    SPECIALS = 3
    SPECIAL_START = 4  # int32 [SPECIALS + 1]
    SPECIAL_POINTS = 5  # int32: the points that special effects lead to
    ACCEPTS = 6  # uint8 [STATES]
    FIRST_CONTROL = 7  # the control of state 0
    FIRST_CLASS = 8  # the class of column 0
    FINISHED = 9
    STOP = 10
    POINTS = 11
    EDGE_OF = 12  # int32 [POINTS]: scratch
    CAPACITY = 13
    EDGE_CONTROL = 14  # int32 [CAPACITY]
    EDGE_POINT = 15  # int32 [CAPACITY]
    WORDS = 16
    EDGE_BITS = 17  # uint64 [CAPACITY, WORDS]: classes, zero at first
    LENGTH = 18


class Vectors(Constants):
    """Indices into the arena of kernels/cpu/canvas/vectors.py, int64."""

    SIZE = 0  # words of a vector
    COLUMNS = 1  # classes of bytes
    COUNT = 2  # vectors
    CAPACITY = 3
    VECTORS = 4  # int32 [CAPACITY, SIZE]
    HASHES = 5  # uint64 [CAPACITY]
    WEIGHTS = 6  # uint64 [SIZE]: of the hash
    AFTER = 7  # int32 [CAPACITY, COLUMNS]: the vector after one more byte
    EFFECTS = 8
    MOVED = 9  # int32 [COLUMNS, EFFECTS]: the effect after one more byte, -2: not known; the last is that of no effect
    PAIRS = 10  # int32 [PAIR_COUNT, 2]: vectors and columns that are asked for
    PAIR_COUNT = 11
    DONE = 12  # pairs
    MISSING = 13  # an effect of which the move is not known
    SLOTS = 14  # a power of two
    SLOT = 15  # int32 [SLOTS]: vectors by hash, number + 1
    LENGTH = 16
