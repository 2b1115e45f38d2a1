"""Stacks of the pushdown machine: pushing, LR shifts and reductions, and the terminals that a stack accepts next.

A stack is the number of an interned pair (parent, symbol), found by a hash table. A **stack class** is all that a lexeme needs to
know of the stack it begins on: the lexer's start state there, and the terminals that can actually be shifted.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack import (
    ANY,
    CLOSES_BLOCK,
    CLOSES_BRACKET,
    DEPTH_OF_OVERLAY,
    FOR_CLASS,
    FULL,
    LIVE_KNOWN,
    LR_BASE,
    NEED_AND,
    NEED_LOCK,
    OPENS_BLOCK,
    OPENS_BRACKET,
    STARTS,
    STATES,
    TOO_WIDE,
    UNITS,
    WIDTH,
    Place,
)

from .places import arena_of, ints, lacks, lr_state, mixed, octets
from .turns import end_turn, take_turn

LONG_CHAIN = 64  # number of reductions in succession
UNDECIDED = 2


@part
def note_blocks(address, parent, symbol, new):
    """Computes the indentation and open brackets of a new stack from its parent's and its own top symbol."""
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
    """Interns the stack with one more symbol. Returns its number, or FULL."""
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
    """The border that is satisfied iff both are, or a missing code."""
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
    """The LR stack after a terminal (after the end of text: the stack below the parser), 0 if the parser rejects it, or a missing
    code.

    `width` is the indentation of the line that opens a block, 0 for any other terminal.

    Stack 0 is the empty one, on which no parser stands.
    """
    arena = arena_of(address)
    columns, nonterminals = arena[Place.LR_TERMINALS] + 1, arena[Place.LR_NONTERMINALS]
    states = arena[Place.LR_STATES]
    action = carray(pointer(arena[Place.LR_ACTION]), states * columns, np.int32)
    goto = carray(pointer(arena[Place.LR_GOTO]), states * nonterminals, np.int32)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    rules = carray(pointer(arena[Place.LR_RULE]), (arena[Place.LR_RULES], 2), np.int32)
    below, top = int64(parents[stack]), lr_state(symbols[stack])
    while True:  # `stack` is -1 while the goto state `top` over `below` is not interned as a stack yet
        what = action[top * columns + terminal]
        if what == 0:
            return int64(0)
        if what > 0 and terminal == columns - 1:
            return int64(parents[below])
        if stack < 0 and (what > 0 or rules[-what - 1, 0] == 0):
            stack = push(address, below, LR_BASE + top)
            if stack < 0:
                return stack
        if what > 0:
            return push(address, stack, LR_BASE + what - 1 + (width << WIDTH))
        length = rules[-what - 1, 0]
        if length == 0:
            below = stack
        for _ in range(length - 1):
            below = int64(parents[below])
        top = int64(goto[lr_state(symbols[below]) * nonterminals + rules[-what - 1, 1]])
        stack = -1


@part
def can_shift(address, stack, terminal, most):
    """1 if `shift` would accept the terminal, 0 if not, UNDECIDED after `most` reductions, or a missing code. Interns no
    stacks: gotos go onto an overlay.
    """
    arena = arena_of(address)
    columns, nonterminals = arena[Place.LR_TERMINALS] + 1, arena[Place.LR_NONTERMINALS]
    states = arena[Place.LR_STATES]
    action = carray(pointer(arena[Place.LR_ACTION]), states * columns, np.int32)
    goto = carray(pointer(arena[Place.LR_GOTO]), states * nonterminals, np.int32)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    overlay = np.empty(DEPTH_OF_OVERLAY, np.int32)
    height = 0
    for _ in range(most):
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
    return int64(UNDECIDED)


