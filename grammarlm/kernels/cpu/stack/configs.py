"""The pushdown machine: configs of a grammar with a stack, and their transition on one byte.

A **config** is a set of threads (q, s, b). `q` is a state of a lazy automaton over bytes, `s` a stack, `b` a border: a
constraint on the rest of the text (lookahead). States and borders are rows of tables that Python computes
(masks/machines/stack/states.py); stacks, configs and all else are computed here. All are interned numbers: equal things have
equal numbers, and nothing that has a number changes.

    q    next[q, class of byte], and epsilon moves:
             CALL a r     begin at a, with the return state r on the stack
             POP c        the frame ends here, if the rest satisfies border c; continue at the return state
             LEX t c      a lexeme of terminal t ends here, if the rest satisfies c; the LR parser shifts it
             END          the LR parser may have the end of its text here
             ENTER a      an LR parser begins, in its state a
             LINE w c     a line ends here and the next one begins in column w: like LEX, then blocks are opened or closed
    s    (parent, symbol): a return state, an LR state, a symbol below 1 that stands for what is below the stack, or UNION
    b    next[b, class], 0 = violated, 1 = any rest

The closure of a set of threads follows all moves and keeps the threads that can read a byte, and two kinds of pseudo-threads:
ACCEPT (the text may end here) and EXIT (a frame over an unknown stack has ended: see surveys.py).

Every function returns a number >= 0, or a negative **missing code**: -(id * 8 + reason). The caller computes it and calls again; no
partial result remains.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack import (
    ACCEPT,
    ACCEPTS,
    ANY,
    BETWEEN,
    CALL,
    DOUBTFUL,
    DOUBTS,
    END,
    ENTER,
    EVERYTHING,
    EXIT,
    EXPANDED,
    FULL,
    HAS_EXITS,
    HAS_THREADS,
    LEX,
    LINE,
    LIVE_KNOWN,
    LOOPS,
    LR_BASE,
    NEED_BORDER,
    NEED_LIVE,
    NEED_STATE,
    NUMBER,
    READS,
    ROOT,
    TOO_WIDE,
    TRUSTED,
    UNION,
    WIDE,
    WIDEST,
    Field,
)

from .arena import arena_of, entry_of, first_slot, ints, key_of_words, longs, lr_state, missing, octets, same_words
from .borders import answer, both
from .stack_classes import at_end, class_takes, stack_class
from .stacks import next_line, push, shift
from .unions import unite_closed


@inlined
def add(pending, count, q, s, b):
    """Appends a thread unless it is present. Returns the new count; WIDEST if there is no room."""
    for i in range(count):
        if pending[i, 0] == q and pending[i, 1] == s and pending[i, 2] == b:
            return count
    if count == WIDEST:
        return count
    pending[count, 0], pending[count, 1], pending[count, 2] = q, s, b
    return count + 1


@part
def can_finish(address, q, s, b):
    """1 if the thread can be finished, 0 if not, or a missing code. Tries to decide by terminals alone first."""
    arena = arena_of(address)
    symbol = int64(ints(arena, Field.S_SYMBOL, s + 1)[s])
    k = int64(0)
    if symbol < 0:
        k = -symbol - 1
    elif symbol >= LR_BASE:
        k = stack_class(address, s)
        if k < 0:
            return k
    row = answer(address, q, -1 - int64(ints(arena, Field.K_LEXER, k + 1)[k]), b)
    if row < 0:
        return row
    words = max(arena[Field.TERMINAL_WORDS], int64(1))
    verdicts = carray(pointer(arena[Field.VERDICTS]), (row + 1, 2, words), np.uint64)
    takes = carray(pointer(arena[Field.K_LIVE]), (k + 1, words), np.uint64)
    maybe = False
    for w in range(words):
        if verdicts[row, 0, w] & takes[k, w] != 0:
            return int64(1)
        maybe = maybe or verdicts[row, 1, w] & takes[k, w] != 0
    return answer(address, q, s, b) if maybe else int64(0)


@inlined
def must_ask(arena, status, b):
    """Must it be checked whether a thread can be finished? Depends on its state's status and its border (stack/proofs/trust.py)."""
    asks = arena[Field.CHECKS] == EVERYTHING
    if arena[Field.CHECKS] == DOUBTS:
        asks = status & DOUBTFUL != 0
        if b != ANY and not asks:
            asks = status & BETWEEN == 0 or octets(arena, Field.B_STATUS, b + 1)[b] & TRUSTED == 0
    return asks


