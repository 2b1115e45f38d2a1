"""Corrections of a row that was computed as if all keys were alike.

`differ` starts from a row that is correct for keys without an entry, and visits only prefixes of keys that have one.
`strike` removes what would repeat a key (or an item that must differ). Both visit few nodes of the vocabulary's trie.
"""

from numba import int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets, ulongs, ushorts
from grammarlm.kernels.cpu.json.step.frames import length_of, same_chain
from grammarlm.kernels.cpu.json.step.languages import case_of, is_universal
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.layout.json import CROSS, DEAD, FIELD, NO_LANGUAGE, ROW, At, Frame, Kind, Object, Trie, Want

from .tries import BACKSLASH, NO_JUMP, add_byte, beyond, clear_below, first_child, push, set_node, words_bytes
from .walk import visit

MANY_WORDS = 256
NO_BYTES, FEW_BYTES, MANY_BYTES = range(3)  # that can follow
ANY_CASE = -2  # in place of the case of most other keys: the row is correct for the keys of all cases
REPEATED = -3  # in place of a case: `strike`


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

    That is: keys with an entry, and keys that may still be of another case.
    """
    correct(arena, at, c, x, y, f, case, row)


@part
def strike(arena, at, c, x, y, f, row):
    """Removes what repeats a key that was read before. The row was computed as if there were none."""
    correct(arena, at, c, x, y, f, int64(REPEATED), row)


@part
def correct(arena, at, c, x, y, f, case, row):
    trie, stack, jumps = longs(arena, At.TRIES), longs(arena, At.STACK), longs(arena, At.JUMPS)
    bytes_of, depth, end = octets(trie, Trie.BYTE), ushorts(trie, Trie.DEPTH), ints(trie, Trie.END)
    children, allowed = ints(trie, Trie.CHILDREN), ulongs(arena, At.ALLOWED)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    start = int64(depth[at]) if at >= 0 else int64(0)
    push(arena, start, c, x, y, f)
    stop, node = int64(end[at]) if at >= 0 else trie[Trie.NODES], int64(at + 1)
    if lists_corrected(arena, c, x, y, f, case, allowed, 4 * start) != MANY_BYTES:
        node = first_child(arena, int64(0), at, stop, start)
    while node < stop and arena[At.WANTED] & Want.OUT_OF_ROOM == 0:
        deep = int64(depth[node])
        top = deep * 6
        byte = int64(bytes_of[node])
        bits = allowed[4 * deep - 4 + (byte >> 6)]
        if jumps[2 * deep - 2] != NO_JUMP and bits >> uint64(byte & 63) & uint64(1) == uint64(0):
            node = beyond(end, allowed, jumps, children, deep, byte, node)
            continue
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
        c0 = stack[top - 6]
        c2, x2, y2, f2 = step(arena, c0, stack[top - 5], stack[top - 4], stack[top - 3], byte, int64(0))
        last = int64(end[node])
        if case == REPEATED:
            follows = may_repeat(arena, node, c0, byte, c2, f, f2, row)
        else:
            follows = may_differ(arena, node, c0, byte, c2, x2, y2, f2, case, row)
        if follows and last > node + 1:
            push(arena, deep, c2, x2, y2, f2)
            listed = lists_corrected(arena, c2, x2, y2, f2, case, allowed, 4 * deep)
            if listed == FEW_BYTES:
                node = first_child(arena, int64(0), node, last, deep)
            elif listed == MANY_BYTES:
                node += 1
            else:
                node = beyond(end, allowed, jumps, children, deep, byte, node)
        else:
            node = beyond(end, allowed, jumps, children, deep, byte, node)
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def may_differ(arena, node, c0, byte, c, x, y, f, case, row):
    """Corrects the row at a node of `differ`; can it still be wrong below?"""
    if c == DEAD or (byte == 34 and c0 >> 5 & 63 == 0):
        clear_below(arena, node, row)
        if c != DEAD:
            visit(arena, node, c, x, y, f, row)
        return False
    if x & FIELD >= x >> 21 & FIELD and (c >> 35 == 0 or is_of_case(arena, c >> 35, case)):
        return False
    set_node(arena, int64(0), node, row)  # if the row was computed without keys that have a node
    return True


@part
def may_repeat(arena, node, c0, byte, c, before, f, row):
    """Corrects the row at a node of `strike`, whose walk began in frame `before`; can it still be wrong below?"""
    kind = c0 & 31
    if c == DEAD:
        # A language can be exhausted, so that bytes other than a quote are rejected, too.
        in_text = kind == Kind.KEY or kind == Kind.STRING
        if in_text or (kind == Kind.KEYS and byte == 34) or (kind == Kind.AFTER and byte == 44):
            clear_below(arena, node, row)
        return False
    kind = c & 31
    if c == CROSS or (f != before and kind != Kind.STRING):
        return False
    return kind == Kind.STRING or kind == Kind.KEY or kind == Kind.AFTER or kind == Kind.KEYS


@part
def lists_corrected(arena, c, x, y, f, case, allowed, at):
    """Stores the next bytes of what may be wrong below the thread: FEW_BYTES; or MANY_BYTES; or NO_BYTES: nothing is wrong."""
    kind = c & 31
    if c >> 5 & 63 != 0 or (kind != Kind.KEY and kind != Kind.STRING):
        return int64(MANY_BYTES)
    if case == REPEATED:
        is_prefix = other_bytes(arena, f, y >> 24 if kind == Kind.KEY else text_of(arena, f), allowed, at)
        return int64(FEW_BYTES) if is_prefix else int64(NO_BYTES)
    if c >> 35 != 0 and not is_of_case(arena, c >> 35, case):
        return int64(MANY_BYTES)
    table = longs(arena, At.PROGRAM)[(c >> 11 & ROW) + Object.KEYS]
    return int64(FEW_BYTES) if words_bytes(arena, table, x, MANY_WORDS, allowed, at) else int64(MANY_BYTES)


@part
def other_bytes(arena, frame, chain, allowed, at):
    """Stores the next bytes of the other keys (or items) read before that have this prefix, and the backslash, which may hide
    one; False if there are none.
    """
    chains, length, found = longs(arena, At.CHAINS), length_of(arena, chain), False
    allowed[at], allowed[at + 1], allowed[at + 2], allowed[at + 3] = uint64(0), BACKSLASH, uint64(0), uint64(0)
    entry = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.OTHERS]
    while entry != 0:
        key = chains[2 * entry + 1]
        byte = int64(34)
        while length_of(arena, key) > length:
            byte = chains[2 * key + 1] & 0xFF
            key = chains[2 * key]
        if same_chain(arena, key, chain):
            add_byte(allowed, at, byte)
            found = True
        entry = chains[2 * entry]
    return found


@inlined
def text_of(arena, f):
    return longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.TEXT]
