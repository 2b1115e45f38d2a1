"""Masks from surveys: a mask is first described by a **signature**, before any row is touched.

A mask follows the threads of its config through surveys. It collects each survey's row, and for each exit that is valid on the real
stack the tokens that end there and the surveys after it. The signature lists everything collected. Stacks rarely repeat, signatures
do: if a signature is cached, so is its row, and a mask on a new stack costs a walk over a few dozen numbers.

    a signature: 1 if the text may end, else 0; then   survey   a survey's row   |   EMPTIES trie   tokens with an empty remainder

Stacks and configs interned while computing a mask are rolled back at its end, except long reduction chains (stacks.stack_class).
"""

import numpy as np
from numba import carray, int64, uint32

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.stack.arena import (
    arena_of,
    entry_of,
    first_slot,
    ints,
    key_of_words,
    longs,
    lr_state,
    missing,
    mixed,
    nodes_of,
    octets,
    same_words,
    take_out,
)
from grammarlm.kernels.cpu.stack.configs import close_threads, leave, must_ask
from grammarlm.kernels.cpu.stack.stack_classes import at_end, narrowed_class, stack_class
from grammarlm.kernels.cpu.stack.stacks import next_line, shift
from grammarlm.kernels.cpu.stack.unions import forget_unions
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import AT_ONCE, EXIT, FULL, LR_BASE, NUMBER, TOO_WIDE, WIDEST, Field
from grammarlm.layout.stack_calls import (
    AGENDA_LENGTH,
    DENSE,
    EMPTIES,
    FULL_KNOWN,
    FULL_SIGNATURES,
    SIGNATURE_LENGTH,
    TALLY,
)

from .draft_row import drop_suspended, empty_row
from .surveys import survey_of
from .walk import find_leaves


@inlined
def triples(arena, field, count):
    return carray(pointer(arena[field]), (count, 3), np.int32)


@inlined
def is_plain(address, start, border):
    """Would closing this thread, at the start of a lexeme, keep only the thread itself? (The end of text, which is no token,
    aside.)
    """
    arena = arena_of(address)
    status = octets(arena, Field.Q_STATUS, start + 1)[start]
    return status & AT_ONCE != 0 and not must_ask(arena, status, border)


@part
def threads_after_exit(address, stack, label, border):
    """Computes the threads after an exit, on the real stack, into CLOSURE. Returns their number, or a missing code."""
    arena = arena_of(address)
    pending = triples(arena, Field.PENDING, WIDEST)
    capacity = arena[Field.S_CAPACITY]
    symbols = ints(arena, Field.S_SYMBOL, capacity)
    terminals = arena[Field.LR_TERMINALS]
    if label > 0 and label != terminals + 1:
        lexeme = label <= terminals
        after = shift(address, stack, label - 1, 0) if lexeme else next_line(address, stack, label - 2 - terminals)
        if after <= 0:
            return after
        start = ints(arena, Field.LR_LEXER, arena[Field.LR_STATES])[lr_state(symbols[after])]
        pending[0, 0], pending[0, 1], pending[0, 2] = start, after, border
        if is_plain(address, int64(start), border):
            closed = triples(arena, Field.CLOSURE, WIDEST)
            closed[0, 0], closed[0, 1], closed[0, 2] = start, after, border
            return int64(1)
        return close_threads(address, 1)
    under = int64(stack)
    if label > terminals:
        under = at_end(address, stack)
        if under < 0:
            return int64(0) if under == -1 else under
    return close_threads(address, leave(address, int64(0), under, border))


