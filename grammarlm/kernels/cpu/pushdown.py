"""The pushdown machine: what one byte does to a place in a grammar with a stack.

A place is a **config**: a set of threads (q, s, b). `q` is a state of a lazy automaton over bytes, `s` a stack, `b` a border: what
the rest of the text must still satisfy. States and borders are rows of tables that Python makes (masks/stack_epoch.py); stacks,
configs and everything else are made here. All are numbers, equal things have equal numbers, nothing that has a number changes.

    q    next[q, class of byte], and moves that read nothing:
             CALL a r     begin at a, with the return state r on the stack
             POP c        the frame ends here, if the rest satisfies border c; goes on at the return state
             LEX t c      a lexeme of terminal t ends here, if the rest satisfies c; the LR parser shifts it
             END          the LR parser may have the end of its text here
             ENTER a      an LR parser begins, in its state a
             LINE w c     a line ends here and the next one begins in column w: like LEX, then blocks are opened or closed
    s    (parent, symbol): a return state, an LR state, or one of the symbols below 1 that stand for what is under the stack
    b    next[b, class], 0 = cannot be satisfied, 1 = anything goes

Closing a set of threads follows all moves; what is kept are the threads that can read a byte, and two kinds of pseudo-thread:
ACCEPT (the text may end here) and EXIT (a frame under which the stack is not known has ended: see surveys.py).

Every function returns a number >= 0, or what it lacks: -(id * 8 + reason). The caller makes it and calls again; nothing is half
done.
"""

from enum import IntEnum

import numpy as np
from numba import carray, int64, uint64

from .jit import inlined, part, pointer


