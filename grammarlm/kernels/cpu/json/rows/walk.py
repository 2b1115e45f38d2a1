"""Threads walked along tries: which tokens are allowed.

`walk` reads the subtree of a trie node. The frames and chains it makes are rolled back at its end. A thread that leaves the barrier
frame is not followed: its position is noted in CROSSED, and the caller, who knows the real frames, continues there.

`differ` starts from a row that is correct for keys without a place of their own, and visits only prefixes of keys that have one.
`strike` removes what would repeat a key.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.places import longs
from grammarlm.kernels.cpu.json.step.keys import same_chain
from grammarlm.kernels.cpu.json.step.languages import case_of, is_universal
from grammarlm.kernels.cpu.json.step.step import LITERALS, NO_LANGUAGE, ROW, step
from grammarlm.layout.json import BARRIER, CROSS, DEAD, FIELD, OUT_OF_ROOM, At, Frame, Key, Kind, Object, Trie

GROW_CROSSED, GROW_PENDING, GROW_NOTED = 16, 32, 1 << 40  # bits of WANTED
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # times a power of two: the top six bits identify it
PLACES = np.zeros(64, np.uint8)
for _place in range(64):
    PLACES[(0x03F79D71B4CB0A89 << _place & (1 << 64) - 1) >> 58] = _place
FEW_WORDS, MANY_WORDS = 16, 256
NO_JUMP, FEW_CHILDREN = (
    -1,
    -2,
)  # in JUMPS, in place of a table of children: any child may matter; those of a set, checked one by one
ANY_CASE = -2  # in place of the case of most other keys: the row is correct for the keys of all cases
ALONG, BEHIND = 0, 1  # a crossing: the thread is at the node; or after a value, with the node's byte still to read


@inlined
def set_token(row, token):
    row[token >> 5] |= int32(1) << int32(token & 31)


@inlined
def bytes_before(arena, node):
    """The bytes from the root of the vocabulary's trie to the node, without its own: offset in DATA, and length."""
    trie = longs(arena, At.TRIES)
    token = carray(pointer(trie[Trie.TOKEN]), 1 << 40, np.uint32)
    above = int64(carray(pointer(trie[Trie.DEPTH]), 1 << 40, np.uint16)[node]) - 1
    while int64(token[node]) == arena[At.NOTHING]:  # find a token in the subtree: it has this prefix
        node += 1
    return longs(arena, At.OFFSETS)[int64(token[node])], above


@part
def set_node(arena, which, node, row):
    """Sets the tokens that end at a node."""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    if which == 0:
        token = int64(carray(pointer(trie[base + Trie.TOKEN]), 1 << 40, np.uint32)[node])
        if token != arena[At.NOTHING]:
            set_token(row, token)
    else:
        first = carray(pointer(trie[base + Trie.FIRST]), 1 << 40, np.int32)
        tokens = carray(pointer(trie[base + Trie.LIST]), 1 << 40, np.int32)
        for i in range(first[node + 1], first[node + 2]):
            set_token(row, int64(tokens[i]))


@part
def clear_below(arena, node, row):
    """Clears the tokens in the subtree of a node of the vocabulary's trie."""
    trie = longs(arena, At.TRIES)
    token = carray(pointer(trie[Trie.TOKEN]), 1 << 40, np.uint32)
    end = carray(pointer(trie[Trie.END]), 1 << 40, np.int32)
    for i in range(node, end[node]):
        found = int64(token[i])
        if found != arena[At.NOTHING]:
            row[found >> 5] &= ~(int32(1) << int32(found & 31))


@part
def note_crossing(arena, which, node, blanks, how):
    count = arena[At.CROSS_COUNT]
    if count + 1 >= arena[At.CROSS_CAPACITY]:
        arena[At.WANTED] |= GROW_CROSSED
        return
    crossed = longs(arena, At.CROSSED)
    crossed[3 * count] = node | which << 40
    crossed[3 * count + 1] = blanks
    crossed[3 * count + 2] = how
    arena[At.CROSS_COUNT] = count + 1


@inlined
def add_byte(allowed, at, byte):
    allowed[at + (byte >> 6)] |= uint64(1) << uint64(byte & 63)


