"""Masks from surveys: a mask is first described by a **signature**, before any row is touched.

A mask follows the threads of its config through surveys. It collects each survey's row, and for each exit that is valid on the real
stack the tokens that end there and the surveys after it. The signature lists everything collected. Stacks rarely repeat, signatures
do: if a signature is cached, so is its row, and a mask on a new stack costs a walk over a few dozen numbers.

    a signature: 1 if the text may end, else 0; then, for each thread, -3 - survey (its row is intersected with those first bytes)
    or WHOLE (it is not), followed by   survey   a survey's row   |   EMPTIES trie   the tokens with an empty remainder

Stacks and configs interned while computing a mask are rolled back at its end, except long reduction chains (stacks.stack_class).
"""

import numpy as np
from numba import carray, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.stack.configs import close_threads, key_of, leave, must_ask
from grammarlm.kernels.cpu.stack.places import arena_of, ints, lacks, lr_state, mixed, octets
from grammarlm.kernels.cpu.stack.stacks import at_end, narrowed_class, next_line, shift, stack_class
from grammarlm.kernels.cpu.stack.turns import begin_beside, end_beside, end_claims
from grammarlm.kernels.cpu.stack.unions import forget_unions
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import ANY, AT_ONCE, EXIT, FOR_SIGNATURE, FULL, LR_BASE, NEED_LOCK, TOO_WIDE, WIDEST, Place

from .surveys import DENSE, first_bytes_of, survey_of, takes_one_byte
from .walk import stop_waiting

AGENDA_LENGTH = 8192
SIGNATURE_LENGTH = 1 << 16
EMPTIES, WHOLE, CUT = -1, -2, -3
FULL_SIGNATURES, FULL_KNOWN = 14, 15


@inlined
def triples(arena, place, count):
    return carray(pointer(arena[place]), (count, 3), np.int32)


@inlined
def is_plain(address, start, border):
    """Would closing this thread, at the start of a lexeme, keep only the thread itself? (The end of text, which is no token,
    aside.)
    """
    arena = arena_of(address)
    status = octets(arena, Place.Q_STATUS, start + 1)[start]
    return status & AT_ONCE != 0 and not must_ask(arena, status, border)


@part
def behind_exit(address, stack, label, border):
    """Computes the threads after an exit, on the real stack, into KEPT. Returns their number, or a missing code."""
    arena = arena_of(address)
    work = triples(arena, Place.WORK, WIDEST)
    capacity = arena[Place.S_CAPACITY]
    symbols = ints(arena, Place.S_SYMBOL, capacity)
    terminals = arena[Place.LR_TERMINALS]
    if label > 0 and label != terminals + 1:
        lexeme = label <= terminals
        after = shift(address, stack, label - 1, 0) if lexeme else next_line(address, stack, label - 2 - terminals)
        if after <= 0:
            return after
        start = ints(arena, Place.LR_LEXER, arena[Place.LR_STATES])[lr_state(symbols[after])]
        work[0, 0], work[0, 1], work[0, 2] = start, after, border
        if is_plain(address, int64(start), border):
            kept = triples(arena, Place.KEPT, WIDEST)
            kept[0, 0], kept[0, 1], kept[0, 2] = start, after, border
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
    signature = ints(arena, Place.SIGNATURE, SIGNATURE_LENGTH)
    agenda = carray(pointer(arena[Place.AGENDA]), (AGENDA_LENGTH, 4), np.int32)
    kept = triples(arena, Place.KEPT, WIDEST)
    agenda[0, 0], agenda[0, 1], agenda[0, 2], agenda[0, 3] = 0, q, s, b
    count = int64(1)
    while count > 0:
        count -= 1
        trie, q = int64(agenda[count, 0]), int64(agenda[count, 1])
        s, b = int64(agenda[count, 2]), int64(agenda[count, 3])
        if length + 8 > SIGNATURE_LENGTH:
            return lacks(TOO_WIDE, 5)
        k = int64(0)
        if ints(arena, Place.S_SYMBOL, s + 1)[s] >= LR_BASE:
            k = stack_class(address, s)
            if k < 0:
                return k
            k = narrowed_class(address, k, q)
            if k < 0:
                return k
        number = survey_of(address, trie, q, b, k)
        if number < 0:
            return number
        survey = carray(pointer(arena[Place.SURVEY]), (number + 1, 5), np.int32)
        if survey[number, 2]:
            signature[length] = number
            length += 1
        first, exits = int64(survey[number, 3]), int64(survey[number, 4])
        table = triples(arena, Place.EXITS, first + exits)
        for e in range(first, first + exits):
            below = int64(table[e, 2])
            behind = behind_exit(address, s, int64(table[e, 0]), int64(table[e, 1]))
            if behind < 0:
                return behind
            if behind == 0:
                continue
            tries = carray(pointer(arena[Place.TRIES]), (below + 1, 5), np.int32)
            if tries[below, 4]:
                if length + 8 > SIGNATURE_LENGTH:
                    return lacks(TOO_WIDE, 5)
                signature[length], signature[length + 1] = EMPTIES, below
                length += 2
            if tries[below, 1] == 0:
                continue
            for i in range(behind):
                if kept[i, 0] <= EXIT:
                    continue
                if count >= AGENDA_LENGTH:
                    return lacks(TOO_WIDE, 4)
                agenda[count, 0], agenda[count, 1], agenda[count, 2] = below, kept[i, 0], kept[i, 1]
                agenda[count, 3] = kept[i, 2]
                count += 1
    return length