class Place(IntEnum):
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
    C_OFFSET = 23  # int32 [C]: where the threads of a config begin
    C_LENGTH = 24  # int32 [C]
    C_ACCEPTS = 25  # uint8 [C]
    C_ROW = 26  # int32 [C]: row in C_NEXT, -1 = none yet
    C_HASH = 27  # int32 [size]
    C_HASH_SIZE = 28
    C_COUNT = 29
    C_CAPACITY = 30
    THREADS = 31  # int32 [T, 3]
    T_COUNT = 32
    T_CAPACITY = 33
    C_NEXT = 34  # int32 [R, classes]: -1 = not made yet
    R_COUNT = 35
    R_CAPACITY = 36
    WORK = 37  # int32 [WIDEST, 3]: the threads being closed
    KEPT = 38  # int32 [WIDEST, 3]
    PAIR = 39  # int64 [3]: the borders that need a conjunction, or the thread that needs a verdict
    LR_ACTION = (
        40  # int32 [states, terminals + 1]: 0 error, s + 1 shift to s, -(r + 1) reduce by r; the last column is the end
    )
    LR_GOTO = 41  # int32 [states, nonterminals]
    LR_RULE = 42  # int32 [rules, 2]: length, nonterminal
    LR_LEXER = 43  # int32 [states]: the start state of the lexer there
    LR_TERMINALS = 44
    LR_NONTERMINALS = 45
    LR_STATES = 46
    IGNORED = 47  # uint8 [terminals]
    NODES = 48  # the byte trie of the vocabulary, see vocab/byte_trie.py
    BYTE = 49
    DEPTH = 50
    END = 51
    TOKEN = 52
    TWINS = 53
    TWIN_COUNT = 54
    NOTHING = 55  # what `token` holds where a node stands for no token: the first bit behind a row
    VOCABULARY = 56  # how many ids have bytes
    OFFSETS = 57  # int64 [VOCABULARY + 1]
    DATA = 58  # uint8: all tokens' bytes
    DATA_LENGTH = 59
    IS_TEXT = 60  # uint8 [VOCABULARY]: may a mask allow this id for its bytes?
    C_KIND = 61  # uint8 [C]: bits HAS_THREADS, HAS_EXITS
    X_BYTE = 62  # uint8 [nodes]: the tries of what remains of tokens, see surveys.py
    X_DEPTH = 63  # uint16 [nodes]
    X_END = 64  # int32 [nodes], counted from the trie's first
    X_FIRST = 65  # int32 [nodes]: the first of the node's tokens, counted from the trie's first
    X_COUNT = 66  # int32 [nodes]: how many tokens end there
    X_NODES = 67
    X_NODE_CAPACITY = 68
    X_TOKEN = 69  # int32 [entries, 2]: a token, and how many of its bytes are gone
    X_TOKENS = 70
    X_TOKEN_CAPACITY = 71
    TRIES = 72  # int32 [tries, 5]: first node, nodes, first entry, entries, entries that nothing remains of
    TRIE_KEY = 73  # uint64 [tries]
    TRIE_COUNT = 74
    TRIE_CAPACITY = 75
    SURVEY = 76  # int32 [surveys, 5]: kind of row, where it begins, how long it is, first exit, exits
    SURVEY_KEY = 77  # int64 [surveys, 2]
    SURVEY_HASH = 78  # int32 [size]
    SURVEY_HASH_SIZE = 79
    SURVEY_COUNT = 80
    SURVEY_CAPACITY = 81
    SPARSE = 82  # int32: tokens of rows with few
    SPARSE_COUNT = 83
    SPARSE_CAPACITY = 84
    DENSE = 85  # int32 [rows, words]
    DENSE_COUNT = 86
    DENSE_CAPACITY = 87
    EXITS = 88  # int32 [exits, 3]: label, border, trie
    EXIT_COUNT = 89
    EXIT_CAPACITY = 90
    FOUND = 91  # int32 [FOUND_CAPACITY, 3]: scratch of a survey: group, token, bytes gone
    SORTED = 92  # the same, by group and by what remains
    FOUND_CAPACITY = 93
    LEAVES = 94  # int32 [LEAVES_CAPACITY, 2]: scratch: group, node where a frame ends
    LEAVES_CAPACITY = 95
    AGENDA = 96  # int32 [AGENDA_LENGTH, 4]: scratch of a mask: trie, q, s, b
    PATH = 97  # int32 [PATH_LENGTH]: scratch: the config or border behind each number of bytes
    PATH_LENGTH = 98
    LR_ALONE = 99  # 1: nothing ever follows the LR parser's text
    LR_ACCESS = 100  # uint8 [states]: OPENS_BLOCK, ...
    INDENTS = 101  # 1: lines have blocks, and the three arrays below are there
    S_INDENT = 102  # int32 [S]: the width of the block that the stack is in
    S_OPENER = 103  # int32 [S]: the stack whose top opened that block, 0 outside of blocks
    S_BRACKETS = 104  # int32 [S]: brackets that are open
    T_NEWLINE = 105  # terminals
    T_INDENT = 106
    T_DEDENT = 107
    LR_SHIFTS = 108  # uint64 [states, terminal words]: the terminals (and the end) that a state shifts
    LR_REDUCES = 109  # int32 [states + 1]: where the reductions of a state begin in the two arrays below
    REDUCE_RULE = 110  # int32 [reductions]
    REDUCE_ON = 111  # uint64 [reductions, terminal words]: on which terminals
    CHAIN = 112  # int32 [STATES]: scratch of stack_class
    LINE_STACK = 113  # the last stack that met the end of a line, -1 = none,
    LINE_AFTER = 114  # and what it became: lines of all widths are asked for one after another
    CHECKS = 115  # which threads are asked about: UNCHECKED, DOUBTS or EVERYTHING, see masks/stack_trust.py
    JUDGED = 116  # int32 [size, 4]: hash of (q, s, b): 1 = can be finished, 0 = not; of (q, -1 - lexer, b): a row in VERDICTS
    JUDGED_SIZE = 117
    VERDICTS = 118  # uint64 [rows, 2, terminal words]: terminals that surely lead on, terminals that may
    LENGTH = 119


EXPANDED, READS, LIVE_KNOWN, LOOPS = 1, 2, 4, 8  # q status
STARTS, DOUBTFUL, BETWEEN = (
    16,
    32,
    64,
)  # before a lexeme; to be asked about under any border; not to be, under a trusted one
ACCEPTS, TRUSTED = 2, 4  # b status
UNCHECKED, DOUBTS, EVERYTHING = 0, 1, 2  # which threads are asked about
HAS_THREADS, HAS_EXITS = 1, 2  # config kind
CALL, POP, LEX, END, ENTER, LINE = range(6)  # moves
ACCEPT, EXIT = 1, 2  # pseudo-states; real ones are greater
NEED_STATE, NEED_BORDER, NEED_AND, NEED_LIVE, FULL, TOO_WIDE, NEED_VERDICT = 1, 2, 3, 4, 5, 6, 7  # what is lacking
ANY = 1  # the border that any text satisfies
ROOT = 0  # the symbol under a whole text; -1 - k: under a stack of class k
LR_BASE = 1 << 30  # LR state s is the symbol LR_BASE + s + (its width << WIDTH)
WIDTH = 14  # bits of an LR state; above them how wide the line is that opened a block
STATES = 1 << WIDTH
OPENS_BLOCK, CLOSES_BLOCK, OPENS_BRACKET, CLOSES_BRACKET = 1, 2, 3, 4  # what the symbol that leads to an LR state does
WIDEST = 2048  # threads of one config while it is closed
DEPTH_OF_OVERLAY = 256


