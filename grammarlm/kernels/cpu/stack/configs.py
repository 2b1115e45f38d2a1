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
partial result is left behind.
"""

import numpy as np
from numba import carray, int64, uint64

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
    FOR_LOCK,
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
    NEED_LOCK,
    NEED_STATE,
    NEED_VERDICT,
    READS,
    ROOT,
    TOO_WIDE,
    TRUSTED,
    UNION,
    WIDE,
    WIDEST,
    Place,
)

from .places import arena_of, ints, lacks, lr_state, mixed, octets
from .stacks import (
    at_end,
    both,
    class_takes,
    next_line,
    push,
    shift,
    stack_class,
)
from .unions import unite_kept


@inlined
def add(work, count, q, s, b):
    """Appends a thread unless it is present. Returns the new count; WIDEST if there is no room."""
    for i in range(count):
        if work[i, 0] == q and work[i, 1] == s and work[i, 2] == b:
            return count
    if count == WIDEST:
        return count
    work[count, 0], work[count, 1], work[count, 2] = q, s, b
    return count + 1


@inlined
def slot_of(table, size, q, s, b):
    """Slot of the verdict on (q, s, b), or the empty slot for it."""
    at = int64(mixed(mixed(q, b), s + 1) & uint64(size - 1))
    while table[at, 0] >= 0 and not (table[at, 0] == q and table[at, 1] == s and table[at, 2] == b):
        at = (at + 1) & (size - 1)
    return at


@part
def judged(address, q, s, b):
    """The cached verdict on (q, s, b), or a missing code."""
    arena = arena_of(address)
    if arena[Place.READ_ONLY] and s >= 0:  # its stacks are numbered differently from the epoch's
        return lacks(NEED_LOCK, FOR_LOCK)
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
    """1 if the thread can be finished, 0 if not, or a missing code. Tries to decide by terminals alone first."""
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


@inlined
def must_ask(arena, status, b):
    """Must it be checked whether a thread can be finished? Depends on its state's status and its border (stack/proofs/trust.py)."""
    asks = arena[Place.CHECKS] == EVERYTHING
    if arena[Place.CHECKS] == DOUBTS:
        asks = status & DOUBTFUL != 0
        if b != ANY and not asks:
            asks = status & BETWEEN == 0 or octets(arena, Place.B_STATUS, b + 1)[b] & TRUSTED == 0
    return asks


@part
def leave(address, count, stack, border):
    """Appends to WORK the threads after a frame that ends on this stack. Returns the new count."""
    arena = arena_of(address)
    work = carray(pointer(arena[Place.WORK]), (WIDEST, 3), np.int32)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    while stack >= 0:
        here, symbol = int64(stack), int64(symbols[stack])
        stack = int64(-1)
        if symbol >= UNION:
            stack, here = symbol - UNION, int64(parents[here])
            symbol = int64(symbols[here])
        if symbol == ROOT:
            if octets(arena, Place.B_STATUS, border + 1)[border] & ACCEPTS:
                count = add(work, count, ACCEPT, 0, 0)
        elif symbol < 0:
            count = add(work, count, EXIT, 0, border)
        else:
            count = add(work, count, symbol, int64(parents[here]), border)
    return count


@part
def close(address, count):
    """The config of the closure of the first `count` threads of WORK, or a missing code."""
    count = close_threads(address, count)
    if count > WIDE and arena_of(address)[Place.LR_STATES] == 0:  # not for LR: a parser reads its stack
        count = unite_kept(address, count)
    return config_of(address, count) if count >= 0 else count


@part
def close_threads(address, count):
    """Computes the closure of the first `count` threads of WORK into KEPT. Returns its size, or a missing code."""
    arena = arena_of(address)
    work = carray(pointer(arena[Place.WORK]), (WIDEST, 3), np.int32)
    kept = carray(pointer(arena[Place.KEPT]), (WIDEST, 3), np.int32)
    capacity = arena[Place.S_CAPACITY]
    symbols = ints(arena, Place.S_SYMBOL, capacity)
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
        if q > EXIT and must_ask(arena, status, b):
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
            count = leave(address, count, after, rest)
    return int64(keep)


@inlined
def key_of(threads, offset, count):
    key = uint64(count)
    for i in range(offset, offset + count):
        key = mixed(key ^ uint64(threads[i, 0]), uint64(threads[i, 1]) << uint64(32) | uint64(threads[i, 2]))
    return key


@part
def config_of(address, count):
    """Interns the config whose threads are in KEPT. Returns its number, or FULL."""
    if count == 0:
        return int64(0)
    arena = arena_of(address)
    kept = carray(pointer(arena[Place.KEPT]), (WIDEST, 3), np.int32)
    for i in range(1, count):  # insertion sort: they are few
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
    """The config after a byte of class `column`, or a missing code."""
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
