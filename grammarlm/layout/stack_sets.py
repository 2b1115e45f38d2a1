"""Layout of the arena of a stack table's interned sets (masks/canvas/stack/sets.py makes it, kernels/cpu/canvas/ fill it).

A **record** is a run of int32 words with a number; equal words, one number. The first word says what it is. Number 0 is no record:
the empty set of stacks. An **answer** is a number that is kept for a question: what is asked, of which two numbers.
"""

from .constants import Constants


class Record(Constants):
    """The first word of a record, and what follows it."""

    SET = 1  # (symbol, set of what may stand below it), ascending; ROOT, 0: the empty stack
    PATTERN = 2  # (first, end, a number from 1 on) of each run of points that have the same stacks, ascending, as few as can be
    STATE = 3  # a pattern, and the set of stacks of each of its numbers from 1 on
    BODY = 4  # of a plan
    SHAPE = 5  # a plan or pattern, which of its sets are equal; its value: a body


class Question(Constants):
    """What is asked, and of what."""

    UNION = 1  # two sets: their union
    MEET = 2  # two sets: have they a stack in common? YES or NO
    FORWARD = 3  # state, class: the state after a token of that class
    INNER = 4  # state after a token, a number of symbols: the state of all points within it (steps.py)
    BACKWARD = 5  # state of the points within a token, class: the state before it
    PLAN_FORWARD = 6  # pattern, class: a body
    PLAN_BACKWARD = 7
    FEASIBLE = 8  # a set, a symbol: the stacks that it can stand on
    OPERATED = 9  # a set, an operation: the set after it
    BEFORE = 10  # a set, an operation: the stacks that it makes one of the set of
    LOWERED = 11  # a set, a number of symbols: 1 + the set of its stacks that have no more
    LOWERED_STATE = 12  # a state, a number of symbols: the state without stacks that have more


YES, NO = 1, 2


