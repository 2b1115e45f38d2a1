"""Layout of the arena of a pushdown machine.

The arena is one int64 array holding addresses of arrays and numbers. A kernel receives only its address.
`masks/machines/stack/arena.py` fills it; `kernels/cpu/stack/configs.py` defines what the arrays mean to the machine,
`surveys.py` what they mean to masks.
"""

from .constants import Constants


class Field(Constants):
    """Indices into the arena, an int64 array of addresses of arrays and of numbers."""

    CLASSES = 0  # number of byte classes
    CLASS_OF = 1  # uint8 [256]
    Q_NEXT = 2  # int32 [Q, classes]: 0 = dead
    Q_STATUS = 3  # uint8 [Q]: bits EXPANDED, READS, LIVE_KNOWN, LOOPS, STARTS, DOUBTFUL, BETWEEN, AT_ONCE
    Q_MOVES = 4  # int32 [Q, 2]: first move of the state in MOVES, number of moves
    MOVES = 5  # int32 [M, 3]: kind and operands
    Q_LIVE = 6  # uint64 [Q, terminal words]: terminals that the lexeme can still become
    TERMINAL_WORDS = 7
    B_NEXT = 8  # int32 [B, classes]
    B_STATUS = 9  # uint8 [B]: bits EXPANDED, ACCEPTS, TRUSTED
    S_PARENT = 10  # int32 [S]
    S_SYMBOL = 11  # int32 [S]
    S_CLASS = 12  # int32 [S]: stack class, -1 = not computed yet
    S_HASH = 13  # int64 [size]: see kernels/cpu/stack/arena.py
    S_HASH_SIZE = 14
    S_COUNT = 15
    S_CAPACITY = 16
    K_LEXER = 17  # int32 [K]: the lexer's start state of a stack class
    K_LIVE = 18  # uint64 [K, terminal words]: terminals that its stacks can actually shift; last bit: end of text
    K_COUNT = 19
    K_CAPACITY = 20
    K_HASH = 21  # int64 [size]
    K_HASH_SIZE = 22
    C_OFFSET = 23  # int32 [C]: first thread of a config
    C_LENGTH = 24  # int32 [C]
    C_ACCEPTS = 25  # uint8 [C]
    C_ROW = 26  # int32 [C]: row in C_NEXT, -1 = none yet
    C_HASH = 27  # int64 [size]
    C_HASH_SIZE = 28
    C_COUNT = 29
    C_CAPACITY = 30
    THREADS = 31  # int32 [T, 3]
    T_COUNT = 32
    T_CAPACITY = 33
    C_NEXT = 34  # int32 [R, classes]: transitions; -1 = not computed yet
    R_COUNT = 35
    R_CAPACITY = 36
    PENDING = 37  # int32 [WIDEST, 3]: scratch: worklist of threads during the closure
    CLOSURE = 38  # int32 [WIDEST, 3]: scratch: threads closed by the closure
    QUESTION = 39  # int64 [5]: what Python is asked (see ANSWERS), the slot for the answer, its entry
    LR_ACTION = 40  # int32 [states, terminals + 1]: 0 error, s + 1 shift to s, -(r + 1) reduce by r; last column: end
    LR_GOTO = 41  # int32 [states, nonterminals]
    LR_RULE = 42  # int32 [rules, 2]: length, nonterminal
    LR_LEXER = 43  # int32 [states]: the lexer's start state in that LR state
    LR_TERMINALS = 44
    LR_NONTERMINALS = 45
    LR_STATES = 46
    IGNORED = 47  # uint8 [terminals]
    NODES = 48  # the byte trie of the vocabulary, see vocab/byte_trie.py
    BYTE = 49
    DEPTH = 50
    END = 51
    TOKEN = 52
    FIRST = 53  # int32 [NODES + 1]: the first entry of each node
    ENTRY = 54  # int32 [entries, 2]: as X_TOKEN
    TWINS = 55
    TWIN_COUNT = 56
    NOTHING = 57  # value of `token` at nodes that stand for no token: the first bit after a row
    VOCABULARY = 58  # number of token ids that have bytes
    OFFSETS = 59  # int64 [VOCABULARY + 1]
    DATA = 60  # uint8: the bytes of all tokens
    DATA_LENGTH = 61
    IS_TEXT = 62  # uint8 [VOCABULARY]: may a mask allow this id for its bytes?
    C_KIND = 63  # uint8 [C]: bits HAS_THREADS, HAS_EXITS
    X_BYTE = 64  # uint8 [nodes]: tries of remainders (remaining parts of tokens), see surveys.py; and one node each
    X_DEPTH = 65  # uint16 [nodes]
    X_END = 66  # int32 [nodes], relative to the trie's first node
    X_FIRST = 67  # int32 [nodes]: first entry of the node, relative to the trie's; at last the number of entries
    X_NODES = 68
    X_NODE_CAPACITY = 69
    X_TOKEN = 70  # int32 [entries, 2]: token, and how many of its bytes are consumed
    X_TOKENS = 71
    X_TOKEN_CAPACITY = 72
    TRIES = 73  # int32 [tries, 4]: first node, nodes, first entry, entries; the first are those with an empty remainder
    TRIE_COUNT = 74
    TRIE_CAPACITY = 75
    TRIE_HASH = 76  # int64 [size]
    TRIE_HASH_SIZE = 77
    SURVEY = 78  # int32 [surveys, 5]: kind of row, its offset, its length (above FEW: FEW + 1), first exit, exits
    SURVEY_KEY = 79  # int64 [surveys, 2]
    SURVEY_HASH = 80  # int64 [size]
    SURVEY_HASH_SIZE = 81
    SURVEY_COUNT = 82
    SURVEY_CAPACITY = 83
    SPARSE = 84  # int32: tokens of sparse rows
    SPARSE_COUNT = 85
    SPARSE_CAPACITY = 86
    DENSE = 87  # int32 [rows, words]
    DENSE_COUNT = 88
    DENSE_CAPACITY = 89
    EXITS = 90  # int32 [exits, 3]: label, border, trie
    EXIT_COUNT = 91
    EXIT_CAPACITY = 92
    AGENDA = 93  # int32 [AGENDA_LENGTH, 4]: scratch of a mask, its worklist: trie, q, s, b
    PATH = 94  # int32 [PATH_LENGTH]: scratch: the config or border after each number of bytes
    PATH_LENGTH = 95
    LR_ALONE = 96  # 1: no text ever follows the LR parser's text
    LR_ACCESS = 97  # uint8 [states]: OPENS_BLOCK, ...
    INDENTS = 98  # 1: the grammar has indented blocks, and the next three arrays exist
    S_INDENT = 99  # int32 [S]: indentation width of the block that the stack is in
    S_OPENER = 100  # int32 [S]: the stack whose top opened that block, 0 outside blocks
    S_BRACKETS = 101  # int32 [S]: number of open brackets
    T_NEWLINE = 102  # terminals
    T_INDENT = 103
    T_DEDENT = 104
    LR_SHIFTS = 105  # uint64 [states, terminal words]: terminals (and end of text) that a state shifts
    LR_REDUCES = 106  # int32 [states + 1]: first reduction of a state in the next two arrays
    REDUCE_RULE = 107  # int32 [reductions]
    REDUCE_ON = 108  # uint64 [reductions, terminal words]: the terminals that trigger it
    CHAIN = 109  # int32 [STATES]: scratch of stack_class
    LINE_STACK = 110  # one-entry cache: the last stack that met the end of a line, -1 = none,
    LINE_AFTER = 111  # and the stack after it: all widths are looked up in succession
    CHECKS = 112  # which threads are checked: UNCHECKED, DOUBTS or EVERYTHING, see masks/machines/stack/proofs/trust.py
    ANSWERS = 113  # int32 [n, 4]: (q, s, b): can it be finished?; (q, -1 - lexer, b): row of VERDICTS; (0, b, c): their conjunction
    ANSWER_COUNT = 114
    ANSWER_HASH = 115  # int64 [size]
    ANSWER_HASH_SIZE = 116
    VERDICTS = 117  # uint64 [rows, 2, terminal words]: terminals that surely lead on, terminals that may
    LEAVES = 118  # int32 [LEAVES_CAPACITY, 2]: scratch of a survey: group; 2 * node after an end, + 1: at an end
    LEAVES_CAPACITY = 119
    BY_GROUP = 120  # int32 [LEAVES_CAPACITY]: scratch: the second column of LEAVES, sorted by group
    DRAFT_ROW = 121  # int32 [words]: scratch: the row of a walk; all zero between surveys
    DRAFT_TOKENS = 122  # int32 [FEW + 1]: scratch: the first tokens of that row
    POOL = 123  # int32 [POOL_CAPACITY, 2]: scratch: bytes and nodes to merge into one trie, see remainders.py
    POOL_CAPACITY = 124
    DRAFT_BYTE = 125  # scratch: tries of a survey before deduplication; same format as X_BYTE etc.
    DRAFT_DEPTH = 126
    DRAFT_END = 127
    DRAFT_FIRST = 128
    DRAFT_NODE_CAPACITY = 129
    DRAFT_TOKEN = 130
    DRAFT_TOKEN_CAPACITY = 131
    SIGNATURE = 132  # int32 [SIGNATURE_LENGTH]: scratch: what a mask is made of, see kernels/cpu/surveys/masks.py
    KNOWN_SIGNATURE = 133  # int32: all signatures, concatenated
    KNOWN_COUNT = 134
    KNOWN_CAPACITY = 135
    SIGNATURES = 136  # int32 [n, 2]: offset and length of each
    SIGNATURE_HASH = 137  # int64 [size]
    SIGNATURE_HASH_SIZE = 138
    SIGNATURE_COUNT = 139
    SIGNATURE_CAPACITY = 140
    MARK_S = 141  # numbers of stacks, configs, threads and rows before a mask: what the mask adds is rolled back
    MARK_C = 142
    MARK_T = 143
    MARK_R = 144
    STEPS = 145  # int64 [STEPS_KEPT, 2]: cache of recent steps: (config, token), the config after it
    LR_RULES = 146
    UNITS = 147  # int32 [UNITS]: scratch of stack_class
    UNITS_ON = 148  # uint64 [UNITS, terminal words]
    IGNORED_BITS = 149  # uint64 [terminal words]: the ignored terminals as a bit set
    UNITING = 150  # int32 [UNITING, 5]: scratch, see unions.py
    UNITED = 151  # int32 [UNITED]: scratch
    UNIONS = 152  # int32 [UNIONS, 4]: cache: two stacks, their union, its round; 0 before the first union
    UNION_ROUND = 153  # generation of UNIONS: incremented when stacks are rolled back
    UNIONS_LEFT = 154  # how many more unions this call may compute
    SUSPENDED = 155  # int64 [6]: scratch: a suspended walk of a survey, see kernels/cpu/surveys/draft_row.py
    TALLY = 156  # int64 [3 + 2 * GROUPS]: scratch of it: tokens of the row, leaves, groups; label, border of each group
    ADMITS = 157  # uint8 [GROUPS, 256]: scratch: the byte classes that the border of a group accepts
    ENDS = 158  # int64 [2, 3 + GROUPS]: scratch: the ends of two configs
    KINDS = 159  # uint8 [256]: kinds of bytes, see byte_kinds.py
    KINDS_BELOW = 160  # int64 [NODES]: kinds of bytes in the subtree of a node of the vocabulary's trie
    TEXT_ROW = 161  # int32 [words]: all tokens of the vocabulary's trie
    LEAF_LISTS = 162  # int64 [LEAF_LISTS, 4]: cache of leaf lists of large tries: key, offset, length, trie
    LEAF_NUMBERS = 163  # int32 [LEAF_ROOM]: all lists, concatenated
    LEAF_LIST_COUNT = 164
    LEAF_ROOM = 165  # capacity of LEAF_NUMBERS
    LENGTH = 166