@part
def forget_to_marks(address):
    """Rolls back the stacks and configs added since the marks were set.

    In reverse order, so that each hash table with linear probing returns to its earlier state.
    """
    stop_waiting(address)
    arena = arena_of(address)
    if arena[Place.READ_ONLY]:
        end_claims(address)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    size = arena[Place.S_HASH_SIZE]
    table = ints(arena, Place.S_HASH, size)
    for stack in range(arena[Place.S_COUNT] - 1, arena[Place.MARK_S] - 1, -1):
        at = int64(mixed(parents[stack], symbols[stack]) & uint64(size - 1))
        while table[at] != stack:
            at = (at + 1) & (size - 1)
        table[at] = -1
    arena[Place.S_COUNT] = arena[Place.MARK_S]
    forget_unions(address)
    arena[Place.LINE_STACK] = -1
    most = arena[Place.C_CAPACITY]
    offsets, lengths = ints(arena, Place.C_OFFSET, most), ints(arena, Place.C_LENGTH, most)
    threads = triples(arena, Place.THREADS, arena[Place.T_CAPACITY])
    size = arena[Place.C_HASH_SIZE]
    table = ints(arena, Place.C_HASH, size)
    for config in range(arena[Place.C_COUNT] - 1, arena[Place.MARK_C] - 1, -1):
        at = int64(key_of(threads, int64(offsets[config]), int64(lengths[config])) & uint64(size - 1))
        while table[at] != config:
            at = (at + 1) & (size - 1)
        table[at] = -1
    arena[Place.C_COUNT], arena[Place.T_COUNT] = arena[Place.MARK_C], arena[Place.MARK_T]
    arena[Place.R_COUNT] = arena[Place.MARK_R]


@inlined
def key_of_signature(numbers, begin, length):
    key = uint64(length)
    for i in range(begin, begin + length):
        key = mixed(key, numbers[i])
    return key


@part
def known_signature(address, length):
    """Interns the signature in SIGNATURE. Returns its number, or a missing code."""
    arena = arena_of(address)
    signature = ints(arena, Place.SIGNATURE, SIGNATURE_LENGTH)
    begin, room = arena[Place.KNOWN_COUNT], arena[Place.KNOWN_CAPACITY]
    known = ints(arena, Place.KNOWN_SIGNATURE, room)
    most = arena[Place.SIGNATURE_CAPACITY]
    list_ = carray(pointer(arena[Place.SIGNATURES]), (most, 2), np.int32)
    size = arena[Place.SIGNATURE_HASH_SIZE]
    table = ints(arena, Place.SIGNATURE_HASH, size)
    at = int64(key_of_signature(signature, 0, length) & uint64(size - 1))
    while table[at] >= 0:
        number = int64(table[at])
        if number < arena[Place.SIGNATURE_COUNT] and list_[number, 1] == length:
            other = int64(list_[number, 0])
            same = True
            for i in range(length):
                if known[other + i] != signature[i]:
                    same = False
                    break
            if same:
                return number
        at = (at + 1) & (size - 1)
    new = arena[Place.SIGNATURE_COUNT]
    if new >= most:
        return lacks(FULL, FULL_SIGNATURES)
    if begin + length > room:
        return lacks(FULL, FULL_KNOWN)
    known[begin : begin + length] = signature[:length]
    list_[new, 0], list_[new, 1] = begin, length
    table[at] = new
    arena[Place.KNOWN_COUNT], arena[Place.SIGNATURE_COUNT] = begin + length, new + 1
    return int64(new)


@part
def signature_beside(address, length):
    """Interns a seat's signature in its epoch. Returns its number, or the code that it must be handed over to Python."""
    if not begin_beside(address):
        return lacks(NEED_LOCK, FOR_SIGNATURE)
    number = known_signature(arena_of(address)[Place.EPOCH], length)
    end_beside(address)
    return number if number >= 0 else lacks(NEED_LOCK, FOR_SIGNATURE)


