"""What lies where in the arena of a pushdown machine.

The arena is one array of integers: addresses of arrays, and numbers. A kernel is handed its address alone. `masks/stack/arena.py`
fills it; `kernels/cpu/pushdown.py` says what the arrays mean to the machine, `surveys.py` what they mean to masks.
"""

from .constants import Constants


class Place(Constants):
    """What is where in the arena, an int64 array: addresses of arrays, and numbers."""

    CLASSES = 0  # of bytes
    CLASS_OF = 1  # uint8 [256]
    Q_NEXT = 2  # int32 [Q, classes]: 0 = dead
    Q_STATUS = 3  # uint8 [Q]: bits EXPANDED, READS, LIVE_KNOWN, LOOPS
    Q_MOVES = 4  # int32 [Q, 2]: where its moves begin, and how many
    MOVES = 5  # int32 [M, 3]: kind and operands
    Q_LIVE = 6  # uint64 [Q, terminal words]: which terminals a lexeme may still become
    TERMINAL_WORDS = 7
    B_NEXT = 8  # int32 [B, classes]
    B_STATUS = 9  # uint8 [B]: bits EXPANDED, ACCEPTS
    B_AND = 10  # int64 [size, 2]: hash of (pair of borders, border of both)
    B_AND_SIZE = 11
    S_PARENT = 12  # int32 [S]
    S_SYMBOL = 13  # int32 [S]
    S_CLASS = 14  # int32 [S]: stack class, -1 = not known yet
    S_HASH = 15  # int32 [size]
    S_HASH_SIZE = 16
    S_COUNT = 17
    S_CAPACITY = 18
    K_LEXER = 19  # int32 [K]: the lexer's start state of a stack class
    K_LIVE = 20  # uint64 [K, terminal words]: the terminals that its stacks can really shift, and then the end
    K_COUNT = 21
    K_CAPACITY = 22
    K_HASH = 23  # int32 [size]
    K_HASH_SIZE = 24
    C_OFFSET = 25  # int32 [C]: where the threads of a config begin
    C_LENGTH = 26  # int32 [C]
    C_ACCEPTS = 27  # uint8 [C]
    C_ROW = 28  # int32 [C]: row in C_NEXT, -1 = none yet
    C_HASH = 29  # int32 [size]
    C_HASH_SIZE = 30
    C_COUNT = 31
    C_CAPACITY = 32
    THREADS = 33  # int32 [T, 3]
    T_COUNT = 34
    T_CAPACITY = 35
    C_NEXT = 36  # int32 [R, classes]: -1 = not made yet
    R_COUNT = 37
    R_CAPACITY = 38
    WORK = 39  # int32 [WIDEST, 3]: the threads being closed
    KEPT = 40  # int32 [WIDEST, 3]
    PAIR = 41  # int64 [3]: the borders that need a conjunction, or the thread that needs a verdict
    LR_ACTION = 42  # int32 [states, terminals + 1]: 0 error, s + 1 shift to s, -(r + 1) reduce by r; last the end
    LR_GOTO = 43  # int32 [states, nonterminals]
    LR_RULE = 44  # int32 [rules, 2]: length, nonterminal
    LR_LEXER = 45  # int32 [states]: the start state of the lexer there
    LR_TERMINALS = 46
    LR_NONTERMINALS = 47
    LR_STATES = 48
    IGNORED = 49  # uint8 [terminals]
    NODES = 50  # the byte trie of the vocabulary, see vocab/byte_trie.py
    BYTE = 51
    DEPTH = 52
    END = 53
    TOKEN = 54
    TWINS = 55
    TWIN_COUNT = 56
    NOTHING = 57  # what `token` holds where a node stands for no token: the first bit behind a row
    VOCABULARY = 58  # how many ids have bytes
    OFFSETS = 59  # int64 [VOCABULARY + 1]
    DATA = 60  # uint8: all tokens' bytes
    DATA_LENGTH = 61
    IS_TEXT = 62  # uint8 [VOCABULARY]: may a mask allow this id for its bytes?
    C_KIND = 63  # uint8 [C]: bits HAS_THREADS, HAS_EXITS
    X_BYTE = 64  # uint8 [nodes]: the tries of what remains of tokens, see surveys.py
    X_DEPTH = 65  # uint16 [nodes]
    X_END = 66  # int32 [nodes], counted from the trie's first
    X_FIRST = 67  # int32 [nodes]: the first of the node's tokens, counted from the trie's first
    X_COUNT = 68  # int32 [nodes]: how many tokens end there
    X_NODES = 69
    X_NODE_CAPACITY = 70
    X_TOKEN = 71  # int32 [entries, 2]: a token, and how many of its bytes are gone
    X_TOKENS = 72
    X_TOKEN_CAPACITY = 73
    TRIES = 74  # int32 [tries, 5]: first node, nodes, first entry, entries, entries that nothing remains of
    TRIE_KEY = 75  # uint64 [tries]
    TRIE_COUNT = 76
    TRIE_CAPACITY = 77
    TRIE_HASH = 78  # int32 [size]
    TRIE_HASH_SIZE = 79
    SURVEY = 80  # int32 [surveys, 5]: kind of row, where it begins, how long it is, first exit, exits
    SURVEY_KEY = 81  # int64 [surveys, 2]
    SURVEY_HASH = 82  # int32 [size]
    SURVEY_HASH_SIZE = 83
    SURVEY_COUNT = 84
    SURVEY_CAPACITY = 85
    SPARSE = 86  # int32: tokens of rows with few
    SPARSE_COUNT = 87
    SPARSE_CAPACITY = 88
    DENSE = 89  # int32 [rows, words]
    DENSE_COUNT = 90
    DENSE_CAPACITY = 91
    EXITS = 92  # int32 [exits, 3]: label, border, trie
    EXIT_COUNT = 93
    EXIT_CAPACITY = 94
    AGENDA = 95  # int32 [AGENDA_LENGTH, 4]: scratch of a mask: trie, q, s, b
    PATH = 96  # int32 [PATH_LENGTH]: scratch: the config or border behind each number of bytes
    PATH_LENGTH = 97
    LR_ALONE = 98  # 1: nothing ever follows the LR parser's text
    LR_ACCESS = 99  # uint8 [states]: OPENS_BLOCK, ...
    INDENTS = 100  # 1: lines have blocks, and the three arrays below are there
    S_INDENT = 101  # int32 [S]: the width of the block that the stack is in
    S_OPENER = 102  # int32 [S]: the stack whose top opened that block, 0 outside of blocks
    S_BRACKETS = 103  # int32 [S]: brackets that are open
    T_NEWLINE = 104  # terminals
    T_INDENT = 105
    T_DEDENT = 106
    LR_SHIFTS = 107  # uint64 [states, terminal words]: the terminals (and the end) that a state shifts
    LR_REDUCES = 108  # int32 [states + 1]: where the reductions of a state begin in the two arrays below
    REDUCE_RULE = 109  # int32 [reductions]
    REDUCE_ON = 110  # uint64 [reductions, terminal words]: on which terminals
    CHAIN = 111  # int32 [STATES]: scratch of stack_class
    LINE_STACK = 112  # the last stack that met the end of a line, -1 = none,
    LINE_AFTER = 113  # and what it became: lines of all widths are asked for one after another
    CHECKS = 114  # which threads are asked about: UNCHECKED, DOUBTS or EVERYTHING, see masks/stack/trust.py
    JUDGED = 115  # int32 [size, 4]: hash of (q, s, b): 1 = can be finished, 0 = not; of (q, -1 - lexer, b): a row in VERDICTS
    JUDGED_SIZE = 116
    VERDICTS = 117  # uint64 [rows, 2, terminal words]: terminals that surely lead on, terminals that may
    LEAVES = 118  # int32 [LEAVES_CAPACITY, 2]: scratch of a survey: group, 2 * node behind an end, or + 1: at it
    LEAVES_CAPACITY = 119
    BY_GROUP = 120  # int32 [LEAVES_CAPACITY]: the same, by group
    DRAFT_ROW = 121  # int32 [words + 1]: scratch: the row of a survey; empty in between
    DRAFT_TOKENS = 122  # int32 [FEW + 1]: scratch: its first tokens
    POOL = 123  # int32 [POOL_CAPACITY, 2]: scratch: bytes and nodes that become one trie, see remainders.py
    POOL_CAPACITY = 124
    DRAFT_BYTE = 125  # scratch: the tries of a survey before they are compared with known ones; as X_BYTE and so on
    DRAFT_DEPTH = 126
    DRAFT_END = 127
    DRAFT_FIRST = 128
    DRAFT_COUNT = 129
    DRAFT_NODE_CAPACITY = 130
    DRAFT_TOKEN = 131
    DRAFT_TOKEN_CAPACITY = 132
    SIGNATURE = 133  # int32 [SIGNATURE_LENGTH]: scratch: what a mask is made of, see survey_masks.py
    KNOWN_SIGNATURE = 134  # int32: all signatures behind each other
    KNOWN_COUNT = 135
    KNOWN_CAPACITY = 136
    SIGNATURES = 137  # int32 [n, 2]: where each begins, how long it is
    SIGNATURE_HASH = 138  # int32 [size]
    SIGNATURE_HASH_SIZE = 139
    SIGNATURE_COUNT = 140
    SIGNATURE_CAPACITY = 141
    MARK_S = 142  # how many stacks, configs, threads and rows there were before a mask: what it makes is forgotten
    MARK_C = 143
    MARK_T = 144
    MARK_R = 145
    STEPS = 146  # int64 [STEPS_KEPT, 2]: (config, token) and the config behind it, of the last tokens read
    LR_RULES = 147
    UNITS = 148  # int32 [UNITS]: scratch of stack_class
    UNITS_ON = 149  # uint64 [UNITS, terminal words]
    IGNORED_BITS = 150  # uint64 [terminal words]: the ignored terminals as a set
    NEEDED = 151  # int32 [NEEDED]: states that a walk lacks, beside the one that it asks for
    NEEDED_COUNT = 152
    READ_ONLY = 153  # 1: of a seat (masks/stack/seat.py): nothing that others read is written
    DRAFT = 154  # int64 [5]: scratch: what the drafted survey is of (trie, q, b, k), how many tokens its row has
    DRAFTS = 155  # int64 [GROUPS, 9]: scratch: label, border; its draft's counts (remainders.py), or -1 - its trie; its leaves
    DRAFTS_COUNT = 156
    SIGNATURE_END = 157  # how long the signature is that lies in SIGNATURE
    UNITING = 158  # int32 [UNITING, 5]: scratch, see unions.py
    UNITED = 159  # int32 [UNITED]: scratch
    UNIONS = 160  # int32 [UNIONS, 4]: two stacks, their union, and the round in which that was found; 0 before the first union
    UNION_ROUND = 161  # rounds end when stacks are forgotten
    UNION_TURNS = 162  # how much more may be united in this call
    SUSPENDED = 163  # int64 [9]: scratch: a survey's walk that goes on later, see survey_walk.py
    SUSPENDED_PATH = 164  # int32 [PATH_LENGTH]: scratch: what PATH was there
    TAKEN = 165  # int64 [3 + 2 * GROUPS]: scratch of such a walk: tokens of the row, leaves, groups; label and border of each group
    SLOTS = 166  # int16 [SLOTS]: scratch: hash of groups
    LETS_ON = 167  # uint8 [GROUPS, 256]: scratch: on which bytes the border of a group goes on
    ENDS = 168  # int64 [2, 3 + GROUPS]: scratch: the ends of two configs
    TURN = 169  # 1 while somebody reads or writes what surveys lie in, see turns.py
    REPLACED = 170  # how often an array has been replaced
    EPOCH = 171  # of a seat: the arena that it sits at,
    REPLACED_SEEN = 172  # and how often arrays had been replaced there when it looked last
    CLAIMS = 173  # int64 [CLAIMS + 1, 3]: which seats draft which surveys, see turns.py; in the last row the claim that is next
    KINDS = 174  # uint8 [256]: kinds of bytes, see byte_kinds.py
    KINDS_BELOW = 175  # int64 [NODES]: those met below a node of the vocabulary's trie
    TEXT_ROW = 176  # int32 [words]: the tokens that the nodes stand for
    LEAF_LISTS = 177  # int64 [LEAF_LISTS, 4]: leaves that large tries were made of: key, begin, length, the trie
    LEAF_NUMBERS = 178  # int32 [LEAF_ROOM]: all lists behind each other
    LEAF_LIST_COUNT = 179
    LEAF_ROOM = 180  # how many numbers there is room for
    STAYING = 181  # int64 [STAYING, 2]: scratch of a survey's walk: configs, and the kinds of bytes that they stay with
    LENGTH = 182


