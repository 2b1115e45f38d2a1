"""Languages walked along the vocabulary's trie: byte by byte through the automaton alone, not through the whole machine.

Closing quotes and the beginnings of escapes are noted, not read. A walk that misses a state is suspended, and resumes when the
state is computed. If every key of an object belongs to the language in some case, only closing quotes of keys matter (`note_ends`).
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import copy_bytes, part, pointer
from grammarlm.kernels.cpu.json.fields import ints, longs, octets, set_bit, uints, ushorts
from grammarlm.kernels.cpu.json.step.languages import after, case_of, length_fits, loops_of, note_missing, table_of
from grammarlm.layout.json import SHARED_BIT, At, Suspended, Trie, Want
from grammarlm.layout.json_strings import CHARACTERS_AT, MANY_CHARACTERS

from .correct import is_of_case
from .tries import bytes_before, clear_below

PATIENCE = 2000  # nodes that a walk continues after a missing state, to find further ones


@part
def suspend(arena, state, row_of, count, is_body, row, node, closings, escapes):
    """Saves the position of a walk from the root, which resumes there when the missing state is computed."""
    kept, stack = longs(arena, At.SUSPENDED), longs(arena, At.STACK)
    depth = int64(ushorts(longs(arena, At.TRIES), Trie.DEPTH)[node])
    kept[Suspended.SERIAL], kept[Suspended.STATE] = arena[At.SERIAL], state
    kept[Suspended.ROW_OF], kept[Suspended.COUNT], kept[Suspended.IS_BODY] = row_of, count, int64(is_body)
    kept[Suspended.NODE], kept[Suspended.CLOSINGS], kept[Suspended.ESCAPES] = node, closings, escapes
    for i in range(6 * depth):
        kept[Suspended.STACK + i] = stack[i]
    arena[At.WANTED] |= Want.WAITS
    copy_bytes(arena[At.SUSPENDED_ROW], row.ctypes.data, 4 * arena[At.BASE_WORDS])


@part
def resume(arena, state, row_of, count, is_body, row):
    """(node, closings, escapes): where the same walk was suspended, with its stack and row restored; else its beginning."""
    kept, stack = longs(arena, At.SUSPENDED), longs(arena, At.STACK)
    if (
        kept[Suspended.SERIAL] == 0
        or kept[Suspended.SERIAL] != arena[At.SERIAL]
        or kept[Suspended.STATE] != state
        or kept[Suspended.ROW_OF] != row_of
        or kept[Suspended.COUNT] != count
        or kept[Suspended.IS_BODY] != int64(is_body)
    ):
        return int64(0), int64(0), int64(0)
    node = kept[Suspended.NODE]
    for i in range(6 * int64(ushorts(longs(arena, At.TRIES), Trie.DEPTH)[node])):
        stack[i] = kept[Suspended.STACK + i]
    copy_bytes(row.ctypes.data, arena[At.SUSPENDED_ROW], 4 * arena[At.BASE_WORDS])
    return node, kept[Suspended.CLOSINGS], kept[Suspended.ESCAPES]


@part
def run_language(arena, state, row_of, count, usual, is_body, row):
    """Continuations of a string of a language along the vocabulary's trie, byte by byte through the automaton alone.

    Closing quotes and backslashes are noted (CLOSED, ESCAPED), not read. `row_of` is the string's row, 0 if nothing is counted.
    With a `usual` case (0: none) the row is already correct for what can only become a string of that case; the rest is corrected,
    and closing quotes are noted for another case or none. If the row `is_body`, the row of any string's body (with no more
    characters than are left), tokens that the language rejects are removed.
    """
    trie, program = longs(arena, At.TRIES), longs(arena, At.PROGRAM)
    bytes_of = octets(trie, Trie.BYTE)
    depth = ushorts(trie, Trie.DEPTH)
    end = ints(trie, Trie.END)
    token = uints(trie, Trie.TOKEN)
    table = table_of(arena, state)
    closed, escaped, stack = longs(arena, At.CLOSED), longs(arena, At.ESCAPED), longs(arena, At.STACK)
    least, most, lengths = int64(0), int64(-1), int64(0)
    if row_of != 0:
        least, most, lengths = program[row_of], program[row_of + 1], program[row_of + 3]
    nothing, capacity = arena[At.NOTHING], arena[At.NOTED_CAPACITY]
    stack[0], stack[1], stack[2] = state, count, loops_of(arena, state)
    can_wait, waits = usual == 0, False
    node, closings, escapes = int64(0), int64(0), int64(0)
    if can_wait:
        node, closings, escapes = resume(arena, state, row_of, count, is_body, row)
    longs(arena, At.SUSPENDED)[Suspended.SERIAL] = 0
    alphabets = longs(arena, At.ALPHABETS)
    reach = arena[At.MOST_CHARACTERS]
    missing, patience = longs(arena, At.MISSING), int64(PATIENCE)
    while node < trie[Trie.NODES] and arena[At.WANTED] & Want.ENOUGH == 0:
        if missing[0] != 0:  # below a missing state all is recomputed later
            patience -= 1
            if patience < 0:
                break
        top = 6 * int64(depth[node])
        byte = int64(bytes_of[node])
        here, characters = stack[top - 6], stack[top - 5]
        if byte == 34 or byte == 92:
            if byte == 92:
                if escapes < capacity:
                    escaped[3 * escapes], escaped[3 * escapes + 1], escaped[3 * escapes + 2] = node, here, characters
                escapes += 1
            elif case_of(arena, here) != usual and characters >= least:
                if closings < capacity:
                    closed[3 * closings], closed[3 * closings + 1], closed[3 * closings + 2] = node, here, characters
                closings += 1
            node = int64(end[node])
            continue
        there = int64(table[uint64(here & (SHARED_BIT - 1)) * uint64(256) + uint64(byte)])
        if there <= 0:
            if there == 0:
                note_missing(arena, here)
                if can_wait and not waits:
                    waits = True
                    suspend(arena, state, row_of, count, is_body, row, node, closings, escapes)
            there = int64(0)
        if there != 0 and (least > 0 or most >= 0):
            if byte & 0xC0 != 0x80:
                characters = characters + 1 if most >= 0 else min(characters + 1, least)
            if most >= 0 and characters > most:
                node = int64(end[node])  # the row of a body has no longer tokens
                continue
            if lengths != 0 and not length_fits(arena, there, least, most, characters):
                there = int64(0)
        if there == 0 or byte < 32:
            if usual != 0 or is_body:
                clear_below(arena, node, row)
            node = int64(end[node])
            continue
        if usual != 0 and is_of_case(arena, there, usual):
            node = int64(end[node])
            continue
        found = int64(token[node])
        if found != nothing:
            set_bit(row, found)
        stack[top], stack[top + 1] = there, characters
        loops = stack[top - 4] if there == here else loops_of(arena, there)
        stack[top + 2] = loops
        node += 1
        if alphabets[node - 1] & ~loops == 0:  # the whole subtree stays in this state
            if most >= 0:
                below = alphabets[node - 1] >> CHARACTERS_AT & MANY_CHARACTERS
                longest = characters + (below if below < MANY_CHARACTERS else reach)
                if longest > most:
                    if not is_body:
                        continue
                    longest = most
            else:
                longest = characters
            # If the state can end soon enough after the longest token, it can after all of them.
            if lengths != 0 and (characters < least or not length_fits(arena, there, int64(0), most, longest)):
                continue
            stop_at = int64(end[node - 1])
            if is_body:
                node = stop_at
            while node < stop_at:
                found = int64(token[node])
                if found != nothing:
                    set_bit(row, found)
                node += 1
    return closings, escapes


@part
def note_ends(arena, state, usual):
    """What `run_language` notes if every string can continue from the state, between characters: closing quotes of keys of
    another case than the usual one, and backslashes. The rest of the row is already correct.
    """
    closing = carray(pointer(arena[At.CLOSING]), 3 * arena[At.CLOSING_COUNT], np.int32)
    escaping = carray(pointer(arena[At.ESCAPING]), arena[At.ESCAPING_COUNT], np.int32)
    closed, escaped = longs(arena, At.CLOSED), longs(arena, At.ESCAPED)
    capacity, closings, escapes = arena[At.NOTED_CAPACITY], int64(0), int64(0)
    for i in range(arena[At.CLOSING_COUNT]):
        node = int64(closing[3 * i])
        here = state_before(arena, state, node)
        if here > 0 and case_of(arena, here) != usual:
            if closings < capacity:
                closed[3 * closings], closed[3 * closings + 1], closed[3 * closings + 2] = node, here, int64(0)
            closings += 1
    for i in range(arena[At.ESCAPING_COUNT]):
        node = int64(escaping[i])
        here = state_before(arena, state, node)
        if here > 0:
            if escapes < capacity:
                escaped[3 * escapes], escaped[3 * escapes + 1], escaped[3 * escapes + 2] = node, here, int64(0)
            escapes += 1
    return closings, escapes


@part
def state_before(arena, state, node):
    """The state after the bytes that lead to the node, without its own; 0: rejected; -1: there is a backslash among them."""
    offset, above = bytes_before(arena, node)
    data = octets(arena, At.DATA)
    for i in range(above):
        byte = int64(data[offset + i])
        if byte == 92:
            return int64(-1)
        state = after(arena, state, byte)
        if state == 0:
            break
    return int64(state)