@inlined
def lacks(reason, index):
    return -(int64(index) * 8 + reason)


@inlined
def ints(arena, place, count):
    return carray(pointer(arena[place]), count, np.int32)


@inlined
def octets(arena, place, count):
    return carray(pointer(arena[place]), count, np.uint8)


@inlined
def arena_of(address):
    return carray(pointer(address), int64(Place.LENGTH), np.int64)


@inlined
def lr_state(symbol):
    return (int64(symbol) - LR_BASE) & (STATES - 1)


@inlined
def mixed(a, b):
    x = (uint64(a) + uint64(1)) * uint64(0x9E3779B97F4A7C15) ^ uint64(b) * uint64(0xC2B2AE3D27D4EB4F)
    x ^= x >> uint64(29)
    x *= uint64(0x94D049BB133111EB)
    return x ^ x >> uint64(32)


@part
def note_blocks(address, parent, symbol, new):
    """What a new stack knows of blocks and brackets: what its parent knows, changed by its top."""
    arena = arena_of(address)
    count = arena[Place.S_CAPACITY]
    indents, openers = ints(arena, Place.S_INDENT, count), ints(arena, Place.S_OPENER, count)
    brackets = ints(arena, Place.S_BRACKETS, count)
    indents[new], openers[new], brackets[new] = indents[parent], openers[parent], brackets[parent]
    if symbol < LR_BASE:
        return
    access = octets(arena, Place.LR_ACCESS, arena[Place.LR_STATES])[lr_state(symbol)]
    if access == OPENS_BLOCK:
        indents[new], openers[new] = (int64(symbol) - LR_BASE) >> WIDTH, new
    elif access == CLOSES_BLOCK:
        outside = ints(arena, Place.S_PARENT, count)[openers[parent]]
        indents[new], openers[new] = indents[outside], openers[outside]
    elif access == OPENS_BRACKET:
        brackets[new] += 1
    elif access == CLOSES_BRACKET:
        brackets[new] -= 1


@part
def push(address, parent, symbol):
    """The stack with a symbol more."""
    arena = arena_of(address)
    count = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, count), ints(arena, Place.S_SYMBOL, count)
    size = arena[Place.S_HASH_SIZE]
    table = ints(arena, Place.S_HASH, size)
    at = int64(mixed(parent, symbol) & uint64(size - 1))
    while table[at] >= 0:
        found = table[at]
        if parents[found] == parent and symbols[found] == symbol:
            return int64(found)
        at = (at + 1) & (size - 1)
    new = arena[Place.S_COUNT]
    if new >= count:
        return lacks(FULL, 0)
    parents[new], symbols[new] = parent, symbol
    ints(arena, Place.S_CLASS, count)[new] = -1
    if arena[Place.INDENTS]:
        note_blocks(address, parent, symbol, new)
    table[at] = new
    arena[Place.S_COUNT] = new + 1
    return int64(new)


@part
def both(address, b, c):
    """The border that is satisfied iff both are."""
    if b == c or c == ANY:
        return int64(b)
    if b == ANY:
        return int64(c)
    arena = arena_of(address)
    size = arena[Place.B_AND_SIZE]
    table = carray(pointer(arena[Place.B_AND]), (size, 2), np.int64)
    key = (int64(b) << 32 | int64(c)) if b < c else (int64(c) << 32 | int64(b))
    at = int64(mixed(key, 7) & uint64(size - 1))
    while table[at, 0] >= 0:
        if table[at, 0] == key:
            return table[at, 1]
        at = (at + 1) & (size - 1)
    pair = carray(pointer(arena[Place.PAIR]), 3, np.int64)
    pair[0], pair[1] = b, c
    return lacks(NEED_AND, 0)