@part
def sign(address, config, goes_on):
    """The number of the config's signature, or a missing code: then call again with `goes_on`."""
    arena = arena_of(address)
    if not goes_on:
        stop_waiting(address)
        if arena[Place.READ_ONLY] and begin_beside(address):  # sees what others have added meanwhile
            end_beside(address)
        arena[Place.MARK_S], arena[Place.MARK_C] = arena[Place.S_COUNT], arena[Place.C_COUNT]
        arena[Place.MARK_T], arena[Place.MARK_R] = arena[Place.T_COUNT], arena[Place.R_COUNT]
    signature = ints(arena, Place.SIGNATURE, SIGNATURE_LENGTH)
    signature[0] = octets(arena, Place.C_ACCEPTS, config + 1)[config]
    many = int64(1)
    offset = int64(ints(arena, Place.C_OFFSET, config + 1)[config])
    length = int64(ints(arena, Place.C_LENGTH, config + 1)[config])
    for i in range(offset, offset + length):
        threads = triples(arena, Place.THREADS, arena[Place.T_CAPACITY])
        q, s, b = int64(threads[i, 0]), int64(threads[i, 1]), int64(threads[i, 2])
        if q <= EXIT:
            continue
        signature[many] = WHOLE
        first_byte = int64(0) if b == ANY else takes_one_byte(address, b)
        if first_byte < 0:
            return first_byte
        if first_byte:  # without its border, intersected with those first bytes: one survey serves all
            number = first_bytes_of(address, b)
            if number < 0:
                return number
            signature[many] = CUT - number
            b = int64(ANY)
        many = sign_thread(address, q, s, b, many + 1)
        if many < 0:
            return many
    arena[Place.SIGNATURE_END] = many
    if arena[Place.READ_ONLY]:
        number = signature_beside(address, many)
        forget_to_marks(address)
        return number
    number = known_signature(address, many)
    if number >= 0:
        forget_to_marks(address)
    return number


@part
def fill_signed(address, number, row_address):
    """Sets the bits of a signature's tokens. The address has two rows, each with a spare word; the second is scratch."""
    arena = arena_of(address)
    words = int64(arena[Place.NOTHING] // 32)
    rows = carray(pointer(row_address), 2 * (words + 1), np.int32)
    row, other = rows[: words + 1], rows[words + 1 :]
    list_ = carray(pointer(arena[Place.SIGNATURES]), (number + 1, 2), np.int32)
    begin, length = int64(list_[number, 0]), int64(list_[number, 1])
    signature = ints(arena, Place.KNOWN_SIGNATURE, begin + length)[begin:]
    surveys = carray(pointer(arena[Place.SURVEY]), (arena[Place.SURVEY_COUNT], 5), np.int32)
    dense = ints(arena, Place.DENSE, arena[Place.DENSE_COUNT] * words)
    sparse = ints(arena, Place.SPARSE, arena[Place.SPARSE_COUNT])
    cut = int64(-1)  # the survey whose row the current section is intersected with
    i = int64(1)
    while i <= length:
        what = int64(signature[i]) if i < length else int64(WHOLE)
        if what <= WHOLE:
            if cut >= 0:
                at = int64(surveys[cut, 1]) * words
                for w in range(words):
                    row[w] |= other[w] & dense[at + w]
            cut = int64(CUT) - what if what <= CUT else int64(-1)
            if cut >= 0:
                other[:] = 0
            i += 1
            continue
        into = other if cut >= 0 else row
        if what >= 0:
            start, many = int64(surveys[what, 1]), int64(surveys[what, 2])
            if surveys[what, 0] == DENSE:
                for w in range(words):
                    into[w] |= dense[start * words + w]
            else:
                for j in range(start, start + many):
                    set_bit(into, uint32(sparse[j]))
            i += 1
            continue
        trie = int64(signature[i + 1])
        tries = carray(pointer(arena[Place.TRIES]), (trie + 1, 5), np.int32)
        entry, empties = int64(tries[trie, 2]), int64(tries[trie, 4])
        entries = carray(pointer(arena[Place.X_TOKEN]), (entry + empties, 2), np.int32)
        for j in range(entry, entry + empties):
            set_bit(into, uint32(entries[j, 0]))
        i += 2

    twins = carray(pointer(arena[Place.TWINS]), (arena[Place.TWIN_COUNT], 2), np.int32)
    for j in range(len(twins)):
        same = twins[j, 1]
        if row[same >> 5] >> (same & 31) & 1:
            set_bit(row, uint32(twins[j, 0]))
    return int64(0)