@part
def next_line(address, stack, width):
    """The LR stack after the end of a line, if the next line begins in column `width`: opens or closes blocks."""
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
def at_end_of_blocks(address, stack):
    """The stack below the parser if the text may end here, after closing all blocks; -1 if it may not; below -1: a missing code."""
    arena = arena_of(address)
    openers = ints(arena, Place.S_OPENER, arena[Place.S_CAPACITY])
    while openers[stack]:
        stack = shift(address, stack, arena[Place.T_DEDENT], 0)
        if stack == 0:
            return int64(-1)
        if stack < 0:
            return stack
    takes = can_shift(address, stack, arena[Place.LR_TERMINALS], 1 << 40)
    if takes <= 0:
        return takes if takes < 0 else int64(-1)
    return shift(address, stack, arena[Place.LR_TERMINALS], 0)


@part
def reduced(address, stack, rule):
    """The LR stack after a reduction, or a missing code."""
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
    """The number of (lexer, terminals that can actually be shifted): all that a lexeme needs to know of a stack.

    A stack shifts what its top state shifts and, on the terminals on which the state reduces, what the stack after the reduction
    shifts. Unit reductions, which replace only the top, are followed here (UNITS: the resulting top states, and on which
    terminals). The stacks after other reductions are few; their classes are cached. CHAIN is an explicit recursion stack of stacks
    waiting for others; if it overflows, its lower part is dropped and recomputed. The stacks of a long chain are exempt from
    rollback (MARK_S is moved; not in a seat), because otherwise each position of a right-nested text would walk the whole chain
    again.
    """
    arena = arena_of(address)
    capacity = arena[Place.S_CAPACITY]
    classes = ints(arena, Place.S_CLASS, capacity)
    if classes[stack] >= 0:
        return int64(classes[stack])
    terminals, words, states = arena[Place.LR_TERMINALS], arena[Place.TERMINAL_WORDS], arena[Place.LR_STATES]
    nonterminals = arena[Place.LR_NONTERMINALS]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    ignored = carray(pointer(arena[Place.IGNORED_BITS]), words, np.uint64)
    shifts = carray(pointer(arena[Place.LR_SHIFTS]), (states, words), np.uint64)
    begins = ints(arena, Place.LR_REDUCES, states + 1)
    reductions = int64(begins[states])
    rules = ints(arena, Place.REDUCE_RULE, reductions)
    shapes = carray(pointer(arena[Place.LR_RULE]), (arena[Place.LR_RULES], 2), np.int32)
    goto = carray(pointer(arena[Place.LR_GOTO]), states * nonterminals, np.int32)
    reduce_on = carray(pointer(arena[Place.REDUCE_ON]), (reductions, words), np.uint64)
    lexers = ints(arena, Place.LR_LEXER, states)
    most = arena[Place.K_CAPACITY]
    live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
    chain = ints(arena, Place.CHAIN, STATES)
    unit_states = ints(arena, Place.UNITS, UNITS)
    unit_on = carray(pointer(arena[Place.UNITS_ON]), (UNITS, words), np.uint64)
    chain[0] = stack
    height, highest = 1, 1
    while height > 0:
        here = int64(chain[height - 1])
        base = lr_state(symbols[parents[here]]) if symbols[parents[here]] >= LR_BASE else int64(-1)
        new = arena[Place.K_COUNT]
        if new >= most:
            return lacks(FULL, 1)
        unit_states[0] = lr_state(symbols[here])
        for w in range(words):
            live[new, w] = 0
            unit_on[0, w] = ~uint64(0)
        many, unit = 1, 0
        waits = False
        while unit < many and not waits:
            top = int64(unit_states[unit])
            for w in range(words):
                live[new, w] |= unit_on[unit, w] & shifts[top, w]
            for r in range(begins[top], begins[top + 1]):
                concerned = uint64(0)
                for w in range(words):
                    concerned |= unit_on[unit, w] & reduce_on[r, w]
                if concerned == 0:
                    continue
                rule = int64(rules[r])
                if shapes[rule, 0] == 1:
                    if many >= UNITS:
                        return lacks(TOO_WIDE, 1)
                    unit_states[many] = goto[base * nonterminals + shapes[rule, 1]]
                    for w in range(words):
                        unit_on[many, w] = unit_on[unit, w] & reduce_on[r, w]
                    many += 1
                    continue
                there = here
                if unit:
                    there = push(address, int64(parents[here]), LR_BASE + top)
                    if there < 0:
                        return there
                after = reduced(address, there, rule)
                if after < 0:
                    return after
                if classes[after] < 0:
                    if height >= STATES:
                        height = 0
                    chain[height] = after
                    height += 1
                    highest = max(highest, height)
                    waits = True
                    break
                for w in range(words):
                    live[new, w] |= unit_on[unit, w] & reduce_on[r, w] & live[classes[after], w]
            unit += 1
        if waits:
            continue
        for w in range(words):
            live[new, w] |= ignored[w]
        if arena[Place.INDENTS]:
            ends = at_end_of_blocks(address, here)
            if ends < -1:
                return ends
            set_terminal(live, new, terminals, ends >= 0)
            in_brackets = ints(arena, Place.S_BRACKETS, capacity)[here] > 0
            set_terminal(live, new, terminals + 1, in_brackets)
            if in_brackets:
                set_terminal(live, new, arena[Place.T_NEWLINE], True)
        ints(arena, Place.K_LEXER, most)[new] = lexers[lr_state(symbols[here])]
        known = known_class(address, new)
        if known < 0:
            return known
        classes[here] = known
        height -= 1
        if height == 0 and classes[stack] < 0:
            chain[0] = stack
            height = 1
    if highest > LONG_CHAIN and not arena[Place.READ_ONLY]:
        arena[Place.MARK_S] = arena[Place.S_COUNT]
    return int64(classes[stack])