@part
def shift(address, stack, terminal, width):
    """The LR stack after a terminal (the end: the stack under the parser), 0 where the parser refuses it, or what is lacking.

    `width` is that of the line which opens a block, 0 for any other terminal.

    Stack 0 is the empty one, which no parser stands on.
    """
    arena = arena_of(address)
    columns, nonterminals = arena[Place.LR_TERMINALS] + 1, arena[Place.LR_NONTERMINALS]
    states = arena[Place.LR_STATES]
    action = carray(pointer(arena[Place.LR_ACTION]), states * columns, np.int32)
    goto = carray(pointer(arena[Place.LR_GOTO]), states * nonterminals, np.int32)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    while True:
        top = lr_state(symbols[stack])
        what = action[top * columns + terminal]
        if what == 0:
            return int64(0)
        if what > 0:
            if terminal == columns - 1:
                return int64(parents[parents[stack]])
            return push(address, stack, LR_BASE + what - 1 + (width << WIDTH))
        rule = carray(pointer(arena[Place.LR_RULE]), (int64(-what), 2), np.int32)[-what - 1]
        for _ in range(rule[0]):
            stack = int64(parents[stack])
        top = lr_state(symbols[stack])
        stack = push(address, stack, LR_BASE + goto[top * nonterminals + rule[1]])
        if stack < 0:
            return stack


@part
def can_shift(address, stack, terminal):
    """1 where `shift` would take the terminal, 0 where not, or what is lacking. Makes no stacks: gotos lie on an overlay."""
    arena = arena_of(address)
    columns, nonterminals = arena[Place.LR_TERMINALS] + 1, arena[Place.LR_NONTERMINALS]
    states = arena[Place.LR_STATES]
    action = carray(pointer(arena[Place.LR_ACTION]), states * columns, np.int32)
    goto = carray(pointer(arena[Place.LR_GOTO]), states * nonterminals, np.int32)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    overlay = np.empty(DEPTH_OF_OVERLAY, np.int32)
    height = 0
    while True:
        top = int64(overlay[height - 1]) if height else lr_state(symbols[stack])
        what = action[top * columns + terminal]
        if what >= 0:
            return int64(what > 0)
        rule = carray(pointer(arena[Place.LR_RULE]), (int64(-what), 2), np.int32)[-what - 1]
        length = rule[0]
        from_overlay = min(length, height)
        height -= from_overlay
        for _ in range(length - from_overlay):
            stack = int64(parents[stack])
        top = int64(overlay[height - 1]) if height else lr_state(symbols[stack])
        if height >= DEPTH_OF_OVERLAY:
            return lacks(TOO_WIDE, 1)
        overlay[height] = goto[top * nonterminals + rule[1]]
        height += 1


@part
def next_line(address, stack, width):
    """The LR stack after a line's end, where the next line begins in column `width`: blocks are opened or closed."""
    arena = arena_of(address)
    newline, indent, dedent = arena[Place.T_NEWLINE], arena[Place.T_INDENT], arena[Place.T_DEDENT]
    if arena[Place.LINE_STACK] == stack:
        stack = arena[Place.LINE_AFTER]
    else:
        after = shift(address, stack, newline, 0)
        if after >= 0:
            arena[Place.LINE_STACK], arena[Place.LINE_AFTER] = stack, after
        stack = after
    if stack <= 0:
        return stack
    indents = ints(arena, Place.S_INDENT, arena[Place.S_CAPACITY])
    if width > indents[stack]:
        return shift(address, stack, indent, width)
    while width < indents[stack]:
        stack = shift(address, stack, dedent, 0)
        if stack <= 0:
            return stack
    return stack if width == indents[stack] else int64(0)


@part
def at_end(address, stack):
    """The stack under the parser where the text may end, after all blocks have been closed; -1 where it may not, less: lacking."""
    arena = arena_of(address)
    if arena[Place.INDENTS]:
        openers = ints(arena, Place.S_OPENER, arena[Place.S_CAPACITY])
        while openers[stack]:
            stack = shift(address, stack, arena[Place.T_DEDENT], 0)
            if stack == 0:
                return int64(-1)
            if stack < 0:
                return stack
    takes = can_shift(address, stack, arena[Place.LR_TERMINALS])
    if takes <= 0:
        return takes if takes < 0 else int64(-1)
    return shift(address, stack, arena[Place.LR_TERMINALS], 0)


@part
def reduced(address, stack, rule):
    """The LR stack after a reduction, or what is lacking."""
    arena = arena_of(address)
    capacity, nonterminals = arena[Place.S_CAPACITY], arena[Place.LR_NONTERMINALS]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    shape = carray(pointer(arena[Place.LR_RULE]), (rule + 1, 2), np.int32)
    for _ in range(shape[rule, 0]):
        stack = int64(parents[stack])
    goto = carray(pointer(arena[Place.LR_GOTO]), arena[Place.LR_STATES] * nonterminals, np.int32)
    return push(address, stack, LR_BASE + goto[lr_state(symbols[stack]) * nonterminals + shape[rule, 1]])