EXPANDED, READS, LIVE_KNOWN, LOOPS = 1, 2, 4, 8  # q status
STARTS = 16  # before a lexeme
DOUBTFUL, BETWEEN = 32, 64  # to be asked about under any border; not to be, under a trusted one
AT_ONCE = 128  # before a lexeme, reads, and has no moves but the end of the whole text
ACCEPTS, TRUSTED = 2, 4  # b status
UNCHECKED, DOUBTS, EVERYTHING = 0, 1, 2  # which threads are asked about
HAS_THREADS, HAS_EXITS = 1, 2  # config kind
CALL, POP, LEX, END, ENTER, LINE = range(6)  # moves
ACCEPT, EXIT = 1, 2  # pseudo-states; real ones are greater
NEED_STATE, NEED_BORDER, NEED_AND, NEED_LIVE, FULL, TOO_WIDE, NEED_VERDICT = 1, 2, 3, 4, 5, 6, 7  # what is lacking
# What a seat must not write: for the lock (1), a survey that is drafted (2), a signature that is written down (3), a class that is
# the last (4), the survey of the first bytes of a border, PAIR[0] (5). It is somebody else's turn (6). Another seat is at the
# survey (7).
NEED_LOCK = 0
FOR_LOCK, FOR_SURVEY, FOR_SIGNATURE, FOR_CLASS, FOR_FIRST_BYTES, FOR_TURN, FOR_ANOTHER = 1, 2, 3, 4, 5, 6, 7
ANY = 1  # the border that any text satisfies
ROOT = 0  # the symbol under a whole text; -1 - k: under a stack of class k
UNION = 1 << 29  # the symbol UNION + s of a stack: it is its parent or s, see unions.py
LR_BASE = 1 << 30  # LR state s is the symbol LR_BASE + s + (its width << WIDTH)
WIDTH = 14  # bits of an LR state; above them how wide the line is that opened a block
STATES = 1 << WIDTH
OPENS_BLOCK, CLOSES_BLOCK, OPENS_BRACKET, CLOSES_BRACKET = 1, 2, 3, 4  # what the symbol that leads to an LR state does
WIDEST = 2048  # threads of one config while it is closed
DEPTH_OF_OVERLAY = 256
NEEDED = 256
UNITS = 1024  # reductions of single symbols, one after another
WIDE = 32  # threads from which on those that differ in their stacks alone become one, see unions.py
UNITING, UNITED, UNIONS = 256, 8192, 1 << 18
CLAIMS = 16  # surveys that seats are at
LEAF_LISTS = 128
STAYING = 64  # configs whose kinds are remembered; a power of two
UNION_TURNS = 1 << 20  # pairs of stacks that are united in one call, a tenth of a second
