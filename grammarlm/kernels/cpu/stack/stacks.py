"""Stacks of the pushdown machine: pushing, LR shifts and reductions, the blocks of indented lines.

A stack is the number of an interned pair (parent, symbol), found by a hash table.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack import (
    CLOSES_BLOCK,
    CLOSES_BRACKET,
    DEPTH_OF_OVERLAY,
    FULL,
    LR_BASE,
    NUMBER,
    OPENS_BLOCK,
    OPENS_BRACKET,
    TOO_WIDE,
    WIDTH,
    Field,
)

from .arena import arena_of, entry_of, first_slot, ints, longs, lr_state, missing, mixed, octets

UNDECIDED = 2


@part
def note_blocks(address, parent, symbol, new):
    """Computes the indentation and open brackets of a new stack from its parent's and its own top symbol."""
    arena = arena_of(address)
    count = arena[Field.S_CAPACITY]
    indents, openers = ints(arena, Field.S_INDENT, count), ints(arena, Field.S_OPENER, count)
    brackets = ints(arena, Field.S_BRACKETS, count)
    indents[new], openers[new], brackets[new] = indents[parent], openers[parent], brackets[parent]
    if symbol < LR_BASE:
        return
    access = octets(arena, Field.LR_ACCESS, arena[Field.LR_STATES])[lr_state(symbol)]
    if access == OPENS_BLOCK:
        indents[new], openers[new] = (int64(symbol) - LR_BASE) >> WIDTH, new
    elif access == CLOSES_BLOCK:
        outside = ints(arena, Field.S_PARENT, count)[openers[parent]]
        indents[new], openers[new] = indents[outside], openers[outside]
    elif access == OPENS_BRACKET:
        brackets[new] += 1
    elif access == CLOSES_BRACKET:
        brackets[new] -= 1


@part
def push(address, parent, symbol):
    """Interns the stack with one more symbol. Returns its number, or FULL."""
    arena = arena_of(address)
    count = arena[Field.S_CAPACITY]
    parents, symbols = ints(arena, Field.S_PARENT, count), ints(arena, Field.S_SYMBOL, count)
    size, new = arena[Field.S_HASH_SIZE], arena[Field.S_COUNT]
    table = longs(arena, Field.S_HASH, size)
    entry = entry_of(mixed(parent, symbol), new)
    at = first_slot(entry, size)
    while table[at] >= 0:
        found = table[at] & NUMBER
        if parents[found] == parent and symbols[found] == symbol:
            return found
        at = (at + 1) & (size - 1)
    if new >= count:
        return missing(FULL, 0)
    parents[new], symbols[new] = parent, symbol
    ints(arena, Field.S_CLASS, count)[new] = -1
    if arena[Field.INDENTS]:
        note_blocks(address, parent, symbol, new)
    table[at] = entry
    arena[Field.S_COUNT] = new + 1
    return int64(new)


@part
def shift(address, stack, terminal, width):
    """The LR stack after a terminal (after the end of text: the stack below the parser), 0 if the parser rejects it, or a missing
    code.

    `width` is the indentation of the line that opens a block, 0 for any other terminal.

    Stack 0 is the empty one, on which no parser stands.
    """
    arena = arena_of(address)
    columns, nonterminals = arena[Field.LR_TERMINALS] + 1, arena[Field.LR_NONTERMINALS]
    states = arena[Field.LR_STATES]
    action = carray(pointer(arena[Field.LR_ACTION]), states * columns, np.int32)
    goto = carray(pointer(arena[Field.LR_GOTO]), states * nonterminals, np.int32)
    capacity = arena[Field.S_CAPACITY]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    rules = carray(pointer(arena[Field.LR_RULE]), (arena[Field.LR_RULES], 2), np.int32)
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
    columns, nonterminals = arena[Field.LR_TERMINALS] + 1, arena[Field.LR_NONTERMINALS]
    states = arena[Field.LR_STATES]
    action = carray(pointer(arena[Field.LR_ACTION]), states * columns, np.int32)
    goto = carray(pointer(arena[Field.LR_GOTO]), states * nonterminals, np.int32)
    capacity = arena[Field.S_CAPACITY]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    overlay = np.empty(DEPTH_OF_OVERLAY, np.int32)
    height = 0
    for _ in range(most):
        top = int64(overlay[height - 1]) if height else lr_state(symbols[stack])
        what = action[top * columns + terminal]
        if what >= 0:
            return int64(what > 0)
        rule = carray(pointer(arena[Field.LR_RULE]), (int64(-what), 2), np.int32)[-what - 1]
        length = rule[0]
        from_overlay = min(length, height)
        height -= from_overlay
        for _ in range(length - from_overlay):
            stack = int64(parents[stack])
        top = int64(overlay[height - 1]) if height else lr_state(symbols[stack])
        if height >= DEPTH_OF_OVERLAY:
            return missing(TOO_WIDE, 1)
        overlay[height] = goto[top * nonterminals + rule[1]]
        height += 1
    return int64(UNDECIDED)


@part
def next_line(address, stack, width):
    """The LR stack after the end of a line, if the next line begins in column `width`: opens or closes blocks."""
    arena = arena_of(address)
    newline, indent, dedent = arena[Field.T_NEWLINE], arena[Field.T_INDENT], arena[Field.T_DEDENT]
    if arena[Field.LINE_STACK] == stack:
        stack = arena[Field.LINE_AFTER]
    else:
        after = shift(address, stack, newline, 0)
        if after >= 0:
            arena[Field.LINE_STACK], arena[Field.LINE_AFTER] = stack, after
        stack = after
    if stack <= 0:
        return stack
    indents = ints(arena, Field.S_INDENT, arena[Field.S_CAPACITY])
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
    openers = ints(arena, Field.S_OPENER, arena[Field.S_CAPACITY])
    while openers[stack]:
        stack = shift(address, stack, arena[Field.T_DEDENT], 0)
        if stack == 0:
            return int64(-1)
        if stack < 0:
            return stack
    takes = can_shift(address, stack, arena[Field.LR_TERMINALS], 1 << 40)
    if takes <= 0:
        return takes if takes < 0 else int64(-1)
    return shift(address, stack, arena[Field.LR_TERMINALS], 0)


@part
def reduced(address, stack, rule):
    """The LR stack after a reduction, or a missing code."""
    arena = arena_of(address)
    capacity, nonterminals = arena[Field.S_CAPACITY], arena[Field.LR_NONTERMINALS]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    shape = carray(pointer(arena[Field.LR_RULE]), (rule + 1, 2), np.int32)
    for _ in range(shape[rule, 0]):
        stack = int64(parents[stack])
    goto = carray(pointer(arena[Field.LR_GOTO]), arena[Field.LR_STATES] * nonterminals, np.int32)
    return push(address, stack, LR_BASE + goto[lr_state(symbols[stack]) * nonterminals + shape[rule, 1]])