@part
def lists_bytes(arena, c, x, f, allowed, at):
    """Stores the few bytes that the thread can read as a bit set; False if they may be many."""
    kind = c & 31
    for i in range(4):
        allowed[at + i] = uint64(0)
    if kind == Kind.AFTER or kind == Kind.COLON or kind == Kind.KEYS or kind == Kind.NUMBER:
        add_byte(allowed, at, 32)
        add_byte(allowed, at, 9)
        add_byte(allowed, at, 10)
        add_byte(allowed, at, 13)
        if kind == Kind.COLON:
            add_byte(allowed, at, 58)
            return True
        add_byte(allowed, at, 125)
        if kind == Kind.KEYS:
            add_byte(allowed, at, 34)
            return True
        add_byte(allowed, at, 44)
        add_byte(allowed, at, 93)
        if kind == Kind.NUMBER:
            for byte in range(48, 58):
                add_byte(allowed, at, byte)
            add_byte(allowed, at, 43)
            add_byte(allowed, at, 45)
            add_byte(allowed, at, 46)
            add_byte(allowed, at, 69)
            add_byte(allowed, at, 101)
        return True
    if kind == Kind.LITERAL:
        add_byte(allowed, at, int64(LITERALS[c >> 5 & 63]))
        return True
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    if c >> 5 & 63 != 0 or high - low > FEW_WORDS:
        return False
    program = longs(arena, At.PROGRAM)
    if kind == Kind.KEY and c >> 35 == NO_LANGUAGE:
        table = program[(c >> 11 & ROW) + Object.KEYS]
    elif kind == Kind.WORD:
        table = c >> 11 & ROW
    else:
        return False
    blob = carray(pointer(arena[At.BLOB]), 1 << 40, np.uint8)
    add_byte(allowed, at, 92)
    for i in range(low, high):
        key = table + i * Key.LENGTH
        add_byte(
            allowed, at, int64(blob[program[key + Key.BYTES] + read]) if program[key + Key.SIZE] > read else int64(34)
        )
    return True


@inlined
def next_allowed(allowed, at, children, table, byte):
    """The child for the next byte of a set, starting at `byte`; -1 if there is none."""
    found = int64(-1)
    word = byte >> 6
    while word < 4 and found < 0:
        bits = allowed[at + word]
        if word == byte >> 6:
            bits = bits >> uint64(byte & 63) << uint64(byte & 63)
        while bits != uint64(0) and found < 0:
            place = int64(PLACES[(bits & (~bits + uint64(1))) * DE_BRUIJN >> uint64(58)])
            bits &= bits - uint64(1)
            found = int64(children[table * 256 + word * 64 + place])
        word += 1
    return found


@inlined
def beyond(end, allowed, jumps, children, deep, byte, node):
    """The next node after a subtree: its next allowed sibling, or the node after all siblings."""
    found = int64(end[node])
    above = 2 * (deep - 1)
    if jumps[above] >= 0 and found < jumps[above + 1]:
        found = jumps[above + 1]
        if byte < 255:
            sibling = next_allowed(allowed, 2 * above, children, jumps[above], byte + 1)
            if sibling >= 0:
                found = sibling
    return found