@part
def leave(address, count, stack, border):
    """Appends to PENDING the threads after a frame that ends on this stack. Returns the new count."""
    arena = arena_of(address)
    pending = carray(pointer(arena[Field.PENDING]), (WIDEST, 3), np.int32)
    capacity = arena[Field.S_CAPACITY]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    while stack >= 0:
        here, symbol = int64(stack), int64(symbols[stack])
        stack = int64(-1)
        if symbol >= UNION:
            stack, here = symbol - UNION, int64(parents[here])
            symbol = int64(symbols[here])
        if symbol == ROOT:
            if octets(arena, Field.B_STATUS, border + 1)[border] & ACCEPTS:
                count = add(pending, count, ACCEPT, 0, 0)
        elif symbol < 0:
            count = add(pending, count, EXIT, 0, border)
        else:
            count = add(pending, count, symbol, int64(parents[here]), border)
    return count


@part
def close(address, count):
    """The config of the closure of the first `count` threads of PENDING, or a missing code."""
    count = close_threads(address, count)
    if count > WIDE and arena_of(address)[Field.LR_STATES] == 0:  # not for LR: a parser reads its stack
        count = unite_closed(address, count)
    return config_of(address, count) if count >= 0 else count


@part
def close_threads(address, count):
    """Computes the closure of the first `count` threads of PENDING into CLOSURE. Returns its size, or a missing code."""
    arena = arena_of(address)
    pending = carray(pointer(arena[Field.PENDING]), (WIDEST, 3), np.int32)
    closed = carray(pointer(arena[Field.CLOSURE]), (WIDEST, 3), np.int32)
    capacity = arena[Field.S_CAPACITY]
    symbols = ints(arena, Field.S_SYMBOL, capacity)
    terminals = arena[Field.LR_TERMINALS]
    left = 0
    i = 0
    while i < count:
        if count >= WIDEST:
            return missing(TOO_WIDE, 0)
        q, s, b = int64(pending[i, 0]), int64(pending[i, 1]), int64(pending[i, 2])
        i += 1
        status = octets(arena, Field.Q_STATUS, q + 1)[q]
        if status & EXPANDED == 0:
            return missing(NEED_STATE, q)
        if q > EXIT and must_ask(arena, status, b):
            finishes = can_finish(address, q, s, b)
            if finishes < 0:
                return finishes
            if finishes == 0:
                continue
        if status & READS:
            closed[left, 0], closed[left, 1], closed[left, 2] = q, s, b
            left += 1
        moves = carray(pointer(arena[Field.Q_MOVES]), (q + 1, 2), np.int32)
        first, many = int64(moves[q, 0]), int64(moves[q, 1])
        table = carray(pointer(arena[Field.MOVES]), (first + many, 3), np.int32)
        for m in range(first, first + many):
            kind, a, c = table[m, 0], int64(table[m, 1]), int64(table[m, 2])
            if kind == CALL:
                under = s
                if c and not (symbols[s] == c and octets(arena, Field.Q_STATUS, c + 1)[c] & LOOPS):
                    under = push(address, s, c)
                    if under < 0:
                        return under
                count = add(pending, count, a, under, b)
                continue
            if kind == ENTER:
                under = push(address, s, LR_BASE + a)
                if under < 0:
                    return under
                count = add(pending, count, int64(ints(arena, Field.LR_LEXER, a + 1)[a]), under, b)
                continue
            after = s
            rest = int64(b)
            if kind == END:
                if symbols[s] < 0:
                    if class_takes(address, -int64(symbols[s]) - 1, terminals):
                        if arena[Field.LR_ALONE] == 0:
                            count = add(pending, count, EXIT, 1 + terminals, b)
                        elif octets(arena, Field.B_STATUS, b + 1)[b] & ACCEPTS:
                            count = add(pending, count, ACCEPT, 0, 0)
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
                    terminal = a if kind == LEX else arena[Field.T_NEWLINE]
                    skipped = octets(arena, Field.IGNORED, terminals)[terminal] != 0
                    if symbols[s] < 0:
                        k = -int64(symbols[s]) - 1
                        if kind == LINE:
                            skipped = class_takes(address, k, terminals + 1)
                        if not skipped:
                            if class_takes(address, k, terminal):
                                count = add(pending, count, EXIT, 1 + a if kind == LEX else 2 + terminals + a, rest)
                            continue
                    elif kind == LINE and ints(arena, Field.S_BRACKETS, capacity)[s] > 0:
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
                        start = int64(ints(arena, Field.K_LEXER, -symbol)[-symbol - 1])
                    else:
                        start = int64(ints(arena, Field.LR_LEXER, arena[Field.LR_STATES])[lr_state(symbol)])
                    count = add(pending, count, start, after, rest)
                    continue
            count = leave(address, count, after, rest)
    return int64(left)