@part
def at_end(address, stack):
    """The stack below the parser if the text may end here; -1 if it may not; below -1: a missing code."""
    arena = arena_of(address)
    if arena[Place.INDENTS]:
        return at_end_of_blocks(address, stack)
    terminals = arena[Place.LR_TERMINALS]
    takes = can_shift(address, stack, terminals, LONG_CHAIN)
    if takes == UNDECIDED:  # the class includes the result for the stacks below
        k = stack_class(address, stack)
        if k < 0:
            return k
        takes = int64(class_takes(address, k, terminals))
    if takes <= 0:
        return takes if takes < 0 else int64(-1)
    return int64(0) if arena[Place.LR_ALONE] else shift(address, stack, terminals, 0)


@inlined
def set_terminal(live, k, terminal, takes):
    bit = uint64(1) << uint64(terminal & 63)
    live[k, terminal >> 6] = live[k, terminal >> 6] | bit if takes else live[k, terminal >> 6] & ~bit


@inlined
def key_of_class(lexers, live, words, k):
    key = uint64(lexers[k])
    for w in range(words):
        key = mixed(key, live[k, w])
    return key


@inlined
def slot_of_class(table, size, lexers, live, words, new):
    """Slot of the class equal to the one at index `new`, or the empty slot for it."""
    at = int64(key_of_class(lexers, live, words, new) & uint64(size - 1))
    while table[at] >= 0:
        k = int64(table[at])
        same = lexers[k] == lexers[new]
        for w in range(words):
            same = same and live[k, w] == live[new, w]
        if same:
            break
        at = (at + 1) & (size - 1)
    return at


@part
def known_class(address, new):
    """Interns the class stored at the last index. Returns its number, or that of an equal one."""
    arena = arena_of(address)
    words, most = arena[Place.TERMINAL_WORDS], arena[Place.K_CAPACITY]
    lexers = ints(arena, Place.K_LEXER, most)
    live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
    size = arena[Place.K_HASH_SIZE]
    table = ints(arena, Place.K_HASH, size)
    at = slot_of_class(table, size, lexers, live, words, new)
    if table[at] >= 0:
        return int64(table[at])
    if arena[Place.READ_ONLY]:  # surveys refer to classes by number, so all seats must number them alike
        return class_beside(address, new)
    table[at] = new
    arena[Place.K_COUNT] = new + 1
    return int64(new)