@part
def walk(arena, which, at, c, x, y, f, row):
    """Sets the bits of the tokens below node `at` of a trie (-1: all of it) that the thread can read."""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    bytes_of = carray(pointer(trie[base + Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[base + Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[base + Trie.END]), 1 << 40, np.int32)
    stack, pending = longs(arena, At.STACK), longs(arena, At.PENDING)
    wide = carray(pointer(trie[base + Trie.WIDE]), 1 << 40, np.int32)
    children = carray(pointer(trie[base + Trie.CHILDREN]), 1 << 40, np.int32)
    allowed = carray(pointer(arena[At.ALLOWED]), 1 << 40, np.uint64)
    jumps = longs(arena, At.JUMPS)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    waiting = int64(0)
    left = False  # the thread is beyond the barrier: noted, not followed
    while True:
        start = int64(depth[at]) if at >= 0 else int64(0)
        top = start * 6
        stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
        stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
        node = int64(at + 1)
        stop = int64(end[at]) if at >= 0 else trie[base + Trie.NODES]
        if left:
            note_crossing(arena, which, at, y, int64(ALONG))
            stop = node
        jumps[2 * start] = -1
        if node < stop and wide[at + 1] >= 0 and lists_bytes(arena, c, x, f, allowed, 4 * start):
            jumps[2 * start], jumps[2 * start + 1] = int64(wide[at + 1]), stop
            node = next_allowed(allowed, 4 * start, children, jumps[2 * start], int64(0))
            if node < 0:
                node = stop
        while node < stop and arena[At.WANTED] & OUT_OF_ROOM == 0:
            deep = int64(depth[node])
            top = deep * 6
            if waiting == 0:
                arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
            byte = int64(bytes_of[node])
            c0, x0, y0, f0 = stack[top - 6], stack[top - 5], stack[top - 4], stack[top - 3]
            c2, x2, y2, f2 = step(arena, c0, x0, y0, f0, byte, int64(0))
            way = int64(0)
            while c2 == DEAD and arena[At.MORE] != 0:  # an item that is not new in one way may be new in another
                way += 1
                c2, x2, y2, f2 = step(arena, c0, x0, y0, f0, byte, way)
            if c2 == DEAD or c2 == CROSS:
                if c2 == CROSS and deep > 1:  # not if deep is 1: the caller knows that the number may end here
                    note_crossing(arena, which, node, int64(0), int64(BEHIND))
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            while arena[At.MORE] != 0:
                way += 1
                c3, x3, y3, f3 = step(arena, c0, x0, y0, f0, byte, way)
                if c3 == DEAD:
                    continue
                if waiting + 1 >= arena[At.PENDING_CAPACITY]:
                    arena[At.WANTED] |= GROW_PENDING
                    break
                p = waiting * 5
                pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4] = node, c3, x3, y3, f3
                waiting += 1
            set_node(arena, which, node, row)
            if c2 & 31 == Kind.AFTER and f2 == BARRIER:
                note_crossing(arena, which, node, y2, int64(ALONG))
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            last = int64(end[node])
            if last == node + 1:
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c2, x2, y2, f2
            stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
            jumps[2 * deep] = -1
            if wide[node + 1] >= 0 and lists_bytes(arena, c2, x2, f2, allowed, 4 * deep):
                jumps[2 * deep], jumps[2 * deep + 1] = int64(wide[node + 1]), last
                node = next_allowed(allowed, 4 * deep, children, jumps[2 * deep], int64(0))
                if node < 0:
                    node = last
            else:
                node += 1
        if waiting == 0:
            break
        waiting -= 1
        p = waiting * 5
        at, c, x, y, f = pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4]
        left = c & 31 == Kind.AFTER and f == BARRIER
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def visit(arena, node, c, x, y, f, row):
    """The thread is at a node of the vocabulary's trie: adds the tokens there and below."""
    set_node(arena, int64(0), node, row)
    if carray(pointer(longs(arena, At.TRIES)[Trie.END]), 1 << 40, np.int32)[node] == node + 1:
        return
    if c & 31 == Kind.AFTER and f == BARRIER:
        note_crossing(arena, int64(0), node, y, int64(ALONG))
    else:
        walk(arena, int64(0), node, c, x, y, f, row)


@inlined
def is_of_case(arena, state, case):
    """Does every key that continues from this state of the language belong to the case?"""
    found = case == ANY_CASE
    if state != NO_LANGUAGE and not found:
        found = is_universal(arena, state) and case_of(arena, state) == case
    return found