@part
def stack_class(address, stack):
    """The number of (lexer, terminals that can really be shifted): all that a lexeme needs to know of a stack.

    A stack shifts what its top state shifts, and, of what the state reduces on, what the stack after the reduction shifts. Those
    stacks are few, their classes are kept, so this seldom goes further than one step; CHAIN holds the stacks that wait for others.
    """
    arena = arena_of(address)
    capacity = arena[Place.S_CAPACITY]
    classes = ints(arena, Place.S_CLASS, capacity)
    if classes[stack] >= 0:
        return int64(classes[stack])
    terminals, words, states = arena[Place.LR_TERMINALS], arena[Place.TERMINAL_WORDS], arena[Place.LR_STATES]
    symbols = ints(arena, Place.S_SYMBOL, capacity)
    ignored = octets(arena, Place.IGNORED, terminals)
    shifts = carray(pointer(arena[Place.LR_SHIFTS]), (states, words), np.uint64)
    begins = ints(arena, Place.LR_REDUCES, states + 1)
    reductions = int64(begins[states])
    rules = ints(arena, Place.REDUCE_RULE, reductions)
    reduce_on = carray(pointer(arena[Place.REDUCE_ON]), (reductions, words), np.uint64)
    lexers = ints(arena, Place.LR_LEXER, states)
    most = arena[Place.K_CAPACITY]
    live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
    chain = ints(arena, Place.CHAIN, STATES)
    chain[0] = stack
    height = 1
    while height > 0:
        here = int64(chain[height - 1])
        top = lr_state(symbols[here])
        new = arena[Place.K_COUNT]
        if new >= most:
            return lacks(FULL, 1)
        for w in range(words):
            live[new, w] = shifts[top, w]
        waits = False
        for r in range(begins[top], begins[top + 1]):
            after = reduced(address, here, int64(rules[r]))
            if after < 0:
                return after
            if classes[after] < 0:
                if height >= STATES:
                    return lacks(TOO_WIDE, 1)
                chain[height] = after
                height += 1
                waits = True
                break
            for w in range(words):
                live[new, w] |= reduce_on[r, w] & live[classes[after], w]
        if waits:
            continue
        for t in range(terminals):
            if ignored[t]:
                live[new, t >> 6] |= uint64(1) << uint64(t & 63)
        if arena[Place.INDENTS]:
            ends = at_end(address, here)
            if ends < -1:
                return ends
            set_terminal(live, new, terminals, ends >= 0)
            in_brackets = ints(arena, Place.S_BRACKETS, capacity)[here] > 0
            set_terminal(live, new, terminals + 1, in_brackets)
            if in_brackets:
                set_terminal(live, new, arena[Place.T_NEWLINE], True)
        ints(arena, Place.K_LEXER, most)[new] = lexers[top]
        classes[here] = known_class(address, new)
        height -= 1
    return int64(classes[stack])


@inlined
def set_terminal(live, k, terminal, takes):
    bit = uint64(1) << uint64(terminal & 63)
    live[k, terminal >> 6] = live[k, terminal >> 6] | bit if takes else live[k, terminal >> 6] & ~bit


@part
def known_class(address, new):
    """The class written down as the last: its number, or that of an equal one."""
    arena = arena_of(address)
    words, most = arena[Place.TERMINAL_WORDS], arena[Place.K_CAPACITY]
    lexers = ints(arena, Place.K_LEXER, most)
    live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
    for k in range(new):
        same = lexers[k] == lexers[new]
        for w in range(words):
            same = same and live[k, w] == live[new, w]
        if same:
            return int64(k)
    arena[Place.K_COUNT] = new + 1
    return int64(new)