@inlined
def number_in_epoch(arena, theirs, new):
    """The number that the epoch has, or assigns, for the last class of a seat; -1 if there is no room."""
    words, most = arena[Place.TERMINAL_WORDS], theirs[Place.K_CAPACITY]
    size, count = theirs[Place.K_HASH_SIZE], theirs[Place.K_COUNT]
    lexers, table = ints(theirs, Place.K_LEXER, most), ints(theirs, Place.K_HASH, size)
    live = carray(pointer(theirs[Place.K_LIVE]), (most, words), np.uint64)
    if count >= most:
        return int64(-1)
    lexers[count] = ints(arena, Place.K_LEXER, new + 1)[new]
    live[count] = carray(pointer(arena[Place.K_LIVE]), (new + 1, words), np.uint64)[new]
    at = slot_of_class(table, size, lexers, live, words, count)
    if table[at] < 0:
        table[at] = count
        theirs[Place.K_COUNT] = count + 1
    return int64(table[at])


@part
def class_beside(address, new):
    """Interns the last class of a seat in its epoch and copies the epoch's newer classes. Returns its number.

    Or a code that the seat must look at the epoch again.
    """
    arena = arena_of(address)
    epoch = arena[Place.EPOCH]
    if not take_turn(epoch):
        return lacks(NEED_LOCK, FOR_CLASS)
    theirs = arena_of(epoch)
    number = int64(-1)
    if theirs[Place.REPLACED] == arena[Place.REPLACED_SEEN]:
        number = number_in_epoch(arena, theirs, new)
    if theirs[Place.K_COUNT] > arena[Place.K_CAPACITY]:
        number = int64(-1)
    if number >= 0:
        words, most, size = arena[Place.TERMINAL_WORDS], arena[Place.K_CAPACITY], arena[Place.K_HASH_SIZE]
        lexers, table = ints(arena, Place.K_LEXER, most), ints(arena, Place.K_HASH, size)
        live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
        count = theirs[Place.K_COUNT]
        for k in range(arena[Place.K_COUNT], count):
            lexers[k] = ints(theirs, Place.K_LEXER, count)[k]
            live[k] = carray(pointer(theirs[Place.K_LIVE]), (count, words), np.uint64)[k]
            table[slot_of_class(table, size, lexers, live, words, k)] = k
        arena[Place.K_COUNT] = count
    end_turn(epoch)
    return number if number >= 0 else lacks(NEED_LOCK, FOR_CLASS)


@part
def narrowed_class(address, k, q):
    """Restricts class k to what state q depends on: only terminals that q can become; and no lexer state, unless q can become
    an ignored terminal. So one survey serves a name wherever it stands. Or a missing code.
    """
    arena = arena_of(address)
    words, most, new = arena[Place.TERMINAL_WORDS], arena[Place.K_CAPACITY], arena[Place.K_COUNT]
    if words == 0 or octets(arena, Place.Q_STATUS, q + 1)[q] & (STARTS | LIVE_KNOWN) != LIVE_KNOWN:
        return int64(k)
    if new >= most:
        return lacks(FULL, 1)
    here = carray(pointer(arena[Place.Q_LIVE]), (q + 1, words), np.uint64)
    live = carray(pointer(arena[Place.K_LIVE]), (most, words), np.uint64)
    ignored = carray(pointer(arena[Place.IGNORED_BITS]), words, np.uint64)
    newline = arena[Place.T_NEWLINE]
    if arena[Place.INDENTS] and here[q, newline >> 6] >> uint64(newline & 63) & uint64(1):
        return int64(k)
    for w in range(words):
        if here[q, w] & ignored[w]:
            return int64(k)
        live[new, w] = live[k, w] & here[q, w]
    ints(arena, Place.K_LEXER, most)[new] = 0
    return known_class(address, new)


@part
def class_takes(address, k, terminal):
    """Is the terminal live under a stack of class k? The bits after the terminals: end of text, and whether ends of lines are
    ignored.
    """
    arena = arena_of(address)
    live = carray(pointer(arena[Place.K_LIVE]), (k + 1, arena[Place.TERMINAL_WORDS]), np.uint64)
    return live[k, terminal >> 6] >> uint64(terminal & 63) & uint64(1) != 0