@part
def sign_thread(address, q, s, b, length):
    """Appends to the signature what tokens can do from a thread. Returns its length, or a missing code."""
    arena = arena_of(address)
    signature = ints(arena, Field.SIGNATURE, SIGNATURE_LENGTH)
    agenda = carray(pointer(arena[Field.AGENDA]), (AGENDA_LENGTH, 4), np.int32)
    closed = triples(arena, Field.CLOSURE, WIDEST)
    agenda[0, 0], agenda[0, 1], agenda[0, 2], agenda[0, 3] = 0, q, s, b
    count = int64(1)
    while count > 0:
        count -= 1
        trie, q = int64(agenda[count, 0]), int64(agenda[count, 1])
        s, b = int64(agenda[count, 2]), int64(agenda[count, 3])
        if length + 8 > SIGNATURE_LENGTH:
            return missing(TOO_WIDE, 5)
        k = int64(0)
        if ints(arena, Field.S_SYMBOL, s + 1)[s] >= LR_BASE:
            k = stack_class(address, s)
            if k < 0:
                return k
            k = narrowed_class(address, k, q)
            if k < 0:
                return k
        number = survey_of(address, trie, q, b, k)
        if number < 0:
            return number
        survey = carray(pointer(arena[Field.SURVEY]), (number + 1, 5), np.int32)
        if survey[number, 2]:
            signature[length] = number
            length += 1
        first, exits = int64(survey[number, 3]), int64(survey[number, 4])
        table = triples(arena, Field.EXITS, first + exits)
        for e in range(first, first + exits):
            below = int64(table[e, 2])
            many = threads_after_exit(address, s, int64(table[e, 0]), int64(table[e, 1]))
            if many < 0:
                return many
            if many == 0:
                continue
            nodes, _, _, _, beginnings, _ = nodes_of(arena, below)
            if beginnings[0]:
                if length + 8 > SIGNATURE_LENGTH:
                    return missing(TOO_WIDE, 5)
                signature[length], signature[length + 1] = EMPTIES, below
                length += 2
            if nodes == 0:
                continue
            for i in range(many):
                if closed[i, 0] <= EXIT:
                    continue
                if count >= AGENDA_LENGTH:
                    return missing(TOO_WIDE, 4)
                agenda[count, 0], agenda[count, 1], agenda[count, 2] = below, closed[i, 0], closed[i, 1]
                agenda[count, 3] = closed[i, 2]
                count += 1
    return length


@part
def forget_to_marks(address):
    """Rolls back the stacks and configs added since the marks were set.

    In reverse order, so that each hash table with linear probing returns to its earlier state.
    """
    drop_suspended(address)
    arena = arena_of(address)
    capacity = arena[Field.S_CAPACITY]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    for stack in range(arena[Field.S_COUNT] - 1, arena[Field.MARK_S] - 1, -1):
        entry = entry_of(mixed(parents[stack], symbols[stack]), stack)
        take_out(arena[Field.S_HASH], arena[Field.S_HASH_SIZE], entry)
    arena[Field.S_COUNT] = arena[Field.MARK_S]
    forget_unions(address)
    arena[Field.LINE_STACK] = -1
    most = arena[Field.C_CAPACITY]
    offsets, lengths = ints(arena, Field.C_OFFSET, most), ints(arena, Field.C_LENGTH, most)
    words = ints(arena, Field.THREADS, 3 * arena[Field.T_CAPACITY])
    for config in range(arena[Field.C_COUNT] - 1, arena[Field.MARK_C] - 1, -1):
        begin = 3 * int64(offsets[config])
        entry = entry_of(key_of_words(words, begin, begin + 3 * int64(lengths[config])), config)
        take_out(arena[Field.C_HASH], arena[Field.C_HASH_SIZE], entry)
    arena[Field.C_COUNT], arena[Field.T_COUNT] = arena[Field.MARK_C], arena[Field.MARK_T]
    arena[Field.R_COUNT] = arena[Field.MARK_R]


@part
def known_signature(address, length):
    """Interns the signature in SIGNATURE. Returns its number, or a missing code."""
    arena = arena_of(address)
    signature = ints(arena, Field.SIGNATURE, SIGNATURE_LENGTH)
    begin, room = arena[Field.KNOWN_COUNT], arena[Field.KNOWN_CAPACITY]
    known = ints(arena, Field.KNOWN_SIGNATURE, room)
    most = arena[Field.SIGNATURE_CAPACITY]
    list_ = carray(pointer(arena[Field.SIGNATURES]), (most, 2), np.int32)
    size = arena[Field.SIGNATURE_HASH_SIZE]
    table = longs(arena, Field.SIGNATURE_HASH, size)
    new = arena[Field.SIGNATURE_COUNT]
    entry = entry_of(key_of_words(signature, 0, length), new)
    at = first_slot(entry, size)
    while table[at] >= 0:
        number = table[at] & NUMBER
        is_alike = table[at] >> 32 == entry >> 32 and list_[number, 1] == length
        if is_alike and same_words(known, int64(list_[number, 0]), signature, length):
            return number
        at = (at + 1) & (size - 1)
    if new >= most:
        return missing(FULL, FULL_SIGNATURES)
    if begin + length > room:
        return missing(FULL, FULL_KNOWN)
    known[begin : begin + length] = signature[:length]
    list_[new, 0], list_[new, 1] = begin, length
    table[at] = entry
    arena[Field.KNOWN_COUNT], arena[Field.SIGNATURE_COUNT] = begin + length, new + 1
    return int64(new)