@part
def narrowed_class(address, k, q):
    """What the state needs to know of a stack of class k: of terminals that it cannot become nothing, and nothing of the
    lexer where it can become none that is ignored. So one survey serves a name wherever it stands. Or what is lacking.
    """
    arena = arena_of(address)
    words, most, new = arena[Place.TERMINAL_WORDS], arena[Place.K_CAPACITY], arena[Place.K_COUNT]
    if words == 0 or octets(arena, Place.Q_STATUS, q + 1)[q] & (STARTS | LIVE_KNOWN) != LIVE_KNOWN:
        return int64(k)
    if new >= most:
        return lacks(FULL, 1)
    here = carray(pointer(arena[Place.Q_LIVE]), (q + 1, words), np.uint64)
    live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
    terminals = arena[Place.LR_TERMINALS]
    ignored = octets(arena, Place.IGNORED, terminals)
    for t in range(terminals):
        skipped = ignored[t] or (arena[Place.INDENTS] and t == arena[Place.T_NEWLINE])
        if skipped and here[q, t >> 6] >> uint64(t & 63) & uint64(1):
            return int64(k)
    for w in range(words):
        live[new, w] = live[k, w] & here[q, w]
    ints(arena, Place.K_LEXER, most)[new] = 0
    return known_class(address, new)


@inlined
def add(work, count, q, s, b):
    """Appends a thread unless it is there; the new count."""
    for i in range(count):
        if work[i, 0] == q and work[i, 1] == s and work[i, 2] == b:
            return count
    if count < WIDEST:
        work[count, 0], work[count, 1], work[count, 2] = q, s, b
    return count + 1


@part
def class_takes(address, k, terminal):
    """Is the terminal live under a stack of class k? Behind the terminals: the end, and whether ends of lines are ignored."""
    arena = arena_of(address)
    live = carray(pointer(arena[Place.K_LIVE]), (k + 1, arena[Place.TERMINAL_WORDS]), np.uint64)
    return live[k, terminal >> 6] >> uint64(terminal & 63) & uint64(1) != 0


@inlined
def slot_of(table, size, q, s, b):
    """Where the verdict on (q, s, b) is, or would be."""
    at = int64(mixed(mixed(q, b), s + 1) & uint64(size - 1))
    while table[at, 0] >= 0 and not (table[at, 0] == q and table[at, 1] == s and table[at, 2] == b):
        at = (at + 1) & (size - 1)
    return at


@part
def judged(address, q, s, b):
    """What is known of (q, s, b), or what is lacking."""
    arena = arena_of(address)
    size = arena[Place.JUDGED_SIZE]
    table = carray(pointer(arena[Place.JUDGED]), (size, 4), np.int32)
    at = slot_of(table, size, q, s, b)
    if table[at, 0] >= 0:
        return int64(table[at, 3])
    pair = carray(pointer(arena[Place.PAIR]), 3, np.int64)
    pair[0], pair[1], pair[2] = q, s, b
    return lacks(NEED_VERDICT, 0)


@part
def can_finish(address, q, s, b):
    """1 where the thread can be finished, 0 where not, or what is lacking. First by terminals alone."""
    arena = arena_of(address)
    symbol = int64(ints(arena, Place.S_SYMBOL, s + 1)[s])
    k = int64(0)
    if symbol < 0:
        k = -symbol - 1
    elif symbol >= LR_BASE:
        k = stack_class(address, s)
        if k < 0:
            return k
    row = judged(address, q, -1 - int64(ints(arena, Place.K_LEXER, k + 1)[k]), b)
    if row < 0:
        return row
    words = max(arena[Place.TERMINAL_WORDS], int64(1))
    verdicts = carray(pointer(arena[Place.VERDICTS]), (row + 1, 2, words), np.uint64)
    takes = carray(pointer(arena[Place.K_LIVE]), (k + 1, words), np.uint64)
    maybe = False
    for w in range(words):
        if verdicts[row, 0, w] & takes[k, w] != 0:
            return int64(1)
        maybe = maybe or verdicts[row, 1, w] & takes[k, w] != 0
    return judged(address, q, s, b) if maybe else int64(0)


@part
def close(address, count):
    """Closes the first `count` threads of WORK and returns the config that they are, or what is lacking."""
    count = close_threads(address, count)
    return config_of(address, count) if count >= 0 else count