class StackSets(Constants):
    """Indices into the arena, int64: addresses of arrays, and numbers."""

    # the table (masks/canvas/stack/table.py)
    CONTROLS = 0
    PUSHES = 1
    POINTS = 2
    EDGES = 3
    CLASSES = 4
    EDGE_CONTROL = 5  # int32 [EVERY_EDGE], ascending to EDGES
    EDGE_POINT = 6  # int32 [EVERY_EDGE]
    CONTROL_START = 7  # int32 [CONTROLS + 1]
    CLASS_START = 8  # int32 [CLASSES + 1]
    CLASS_EDGES = 9  # int32: the edges of each class, ascending
    PUSH_SYMBOL = 10  # int32 [PUSHES]
    PUSH_AFTER = 11  # int32 [PUSHES]
    RULE_START = 12  # int32 [micro points + 1]
    RULE_SYMBOL = 13  # int32 [RULES]: from SYMBOLS on, an operation
    RULE_AFTER = 14  # int32 [RULES]
    MICROS = 15
    MICRO_ORDER = (
        16  # int32 [MICROS]: a micro point before those that its rules lead to, unless they go round in a circle
    )
    LANDINGS = 17
    LANDING = 18  # int32 [LANDINGS]: controls that rules and pushes lead to
    LANDING_OF = 19  # int32 [CONTROLS]: the place of each among those, -1: it is none
    EDGE_KIND = 20  # int32 [EVERY_EDGE]: edges of one kind are taken by the same classes
    KINDS = 21
    KIND_WORDS = 22  # of a set of classes
    KIND_CLASSES = 23  # uint64 [KINDS, KIND_WORDS]
    # records
    FULL = 24  # 1: records or words are full, 2: scratch is, 3: answers are; nothing is written any more
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
    EDGE_ORDER = 43  # int32 [EVERY_EDGE]
    SOURCES = 44  # int32 [POINTS]: points that have stacks, by their numbers
    COUNTS = 45  # int32 [POINTS + 2]
    NUMBER_OF = 46  # int32 [POINTS]: of each point the number that a pattern gives it; zero between uses
    GROUP_OF = 47  # int32 [POINTS]; zero between uses
    TOUCHED = 48  # int32 [POINTS]; zero between uses
    MET = 49  # uint64 [POINTS / 64 + 1]: bits of points; zero between uses
    REFINED = 50  # int32 [EDGES + POINTS + 2]
    STAMP = 51  # int32 [EDGES + POINTS + 2]
    SETS = 52  # int32 [EDGES + POINTS + 2]: of groups
    HERE = 53  # int32 [POINTS]: sets of points
    CHOSEN = 54  # int32 [EDGES + POINTS + 2]: sets that make a state
    REACHED = 55  # int32 [POINTS]: the points that may have some, ascending
    PLACE = 56  # int32 [POINTS]: which of those sets each of these has
    PAIR = 57  # two words: int32 [4], a record of three words
    # answers
    ANSWERS = 59  # used
    ANSWER_SLOTS = 60  # a power of two
    ASKED = 61  # uint64 [ANSWER_SLOTS]: questions, by hash; 0: none
    ANSWER = 62  # int32 [ANSWER_SLOTS]
    # edges by the point they lead to
    POINT_START = 63  # int32 [POINTS + 1]
    POINT_FROM = 64  # int32 [EDGES]: their controls
    # symbols, as bits of SYMBOL_WORDS words
    SYMBOLS = 65
    SYMBOL_WORDS = 66
    TOPS = 67  # uint64 [POINTS, SYMBOL_WORDS]: which can be on top at a point
    BELOWS = 68  # uint64 [SYMBOLS, SYMBOL_WORDS]: which a symbol can stand on
    EVERY_EDGE = 69  # EDGES, which masked tokens take, and behind them those that only given ones take
    # what may stand at a position
    CONTROL_CLASSES = 70  # uint64 [CONTROLS, KIND_WORDS]: the classes of all EDGES of each control
    SPREAD = 71  # the pattern of INNER_OF, 0: none
    INNER_OF = 72  # int32 [POINTS]: of each point the number that this pattern gives it
    # edges that masked tokens take forward: those to the points that most controls lead to are bits, the rest stand apart
    COMMON_WORDS = 73
    COMMON_POINT = 74  # int32 [64 COMMON_WORDS]
    COMMON = 75  # uint64 [CONTROLS, COMMON_WORDS]: to which of those each control leads
    REST_START = 76  # int32 [CONTROLS + 1]
    REST_POINT = 77  # int32
    # operations (masks/canvas/stack/operations.py)
    OPERATIONS = 78
    OPERATION_START = 79  # int32 [OPERATIONS + 1]: their groups
    GROUPS = 80
    GROUP_START = 81  # int32 [GROUPS + 1]: their symbols
    GROUP_SYMBOL = 82  # int32
    WAY_START = 83  # int32 [GROUPS + 1]: their ways
    WAYS = 84
    PUSHED_START = 85  # int32 [WAYS + 1]: what they push
    PUSHED = 86  # int32, the top last
    GROUP_BY_SYMBOL = 87  # int32 [OPERATIONS, SYMBOLS]: 1 + the group of a symbol, 0: none
    IS_FILTER = 88  # int32 [OPERATIONS]: 1 where all symbols stay as they are; these have none in common
    BY_SYMBOL = 89  # int32 [SYMBOLS]: sets; zero between uses
    OPERATED_TOPS = 90  # uint64 [OPERATIONS, SYMBOL_WORDS]: which symbols can be on top where an operation comes
    HAS_CIRCLES = 91
    LENGTH = 92


class Walk(Constants):
    """Words of the place where a walk is, int64."""

    CONTROL = 0
    DEPTH = 1
    CAPACITY = 2  # symbols
    SYMBOLS = 3  # the first of them, the top last


class Guide(Constants):
    """Indices into the arena of a row's guide (kernels/cpu/canvas/search/guide.py), int64: addresses of arrays, and numbers."""

    STEPS = 0
    ROW = 1  # int32 [STEPS]: classes
    BEFORE = 2  # int32 [STEPS + 1]: states from the left
    INNER = 3  # int32 [STEPS]: states within each token from the right
    SCORES = 4  # float64 [STEPS, CLASSES]
    IS_SUM = 5  # 1: logs of sums over completions, 0: the best of them
    WEIGHT = 6  # float64 [STEPS, KINDS]: of the classes of each kind, where an edge of the kind is looked at
    AHEAD = 7  # float64 [STEPS + 1, PAIRS]: by boundary, a bound from controls at it, and from points within the token before it
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
    LIVE = (
        17  # int32 [STEPS, POINTS]: of each point within a token the number of its stacks in the state INNER, 0: none
    )
    REACHED = 18  # int32 [STEPS + 1, CONTROLS]: the same of the controls at each boundary and BEFORE
    EDGE_START = 19  # int32 [CONTROLS + 1]
    EDGE = 20  # int32 [EVERY_EDGE]: by control
    # contexts of stacks (kernels/cpu/canvas/search/contexts.py)
    CONTEXTS = 21
    NEXT = 22  # int32 [CONTEXTS, SYMBOLS]: the context after a push, -1: that cannot be
    TOP = 23  # int32 [CONTEXTS]: the symbol on top of the stacks of a context
    BELOW_START = 24  # int32 [CONTEXTS + 1]
    BELOW = 25  # int32: contexts that a pop leads to
    PAIRS = 26  # of a point and a context
    PAIR_OF = 27  # int32 [CONTEXTS, POINTS]: their numbers, -1: never
    PAIR_START = 38  # int32 [POINTS + 1]: those of each point
    HELD_SETS = 28  # sets of the row, with 0, the empty one; 0 where there is one context, of all stacks
    HELD_OF = 29  # int32: by record, the place of a set of the row among these
    HELD_RECORD = 30  # int32 [HELD_SETS]: the other way round, ascending
    HELD = 31  # uint64 [HELD_SETS, words]: the contexts of each
    STACK_CONTEXT = 32  # int32 [STACK_CAPACITY]
    SYMBOLS = 33
    IS_SINGLE = 34  # 1: each row has one derivation at most
    # stacks with which tries ended
    ENDED = 35  # used
    ENDED_CAPACITY = 36
    ENDED_STACK = 37  # int32 [ENDED_CAPACITY]
    SPOTS = 39  # the arena of the row's spots (layout/spots.py), whose bounds are taken instead of AHEAD; 0: none
    INNER_EDGES = 40
    INNER_EDGE = 41  # int32 [INNER_EDGES]: those that lead to points which are no controls
    FIRST_STEPS = 42  # of so many steps bounds are made; those behind them stay as they are
    ROUNDS = 43  # so often the points of a circle are looked at within a token; 1: there is none
    LENGTH = 44