@part
def config_of(address, count):
    """Interns the config whose threads are in CLOSURE. Returns its number, or FULL."""
    if count == 0:
        return int64(0)
    arena = arena_of(address)
    closed = carray(pointer(arena[Field.CLOSURE]), (WIDEST, 3), np.int32)
    for i in range(1, count):  # insertion sort: they are few
        q, s, b = closed[i, 0], closed[i, 1], closed[i, 2]
        j = i - 1
        while j >= 0 and (
            closed[j, 0] > q or (closed[j, 0] == q and (closed[j, 1] > s or (closed[j, 1] == s and closed[j, 2] > b)))
        ):
            closed[j + 1, 0], closed[j + 1, 1], closed[j + 1, 2] = closed[j, 0], closed[j, 1], closed[j, 2]
            j -= 1
        closed[j + 1, 0], closed[j + 1, 1], closed[j + 1, 2] = q, s, b
    capacity, new = arena[Field.C_CAPACITY], arena[Field.C_COUNT]
    offsets, lengths = ints(arena, Field.C_OFFSET, capacity), ints(arena, Field.C_LENGTH, capacity)
    words, known = ints(arena, Field.CLOSURE, 3 * count), ints(arena, Field.THREADS, 3 * arena[Field.T_CAPACITY])
    size = arena[Field.C_HASH_SIZE]
    table = longs(arena, Field.C_HASH, size)
    entry = entry_of(key_of_words(words, 0, 3 * count), new)
    at = first_slot(entry, size)
    while table[at] >= 0:
        found = table[at] & NUMBER
        is_alike = table[at] >> 32 == entry >> 32 and lengths[found] == count
        if is_alike and same_words(known, 3 * int64(offsets[found]), words, 3 * count):
            return found
        at = (at + 1) & (size - 1)
    offset = arena[Field.T_COUNT]
    if new >= capacity or offset + count > arena[Field.T_CAPACITY]:
        return missing(FULL, 2)
    offsets[new], lengths[new] = offset, count
    ints(arena, Field.C_ROW, capacity)[new] = -1
    octets(arena, Field.C_ACCEPTS, capacity)[new] = closed[0, 0] == ACCEPT
    kind = 0
    for i in range(count):
        kind |= HAS_EXITS if closed[i, 0] == EXIT else HAS_THREADS if closed[i, 0] > EXIT else 0
    for i in range(3 * count):
        known[3 * offset + i] = words[i]
    octets(arena, Field.C_KIND, capacity)[new] = kind
    table[at] = entry
    arena[Field.C_COUNT], arena[Field.T_COUNT] = new + 1, offset + count
    return int64(new)


@part
def step(address, config, column):
    """The config after a byte of class `column`, or a missing code."""
    arena = arena_of(address)
    capacity = arena[Field.C_CAPACITY]
    offset = int64(ints(arena, Field.C_OFFSET, capacity)[config])
    length = int64(ints(arena, Field.C_LENGTH, capacity)[config])
    threads = carray(pointer(arena[Field.THREADS]), (offset + length, 3), np.int32)
    pending = carray(pointer(arena[Field.PENDING]), (WIDEST, 3), np.int32)
    classes = arena[Field.CLASSES]
    words = arena[Field.TERMINAL_WORDS]
    count = 0
    for i in range(offset, offset + length):
        q, s, b = int64(threads[i, 0]), int64(threads[i, 1]), int64(threads[i, 2])
        if q <= EXIT:
            continue
        after = int64(ints(arena, Field.Q_NEXT, (q + 1) * classes)[q * classes + column])
        if after == 0:
            continue
        if b != ANY:
            if octets(arena, Field.B_STATUS, b + 1)[b] & EXPANDED == 0:
                return missing(NEED_BORDER, b)
            b = int64(ints(arena, Field.B_NEXT, (b + 1) * classes)[b * classes + column])
            if b == 0:
                continue
        symbol = int64(ints(arena, Field.S_SYMBOL, s + 1)[s])
        if words and (symbol >= LR_BASE or symbol < 0):
            if octets(arena, Field.Q_STATUS, after + 1)[after] & LIVE_KNOWN == 0:
                return missing(NEED_LIVE, after)
            k = -symbol - 1 if symbol < 0 else stack_class(address, s)
            if k < 0:
                return k
            here = carray(pointer(arena[Field.Q_LIVE]), (after + 1, words), np.uint64)
            there = carray(pointer(arena[Field.K_LIVE]), (k + 1, words), np.uint64)
            live = False
            for w in range(words):
                live = live or here[after, w] & there[k, w] != 0
            if not live:
                continue
        count = add(pending, count, after, s, b)
    if count == 0:
        return int64(0)
    return close(address, count)