@part
def differ(arena, at, c, x, y, f, case, row):
    """Below node `at` the row is correct for most other keys (those of a case): corrects what differs.

    That is: keys with a place of their own, and keys that may still be of another case.
    """
    trie = longs(arena, At.TRIES)
    bytes_of = carray(pointer(trie[Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[Trie.END]), 1 << 40, np.int32)
    stack = longs(arena, At.STACK)
    children = carray(pointer(trie[Trie.CHILDREN]), 1 << 40, np.int32)
    allowed = carray(pointer(arena[At.ALLOWED]), 1 << 40, np.uint64)
    jumps = longs(arena, At.JUMPS)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    start = int64(depth[at]) if at >= 0 else int64(0)
    top = start * 6
    stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
    stack[top + 4], stack[top + 5] = frames_before, chains_before
    stop = int64(end[at]) if at >= 0 else trie[Trie.NODES]
    node = int64(at + 1)
    jumps[2 * start] = NO_JUMP
    if (c >> 35 == 0 or is_of_case(arena, c >> 35, case)) and key_bytes(arena, c, x, allowed, 4 * start):
        node = first_child(arena, at, stop, start)
    while node < stop and arena[At.WANTED] & OUT_OF_ROOM == 0:
        deep = int64(depth[node])
        top = deep * 6
        byte = int64(bytes_of[node])
        if jumps[2 * deep - 2] != NO_JUMP and allowed[4 * deep - 4 + (byte >> 6)] >> uint64(byte & 63) & uint64(
            1
        ) == uint64(0):
            node = beyond(end, allowed, jumps, children, deep, byte, node)
            continue
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
        c2, x2, y2, f2 = step(arena, stack[top - 6], stack[top - 5], stack[top - 4], stack[top - 3], byte, int64(0))
        if c2 == DEAD or (byte == 34 and stack[top - 6] >> 5 & 63 == 0):
            clear_below(arena, node, row)
            if c2 != DEAD:
                visit(arena, node, c2, x2, y2, f2, row)
        elif x2 & FIELD < x2 >> 21 & FIELD or (c2 >> 35 != 0 and not is_of_case(arena, c2 >> 35, case)):
            set_node(arena, int64(0), node, row)  # if the row was computed without keys that have a place
            last = int64(end[node])
            if last > node + 1:
                stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c2, x2, y2, f2
                stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
                jumps[2 * deep] = NO_JUMP
                usual = c2 >> 35 == 0 or is_of_case(arena, c2 >> 35, case)
                if usual and c2 >> 5 & 63 == 0 and key_bytes(arena, c2, x2, allowed, 4 * deep):
                    node = first_child(arena, node, last, deep)
                else:
                    node += 1
                continue
        node = beyond(end, allowed, jumps, children, deep, byte, node)
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@inlined
def first_child(arena, node, last, deep):
    """The first child of a node whose byte is in the set (ALLOWED, at the node's depth). Registers the set in JUMPS."""
    trie, jumps = longs(arena, At.TRIES), longs(arena, At.JUMPS)
    wide = carray(pointer(trie[Trie.WIDE]), 1 << 40, np.int32)
    found = int64(node + 1)
    jumps[2 * deep], jumps[2 * deep + 1] = FEW_CHILDREN, last
    if wide[node + 1] >= 0:
        jumps[2 * deep] = int64(wide[node + 1])
        children = carray(pointer(trie[Trie.CHILDREN]), 1 << 40, np.int32)
        allowed = carray(pointer(arena[At.ALLOWED]), 1 << 40, np.uint64)
        found = next_allowed(allowed, 4 * deep, children, jumps[2 * deep], int64(0))
        if found < 0:
            found = int64(last)
    return found


@part
def key_bytes(arena, c, x, allowed, at):
    """Stores the next bytes of keys with a place of their own, and the backslash, which may hide one; False if the keys are
    many.
    """
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    if high - low > MANY_WORDS:
        return False
    program = longs(arena, At.PROGRAM)
    blob = carray(pointer(arena[At.BLOB]), 1 << 40, np.uint8)
    table = program[(c >> 11 & ROW) + Object.KEYS]
    for i in range(4):
        allowed[at + i] = uint64(0)
    add_byte(allowed, at, 92)
    for i in range(low, high):
        key = table + i * Key.LENGTH
        add_byte(
            allowed, at, int64(blob[program[key + Key.BYTES] + read]) if program[key + Key.SIZE] > read else int64(34)
        )
    return True


@part
def other_bytes(arena, frame, chain, allowed, at):
    """Stores the next bytes of the other keys (or items) read before that have this prefix, and the backslash, which may hide
    one.
    """
    chains = longs(arena, At.CHAINS)
    length = chains[2 * chain + 1] >> 8 & 0xFFFFFF if chain != 0 else int64(0)
    for i in range(4):
        allowed[at + i] = uint64(0)
    add_byte(allowed, at, 92)
    entry = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.OTHERS]
    while entry != 0:
        key = chains[2 * entry + 1]
        byte = int64(34)
        while key != 0 and chains[2 * key + 1] >> 8 & 0xFFFFFF > length:
            byte = chains[2 * key + 1] & 0xFF
            key = chains[2 * key]
        if same_chain(arena, key, chain):
            add_byte(allowed, at, byte)
        entry = chains[2 * entry]


@part
def begins_like_other(arena, frame, chain):
    """Is this chain a prefix of one of the other keys read before?"""
    chains = longs(arena, At.CHAINS)
    length = chains[2 * chain + 1] >> 8 & 0xFFFFFF if chain != 0 else int64(0)
    entry = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.OTHERS]
    while entry != 0:
        key = chains[2 * entry + 1]
        while key != 0 and chains[2 * key + 1] >> 8 & 0xFFFFFF > length:
            key = chains[2 * key]
        if same_chain(arena, key, chain):
            return True
        entry = chains[2 * entry]
    return False