class Effects(Constants):
    """Indices into the arena of kernels/cpu/canvas/tables/edges.py, int64."""

    STATES = 0
    CLASSES = 1
    NUMBERS = 2  # int64 [CLASSES]: the vector of each
    SPECIALS = 3
    SPECIAL_START = 4  # int32 [SPECIALS + 1]
    SPECIAL_POINTS = 5  # int32: the points that special effects lead to
    ACCEPTS = 6  # uint8 [STATES]
    FIRST_CONTROL = 7  # the control of state 0
    FIRST_CLASS = 8  # the first of CLASSES
    FINISHED = 9
    STOP = 10
    POINTS = 11
    EDGE_OF = 12  # int32 [POINTS]: scratch, -1 at first
    CAPACITY = 13
    EDGE_CONTROL = 14  # int32 [CAPACITY]
    EDGE_POINT = 15  # int32 [CAPACITY]
    EDGE_KIND = 16  # int32 [CAPACITY]
    EDGES = 17
    DONE = 18  # states
    WORDS = 19
    KINDS = 20
    KIND_CAPACITY = 21
    KIND_CLASSES = 22  # uint64 [KIND_CAPACITY, WORDS]
    KIND_SLOTS = 23  # a power of two
    KIND_SLOT = 24  # int32 [KIND_SLOTS]: kinds by hash, number + 1
    LENGTH = 25


class Vectors(Constants):
    """Indices into the arena of kernels/cpu/canvas/tables/vectors.py, int64."""

    SIZE = 0  # words of a vector
    COLUMNS = 1  # classes of bytes
    COUNT = 2  # vectors
    CAPACITY = 3
    VALUES = 4  # int32 [PLACE_CAPACITY]: the effects at PLACES
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
    PLACES = 16  # int32 [PLACE_CAPACITY]: where vectors have an effect, ascending, one vector behind the other
    PLACE_START = 17  # int64 [CAPACITY + 1]
    PLACE_CAPACITY = 18
    MISSING_COLUMN = 19
    BUDGET = 20  # places that may be looked at before the clock
    NODES = 21  # from here on what walk_tokens reads; its node is DONE
    BYTE = 22  # uint8 [NODES], and the other arrays of a trie
    DEPTH = 23
    END = 24
    TOKEN = 25
    CLASS_OF = 26  # uint8 [256]
    DEEPEST = 27
    REACHED = 28  # int32 [DEEPEST + 1]: vectors by depth, that of the root at first
    KINDS = 29  # int32 [KIND_COUNT]: the vector of each token
    KIND_COUNT = 30
    NOWHERE = 31  # the vector that has no effect
    LENGTH = 32


class Refine(Constants):
    """Indices into the arena of kernels/cpu/canvas/tables/blocks.py, int64."""

    STATES = 0
    COLUMNS = 1
    STEPS = 2  # int32 [STATES, COLUMNS]: a state; STATES: no step; behind it special steps by their numbers
    WEIGHTS = 3  # uint64 [COLUMNS]
    PARTS = 4
    PART = 5  # int64 [PARTS, 4]: of special steps, ascending: the number, what is done, a symbol's state, a state
    SPECIALS = 6
    BLOCK = 7  # int64 [STATES]: at first what sets states apart from the start, below STATES
    LENGTH = 8