@part
def close_threads(address, count):
    """Closes the first `count` threads of WORK; how many lie in KEPT then, or what is lacking."""
    arena = arena_of(address)
    work = carray(pointer(arena[Place.WORK]), (WIDEST, 3), np.int32)
    kept = carray(pointer(arena[Place.KEPT]), (WIDEST, 3), np.int32)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    terminals = arena[Place.LR_TERMINALS]
    keep = 0
    i = 0
    while i < count:
        if count >= WIDEST:
            return lacks(TOO_WIDE, 0)
        q, s, b = int64(work[i, 0]), int64(work[i, 1]), int64(work[i, 2])
        i += 1
        status = octets(arena, Place.Q_STATUS, q + 1)[q]
        if status & EXPANDED == 0:
            return lacks(NEED_STATE, q)
        if arena[Place.CHECKS] != UNCHECKED and q > EXIT:
            asks = arena[Place.CHECKS] == EVERYTHING or status & DOUBTFUL != 0
            if b != ANY and not asks:
                asks = status & BETWEEN == 0 or octets(arena, Place.B_STATUS, b + 1)[b] & TRUSTED == 0
            if asks:
                finishes = can_finish(address, q, s, b)
                if finishes < 0:
                    return finishes
                if finishes == 0:
                    continue
        if status & READS:
            kept[keep, 0], kept[keep, 1], kept[keep, 2] = q, s, b
            keep += 1
        moves = carray(pointer(arena[Place.Q_MOVES]), (q + 1, 2), np.int32)
        first, many = int64(moves[q, 0]), int64(moves[q, 1])
        table = carray(pointer(arena[Place.MOVES]), (first + many, 3), np.int32)
        for m in range(first, first + many):
            kind, a, c = table[m, 0], int64(table[m, 1]), int64(table[m, 2])
            if kind == CALL:
                under = s
                if c and not (symbols[s] == c and octets(arena, Place.Q_STATUS, c + 1)[c] & LOOPS):
                    under = push(address, s, c)
                    if under < 0:
                        return under
                count = add(work, count, a, under, b)
                continue
            if kind == ENTER:
                under = push(address, s, LR_BASE + a)
                if under < 0:
                    return under
                count = add(work, count, int64(ints(arena, Place.LR_LEXER, a + 1)[a]), under, b)
                continue
            after = s
            rest = int64(b)
            if kind == END:
                if symbols[s] < 0:
                    if class_takes(address, -int64(symbols[s]) - 1, terminals):
                        if arena[Place.LR_ALONE] == 0:
                            count = add(work, count, EXIT, 1 + terminals, b)
                        elif octets(arena, Place.B_STATUS, b + 1)[b] & ACCEPTS:
                            count = add(work, count, ACCEPT, 0, 0)
                    continue
                after = at_end(address, s)
                if after < -1:
                    return after
                if after < 0:
                    continue
            else:
                rest = both(address, b, c)
                if rest < 0:
                    return rest
                if rest == 0:
                    continue
                if kind == LEX or kind == LINE:
                    terminal = a if kind == LEX else arena[Place.T_NEWLINE]
                    skipped = octets(arena, Place.IGNORED, terminals)[terminal] != 0
                    if symbols[s] < 0:
                        k = -int64(symbols[s]) - 1
                        if kind == LINE:
                            skipped = class_takes(address, k, terminals + 1)
                        if not skipped:
                            if class_takes(address, k, terminal):
                                count = add(work, count, EXIT, 1 + a if kind == LEX else 2 + terminals + a, rest)
                            continue
                    elif kind == LINE and ints(arena, Place.S_BRACKETS, capacity)[s] > 0:
                        skipped = True
                    if skipped:
                        after = s
                    else:
                        after = shift(address, s, a, 0) if kind == LEX else next_line(address, s, a)
                        if after < 0:
                            return after
                        if after == 0:
                            continue
                    symbol = int64(symbols[after])
                    if symbol < 0:
                        start = int64(ints(arena, Place.K_LEXER, -symbol)[-symbol - 1])
                    else:
                        start = int64(ints(arena, Place.LR_LEXER, arena[Place.LR_STATES])[lr_state(symbol)])
                    count = add(work, count, start, after, rest)
                    continue
            symbol = int64(symbols[after])
            if symbol == ROOT:
                if octets(arena, Place.B_STATUS, rest + 1)[rest] & ACCEPTS:
                    count = add(work, count, ACCEPT, 0, 0)
            elif symbol < 0:
                count = add(work, count, EXIT, 0, rest)
            else:
                count = add(work, count, symbol, int64(parents[after]), rest)
    return int64(keep)


@inlined
def key_of(threads, offset, count):
    key = uint64(count)
    for i in range(offset, offset + count):
        key = mixed(key ^ uint64(threads[i, 0]), uint64(threads[i, 1]) << uint64(32) | uint64(threads[i, 2]))
    return key