@part
def strike(arena, at, c, x, y, f, row):
    """Removes what repeats a key that was read before. The row was computed as if there were none."""
    trie = longs(arena, At.TRIES)
    bytes_of = carray(pointer(trie[Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[Trie.END]), 1 << 40, np.int32)
    stack = longs(arena, At.STACK)
    children = carray(pointer(trie[Trie.CHILDREN]), 1 << 40, np.int32)
    allowed = carray(pointer(arena[At.ALLOWED]), 1 << 40, np.uint64)
    jumps = longs(arena, At.JUMPS)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    start = int64(depth[at]) if at >= 0 else int64(0)
    top = start * 6
    stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
    stack[top + 4], stack[top + 5] = frames_before, chains_before
    stop = int64(end[at]) if at >= 0 else trie[Trie.NODES]
    node = int64(at + 1)
    jumps[2 * start] = NO_JUMP
    if c >> 5 & 63 == 0 and (c & 31 == Kind.KEY or c & 31 == Kind.STRING):
        other_bytes(arena, f, y >> 24 if c & 31 == Kind.KEY else text_of(arena, f), allowed, 4 * start)
        node = first_child(arena, at, stop, start)
    while node < stop and arena[At.WANTED] & OUT_OF_ROOM == 0:
        deep = int64(depth[node])
        top = deep * 6
        byte = int64(bytes_of[node])
        if jumps[2 * deep - 2] != NO_JUMP and allowed[4 * deep - 4 + (byte >> 6)] >> uint64(byte & 63) & uint64(
            1
        ) == uint64(0):
            node = beyond(end, allowed, jumps, children, deep, byte, node)
            continue
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
        c0 = stack[top - 6]
        c2, x2, y2, f2 = step(arena, c0, stack[top - 5], stack[top - 4], stack[top - 3], byte, int64(0))
        follow, chain = False, int64(-1)
        if c2 == DEAD:
            kind = c0 & 31
            # A language can be exhausted, so that bytes other than a quote are rejected, too.
            if (
                kind == Kind.KEY
                or kind == Kind.STRING
                or (kind == Kind.KEYS and byte == 34)
                or (kind == Kind.AFTER and byte == 44)
            ):
                clear_below(arena, node, row)
        elif c2 & 31 == Kind.STRING and c2 > 0:
            follow = c2 >> 5 & 63 != 0
            if not follow:
                chain = text_of(arena, f2)
                follow = begins_like_other(arena, f, chain)
        elif c2 != CROSS and f2 == f:
            kind = c2 & 31
            follow = kind == Kind.AFTER or kind == Kind.KEYS or (kind == Kind.KEY and c2 >> 5 & 63 != 0)
            if kind == Kind.KEY and not follow:
                chain = y2 >> 24
                follow = begins_like_other(arena, f, chain)
        last = int64(end[node])
        if follow and last > node + 1:
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c2, x2, y2, f2
            stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
            jumps[2 * deep] = NO_JUMP
            if chain >= 0:
                other_bytes(arena, f, chain, allowed, 4 * deep)
                node = first_child(arena, node, last, deep)
            else:
                node += 1
        else:
            node = beyond(end, allowed, jumps, children, deep, byte, node)
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@inlined
def text_of(arena, f):
    return longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.TEXT]


@part
def filter_closers(arena, c, x, y, f, filtered):
    """Marks the tokens that close a string whose part before the quote can be read by the thread, which is in a string's body."""
    trie = longs(arena, At.TRIES)
    base = arena[At.CLOSER_TRIE] * Trie.LENGTH
    bytes_of = carray(pointer(trie[base + Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[base + Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[base + Trie.END]), 1 << 40, np.int32)
    first = carray(pointer(trie[base + Trie.FIRST]), 1 << 40, np.int32)
    closers = carray(pointer(trie[base + Trie.LIST]), 1 << 40, np.int32)
    stack = longs(arena, At.STACK)
    stack[0], stack[1], stack[2] = c, x, y
    node, nodes = int64(-1), trie[base + Trie.NODES]
    while node < nodes:
        if node >= 0:
            top = 6 * int64(depth[node])
            byte = int64(bytes_of[node])
            c, x, y, _ = step(arena, stack[top - 6], stack[top - 5], stack[top - 4], f, byte, int64(0))
            if c == DEAD:
                node = int64(end[node])
                continue
            stack[top], stack[top + 1], stack[top + 2] = c, x, y
        if first[node + 1] < first[node + 2] and step(arena, c, x, y, f, int64(34), int64(0))[0] != DEAD:
            for i in range(first[node + 1], first[node + 2]):
                filtered[closers[i] >> 5] |= int32(1) << int32(closers[i] & 31)
        node += 1
