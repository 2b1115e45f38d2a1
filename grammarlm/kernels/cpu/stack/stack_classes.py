"""Classes of stacks: all that a lexeme needs to know of the stack it begins on.

That is the lexer's start state there, and the terminals that can actually be shifted. Classes are interned.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack import FULL, LIVE_KNOWN, LR_BASE, NUMBER, STARTS, STATES, TOO_WIDE, UNITS, Field

from .arena import arena_of, entry_of, first_slot, ints, longs, lr_state, missing, mixed, octets
from .stacks import UNDECIDED, at_end_of_blocks, can_shift, push, reduced, shift

LONG_CHAIN = 64  # number of reductions in succession


@inlined
def set_terminal(live, k, terminal, takes):
    bit = uint64(1) << uint64(terminal & 63)
    live[k, terminal >> 6] = live[k, terminal >> 6] | bit if takes else live[k, terminal >> 6] & ~bit


@part
def known_class(address, new):
    """Interns the class stored at the last index. Returns its number, or that of an equal one."""
    arena = arena_of(address)
    words, most = arena[Field.TERMINAL_WORDS], arena[Field.K_CAPACITY]
    lexers = ints(arena, Field.K_LEXER, most)
    live = carray(pointer(arena[Field.K_LIVE]), (most, words), np.uint64)
    size = arena[Field.K_HASH_SIZE]
    table = longs(arena, Field.K_HASH, size)
    key = uint64(lexers[new])
    for w in range(words):
        key = mixed(key, live[new, w])
    entry = entry_of(key, new)
    at = first_slot(entry, size)
    while table[at] >= 0:
        k = table[at] & NUMBER
        same = lexers[k] == lexers[new]
        for w in range(words):
            same = same and live[k, w] == live[new, w]
        if same:
            return k
        at = (at + 1) & (size - 1)
    table[at] = entry
    arena[Field.K_COUNT] = new + 1
    return int64(new)


@part
def stack_class(address, stack):
    """The number of (lexer, terminals that can actually be shifted): all that a lexeme needs to know of a stack.

    A stack shifts what its top state shifts and, on the terminals on which the state reduces, what the stack after the reduction
    shifts. Unit reductions, which replace only the top, are followed here (UNITS: the resulting top states, and on which
    terminals). The stacks after other reductions are few; their classes are cached. CHAIN is an explicit recursion stack of stacks
    waiting for others; if it overflows, its lower part is dropped and recomputed. The stacks of a long chain are exempt from
    rollback (MARK_S is moved), because otherwise each position of a right-nested text would walk the whole chain
    again. Where empty rules make stacks wait for each other, each on other terminals, the class is found terminal by terminal:
    such a circle comes back to a landmark, which is set anew after 1, 2, 4, ... steps.
    """
    arena = arena_of(address)
    capacity = arena[Field.S_CAPACITY]
    classes = ints(arena, Field.S_CLASS, capacity)
    if classes[stack] >= 0:
        return int64(classes[stack])
    terminals, words, states = arena[Field.LR_TERMINALS], arena[Field.TERMINAL_WORDS], arena[Field.LR_STATES]
    nonterminals = arena[Field.LR_NONTERMINALS]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    ignored = carray(pointer(arena[Field.IGNORED_BITS]), words, np.uint64)
    shifts = carray(pointer(arena[Field.LR_SHIFTS]), (states, words), np.uint64)
    begins = ints(arena, Field.LR_REDUCES, states + 1)
    reductions = int64(begins[states])
    rules = ints(arena, Field.REDUCE_RULE, reductions)
    shapes = carray(pointer(arena[Field.LR_RULE]), (arena[Field.LR_RULES], 2), np.int32)
    goto = carray(pointer(arena[Field.LR_GOTO]), states * nonterminals, np.int32)
    reduce_on = carray(pointer(arena[Field.REDUCE_ON]), (reductions, words), np.uint64)
    lexers = ints(arena, Field.LR_LEXER, states)
    most = arena[Field.K_CAPACITY]
    live = carray(pointer(arena[Field.K_LIVE]), (most, words), np.uint64)
    chain = ints(arena, Field.CHAIN, STATES)
    unit_states = ints(arena, Field.UNITS, UNITS)
    unit_on = carray(pointer(arena[Field.UNITS_ON]), (UNITS, words), np.uint64)
    chain[0] = stack
    height, highest = 1, 1
    landmark, steps, most_steps = int64(stack), 0, 1
    while height > 0:
        here = int64(chain[height - 1])
        base = lr_state(symbols[parents[here]]) if symbols[parents[here]] >= LR_BASE else int64(-1)
        new = arena[Field.K_COUNT]
        if new >= most:
            return missing(FULL, 1)
        unit_states[0] = lr_state(symbols[here])
        for w in range(words):
            live[new, w] = 0
            unit_on[0, w] = ~uint64(0)
        many, unit = 1, 0
        waits, is_circle = False, False
        while unit < many and not waits and not is_circle:
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
                        return missing(TOO_WIDE, 1)
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
                if classes[after] < 0 and after == landmark:
                    is_circle = True
                    break
                if classes[after] < 0:
                    steps += 1
                    if steps == most_steps:
                        landmark, steps, most_steps = after, 0, 2 * most_steps
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
        for terminal in range(terminals + 1 if is_circle else 0):
            takes = can_shift(address, here, terminal, 1 << 40)
            if takes < 0:
                return takes
            set_terminal(live, new, terminal, takes > 0)
        for w in range(words):
            live[new, w] |= ignored[w]
        if arena[Field.INDENTS]:
            ends = at_end_of_blocks(address, here)
            if ends < -1:
                return ends
            set_terminal(live, new, terminals, ends >= 0)
            in_brackets = ints(arena, Field.S_BRACKETS, capacity)[here] > 0
            set_terminal(live, new, terminals + 1, in_brackets)
            if in_brackets:
                set_terminal(live, new, arena[Field.T_NEWLINE], True)
        ints(arena, Field.K_LEXER, most)[new] = lexers[lr_state(symbols[here])]
        known = known_class(address, new)
        if known < 0:
            return known
        classes[here] = known
        height -= 1
        if height == 0 and classes[stack] < 0:
            chain[0] = stack
            height = 1
    if highest > LONG_CHAIN:
        arena[Field.MARK_S] = arena[Field.S_COUNT]
    return int64(classes[stack])


@part
def narrowed_class(address, k, q):
    """Restricts class k to what state q depends on: only terminals that q can become; and no lexer state, unless q can become
    an ignored terminal. So one survey serves a name wherever it stands. Or a missing code.
    """
    arena = arena_of(address)
    words, most, new = arena[Field.TERMINAL_WORDS], arena[Field.K_CAPACITY], arena[Field.K_COUNT]
    if words == 0 or octets(arena, Field.Q_STATUS, q + 1)[q] & (STARTS | LIVE_KNOWN) != LIVE_KNOWN:
        return int64(k)
    if new >= most:
        return missing(FULL, 1)
    here = carray(pointer(arena[Field.Q_LIVE]), (q + 1, words), np.uint64)
    live = carray(pointer(arena[Field.K_LIVE]), (most, words), np.uint64)
    ignored = carray(pointer(arena[Field.IGNORED_BITS]), words, np.uint64)
    newline = arena[Field.T_NEWLINE]
    if arena[Field.INDENTS] and here[q, newline >> 6] >> uint64(newline & 63) & uint64(1):
        return int64(k)
    for w in range(words):
        if here[q, w] & ignored[w]:
            return int64(k)
        live[new, w] = live[k, w] & here[q, w]
    ints(arena, Field.K_LEXER, most)[new] = 0
    return known_class(address, new)


@part
def class_takes(address, k, terminal):
    """Is the terminal live under a stack of class k? The bits after the terminals: end of text, and whether ends of lines are
    ignored.
    """
    arena = arena_of(address)
    live = carray(pointer(arena[Field.K_LIVE]), (k + 1, arena[Field.TERMINAL_WORDS]), np.uint64)
    return live[k, terminal >> 6] >> uint64(terminal & 63) & uint64(1) != 0


@part
def at_end(address, stack):
    """The stack below the parser if the text may end here; -1 if it may not; below -1: a missing code."""
    arena = arena_of(address)
    if arena[Field.INDENTS]:
        return at_end_of_blocks(address, stack)
    terminals = arena[Field.LR_TERMINALS]
    takes = can_shift(address, stack, terminals, LONG_CHAIN)
    if takes == UNDECIDED:  # the class includes the result for the stacks below
        k = stack_class(address, stack)
        if k < 0:
            return k
        takes = int64(class_takes(address, k, terminals))
    if takes <= 0:
        return takes if takes < 0 else int64(-1)
    return int64(0) if arena[Field.LR_ALONE] else shift(address, stack, terminals, 0)