EXPANDED, READS, LIVE_KNOWN, LOOPS = 1, 2, 4, 8  # bits of Q_STATUS
STARTS = 16  # at the start of a lexeme
DOUBTFUL, BETWEEN = 32, 64  # DOUBTFUL: check under any border; BETWEEN: no check under a trusted one
AT_ONCE = 128  # at the start of a lexeme, READS, and its only moves are the end of the whole text
ACCEPTS, TRUSTED = 2, 4  # bits of B_STATUS
UNCHECKED, DOUBTS, EVERYTHING = 0, 1, 2  # values of CHECKS: which threads are checked
HAS_THREADS, HAS_EXITS = 1, 2  # bits of C_KIND
CALL, POP, LEX, END, ENTER, LINE = range(6)  # kinds of moves
ACCEPT, EXIT = 1, 2  # pseudo-states; real states are greater
NEED_STATE, NEED_BORDER, NEED_ANSWER, NEED_LIVE, FULL, TOO_WIDE = 1, 2, 3, 4, 5, 6  # missing codes
NUMBER = (1 << 32) - 1  # the bits of an entry of a hash table that are a number
ANY = 1  # the border that any text satisfies
ROOT = 0  # the symbol below a whole text; -1 - k: the symbol below a stack of class k
UNION = 1 << 29  # a stack with symbol UNION + s is the union of its parent and s, see unions.py
LR_BASE = 1 << 30  # LR state s is the symbol LR_BASE + s + (its width << WIDTH)
WIDTH = 14  # bits of an LR state; the bits above hold the column of the line that opened a block
STATES = 1 << WIDTH
OPENS_BLOCK, CLOSES_BLOCK, OPENS_BRACKET, CLOSES_BRACKET = 1, 2, 3, 4  # what the symbol that leads to an LR state does
WIDEST = 2048  # most threads of one config during the closure
DEPTH_OF_OVERLAY = 256
UNITS = 1024  # a chain of unit reductions
WIDE = 32  # number of threads from which those that differ only in their stacks are united, see unions.py
UNITING, UNITED, UNIONS = 256, 8192, 1 << 18
LEAF_LISTS = 128
MOST_UNIONS = 1 << 20  # pairs of stacks united in one call: a tenth of a second