@part
def sign(address, config, goes_on):
    """The number of the config's signature, or a missing code: then call again with `goes_on`."""
    arena = arena_of(address)
    if not goes_on:
        drop_suspended(address)
        arena[Field.MARK_S], arena[Field.MARK_C] = arena[Field.S_COUNT], arena[Field.C_COUNT]
        arena[Field.MARK_T], arena[Field.MARK_R] = arena[Field.T_COUNT], arena[Field.R_COUNT]
    signature = ints(arena, Field.SIGNATURE, SIGNATURE_LENGTH)
    signature[0] = octets(arena, Field.C_ACCEPTS, config + 1)[config]
    many = int64(1)
    offset = int64(ints(arena, Field.C_OFFSET, config + 1)[config])
    length = int64(ints(arena, Field.C_LENGTH, config + 1)[config])
    for i in range(offset, offset + length):
        threads = triples(arena, Field.THREADS, arena[Field.T_CAPACITY])
        q, s, b = int64(threads[i, 0]), int64(threads[i, 1]), int64(threads[i, 2])
        if q <= EXIT:
            continue
        many = sign_thread(address, q, s, b, many)
        if many < 0:
            return many
    number = known_signature(address, many)
    if number >= 0:
        forget_to_marks(address)
    return number


@part
def set_twins(arena, row):
    """Sets the bits of tokens that have the bytes of another, as the trie does not have them."""
    twins = carray(pointer(arena[Field.TWINS]), (arena[Field.TWIN_COUNT], 2), np.int32)
    for i in range(len(twins)):
        same = twins[i, 1]
        if row[same >> 5] >> (same & 31) & 1:
            set_bit(row, uint32(twins[i, 0]))


@part
def fill_signed(address, number, row_address):
    """Sets the bits of a signature's tokens."""
    arena = arena_of(address)
    words = int64(arena[Field.NOTHING] // 32)
    row = carray(pointer(row_address), words, np.int32)
    list_ = carray(pointer(arena[Field.SIGNATURES]), (number + 1, 2), np.int32)
    begin, length = int64(list_[number, 0]), int64(list_[number, 1])
    signature = ints(arena, Field.KNOWN_SIGNATURE, begin + length)[begin:]
    surveys = carray(pointer(arena[Field.SURVEY]), (arena[Field.SURVEY_COUNT], 5), np.int32)
    dense = ints(arena, Field.DENSE, arena[Field.DENSE_COUNT] * words)
    sparse = ints(arena, Field.SPARSE, arena[Field.SPARSE_COUNT])
    i = int64(1)
    while i < length:
        what = int64(signature[i])
        i += 1
        if what == EMPTIES:
            _, _, _, _, first, entries = nodes_of(arena, int64(signature[i]))
            for j in range(first[0]):
                set_bit(row, uint32(entries[j, 0]))
            i += 1
            continue
        start, many = int64(surveys[what, 1]), int64(surveys[what, 2])
        if surveys[what, 0] == DENSE:
            for w in range(words):
                row[w] |= dense[start * words + w]
        else:
            for j in range(start, start + many):
                set_bit(row, uint32(sparse[j]))
    set_twins(arena, row)
    return int64(0)


@part
def fill_row(address, config, row_address, goes_on):
    """Sets the bits of all tokens that can be read from a config, by a walk. Returns 0, or a missing code: then call again with
    `goes_on`.
    """
    if not goes_on:
        drop_suspended(address)
    code = find_leaves(address, int64(0), config, True)
    if code < 0:
        return code
    arena = arena_of(address)
    words = int64(arena[Field.NOTHING] // 32)
    row, found = carray(pointer(row_address), words, np.int32), ints(arena, Field.DRAFT_ROW, words)
    for w in range(words):
        row[w] |= found[w]
    empty_row(address, longs(arena, Field.TALLY, TALLY)[0])
    set_twins(arena, row)
    return int64(0)