@part
def config_of(address, count):
    """The number of the config whose threads lie in KEPT."""
    if count == 0:
        return int64(0)
    arena = arena_of(address)
    kept = carray(pointer(arena[Place.KEPT]), (WIDEST, 3), np.int32)
    for i in range(1, count):  # sorted by insertion: there are few
        q, s, b = kept[i, 0], kept[i, 1], kept[i, 2]
        j = i - 1
        while j >= 0 and (
            kept[j, 0] > q or (kept[j, 0] == q and (kept[j, 1] > s or (kept[j, 1] == s and kept[j, 2] > b)))
        ):
            kept[j + 1, 0], kept[j + 1, 1], kept[j + 1, 2] = kept[j, 0], kept[j, 1], kept[j, 2]
            j -= 1
        kept[j + 1, 0], kept[j + 1, 1], kept[j + 1, 2] = q, s, b
    key = key_of(kept, 0, count)
    capacity = arena[Place.C_CAPACITY]
    offsets, lengths = ints(arena, Place.C_OFFSET, capacity), ints(arena, Place.C_LENGTH, capacity)
    threads = carray(pointer(arena[Place.THREADS]), (arena[Place.T_CAPACITY], 3), np.int32)
    size = arena[Place.C_HASH_SIZE]
    table = ints(arena, Place.C_HASH, size)
    at = int64(key & uint64(size - 1))
    while table[at] >= 0:
        found = int64(table[at])
        if lengths[found] == count:
            offset = int64(offsets[found])
            same = True
            for i in range(count):
                for j in range(3):
                    same = same and threads[offset + i, j] == kept[i, j]
            if same:
                return found
        at = (at + 1) & (size - 1)
    new, offset = arena[Place.C_COUNT], arena[Place.T_COUNT]
    if new >= capacity or offset + count > arena[Place.T_CAPACITY]:
        return lacks(FULL, 2)
    offsets[new], lengths[new] = offset, count
    ints(arena, Place.C_ROW, capacity)[new] = -1
    octets(arena, Place.C_ACCEPTS, capacity)[new] = kept[0, 0] == ACCEPT
    kind = 0
    for i in range(count):
        kind |= HAS_EXITS if kept[i, 0] == EXIT else HAS_THREADS if kept[i, 0] > EXIT else 0
        for j in range(3):
            threads[offset + i, j] = kept[i, j]
    octets(arena, Place.C_KIND, capacity)[new] = kind
    table[at] = new
    arena[Place.C_COUNT], arena[Place.T_COUNT] = new + 1, offset + count
    return int64(new)


@part
def step(address, config, column):
    """The config after a byte of class `column`."""
    arena = arena_of(address)
    capacity = arena[Place.C_CAPACITY]
    offset = int64(ints(arena, Place.C_OFFSET, capacity)[config])
    length = int64(ints(arena, Place.C_LENGTH, capacity)[config])
    threads = carray(pointer(arena[Place.THREADS]), (offset + length, 3), np.int32)
    work = carray(pointer(arena[Place.WORK]), (WIDEST, 3), np.int32)
    classes = arena[Place.CLASSES]
    words = arena[Place.TERMINAL_WORDS]
    count = 0
    for i in range(offset, offset + length):
        q, s, b = int64(threads[i, 0]), int64(threads[i, 1]), int64(threads[i, 2])
        if q <= EXIT:
            continue
        after = int64(ints(arena, Place.Q_NEXT, (q + 1) * classes)[q * classes + column])
        if after == 0:
            continue
        if b != ANY:
            if octets(arena, Place.B_STATUS, b + 1)[b] & EXPANDED == 0:
                return lacks(NEED_BORDER, b)
            b = int64(ints(arena, Place.B_NEXT, (b + 1) * classes)[b * classes + column])
            if b == 0:
                continue
        symbol = int64(ints(arena, Place.S_SYMBOL, s + 1)[s])
        if words and (symbol >= LR_BASE or symbol < 0):
            if octets(arena, Place.Q_STATUS, after + 1)[after] & LIVE_KNOWN == 0:
                return lacks(NEED_LIVE, after)
            k = -symbol - 1 if symbol < 0 else stack_class(address, s)
            if k < 0:
                return k
            here = carray(pointer(arena[Place.Q_LIVE]), (after + 1, words), np.uint64)
            there = carray(pointer(arena[Place.K_LIVE]), (k + 1, words), np.uint64)
            live = False
            for w in range(words):
                live = live or here[after, w] & there[k, w] != 0
            if not live:
                continue
        count = add(work, count, after, s, b)
    if count == 0:
        return int64(0)
    return close(address, count)
