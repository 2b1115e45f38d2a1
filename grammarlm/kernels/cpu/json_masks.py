"""The mask of a JSON text: which tokens may come next.

The mask of a config is the union of its threads' masks. A thread's mask is a **row**, kept in a pool under what it was made from,
and what hangs below the frames around it, walked at each call:

    base row        a row of the vocabulary's, shared by all schemas: the body of a string, white space, ...
    exceptions      pairs (word, bits that differ)
    remainders      tokens that close a string: what remains behind the quote is a small trie
    crossings       places in tries where a token left the frame

json_rows.py says what rows hang on and keeps them; here they are made and used.
"""

import numpy as np
from numba import carray, int32, int64

from .jit import copy_bytes, inlined, kernel, part, pointer
from .json_arrays import array_row, with_item
from .json_ends import survey_tokens
from .json_keys import copy_frame, names_may_end, with_other
from .json_languages import after, case_of, is_total, is_universal
from .json_numbers import number_ends
from .json_places import (
    ARRAY_BIT,
    BARRIER,
    BEHIND,
    DEAD,
    FIELD,
    FURTHER,
    INLINE,
    NO_FRAME,
    OUT_OF_ROOM,
    SHARED_BIT,
    WIDEST,
    Array,
    At,
    Frame,
    Kind,
    Object,
    Shape,
    Spot,
    Store,
    Trie,
    arena_of,
    key_range,
    longs,
    thread,
)
from .json_rows import (
    BEHIND_VIEW,
    KEY_VIEW,
    KEY_WORDS,
    MARK,
    WHOLE_FRAME,
    behind_view,
    copy_base,
    find_row,
    keep_row,
    mark_row,
    seen_at_end,
    take_row,
    view_key,
    words,
)
from .json_step import NO_LANGUAGE, ROW, blanks, step
from .json_unique import is_unique, number_ended, same_frame, with_text
from .json_walk import (
    ALONG,
    ANY_CASE,
    GROW_CROSSED,
    GROW_NOTED,
    clear_below,
    differ,
    filter_closers,
    is_of_case,
    run_language,
    set_node,
    set_token,
    strike,
    visit,
    walk,
)

BASE_ZERO, BASE_BODY = 0, 1
OTHER_KEYS, CLOSERS = -5, -6  # in place of a thread, in the key of a row: any other key; the end of any string
BODY_REMAINDERS = 1  # the trie of what remains behind a string's closing quote
CAN_START = 1  # a state of white space that is at its end: what follows it may come
WANT_SPOT, WANT_LIMITED, TOO_WIDE, GROW_RECORDS = 2, 4, 8, 128  # in WANTED; with a number above bit 8


@inlined
def is_plain_string(program, row):
    return program[row] == 0 and program[row + 1] < 0 and program[row + 2] == 0


# ---------------------------------------------------------------- making a row


@part
def enter(arena, spot, byte, c, x, y, f, row):
    """All tokens of white space, the byte, and more: the thread stands before them."""
    spots = longs(arena, At.SPOTS)
    at = spot * Spot.LENGTH
    offsets, nodes = words(spots[at + Spot.OFFSETS], int64(257)), words(spots[at + Spot.NODES], int64(1 << 30))
    if offsets[byte] == offsets[byte + 1]:
        return
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    way = int64(0)
    while arena[At.WANTED] & OUT_OF_ROOM == 0:
        c2, x2, y2, f2 = step(arena, c, x, int64(CAN_START), f, int64(byte), way)
        more = arena[At.MORE]
        if c2 != DEAD:
            for i in range(offsets[byte], offsets[byte + 1]):
                visit(arena, int64(nodes[i]), c2, x2, y2, f2, row)
        if more == 0:
            break
        way += 1
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def enter_strings(arena, spot, c, x, f, row):
    """`enter` for the quote, but the way that reads any string: the base row has it."""
    spots, program = longs(arena, At.SPOTS), longs(arena, At.PROGRAM)
    at = spot * Spot.LENGTH
    offsets, nodes = words(spots[at + Spot.OFFSETS], int64(257)), words(spots[at + Spot.NODES], int64(1 << 30))
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    way = int64(0)
    while arena[At.WANTED] & OUT_OF_ROOM == 0:
        c2, x2, y2, f2 = step(arena, c, x, int64(CAN_START), f, int64(34), way)
        more = arena[At.MORE]
        plain = c2 & 31 == Kind.STRING and is_plain_string(program, c2 >> 11 & ROW)
        if c2 != DEAD and not plain:
            for i in range(offsets[34], offsets[35]):
                visit(arena, int64(nodes[i]), c2, x2, y2, f2, row)
        if more == 0:
            break
        way += 1
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def has_plain_string(program, node):
    for i in range(program[node]):
        if program[node + 2 + 2 * i] == Shape.STRING and is_plain_string(program, program[node + 3 + 2 * i]):
            return True
    return False


@part
def make_value(arena, spot, c, x, y, f, node, strings, row):
    """White space and a value's beginning, as alternatives of a node (or of all ways to read an item) have it."""
    if strings:
        enter_strings(arena, spot, c, x, f, row)
    else:
        enter(arena, spot, int64(34), c, x, y, f, row)
    enter(arena, spot, int64(45), c, x, y, f, row)
    for byte in range(48, 58):
        enter(arena, spot, int64(byte), c, x, y, f, row)
    enter(arena, spot, int64(91), c, x, y, f, row)
    enter(arena, spot, int64(102), c, x, y, f, row)
    enter(arena, spot, int64(110), c, x, y, f, row)
    enter(arena, spot, int64(116), c, x, y, f, row)
    enter(arena, spot, int64(123), c, x, y, f, row)


@part
def make_row(arena, c, x, y, f, row):
    """The row of a thread whose frames end at the barrier: (base, trie of remainders). Crossings are noted."""
    program, frames, spots = longs(arena, At.PROGRAM), longs(arena, At.FRAMES), longs(arena, At.SPOTS)
    kind, own = c & 31, c >> 11 & ROW
    base, remainders = int64(BASE_ZERO), int64(-1)
    if kind == Kind.AFTER or kind == Kind.KEYS or kind == Kind.COLON or kind == Kind.VALUE or kind == Kind.ENTRY:
        spot = y * Spot.LENGTH
        base = spots[spot + Spot.BLANK_BASE]
        if kind == Kind.AFTER:
            copy_base(arena, base, row)
            enter(arena, y, int64(44), c, x, y, f, row)
            enter(arena, y, int64(125), c, x, y, f, row)
            enter(arena, y, int64(93), c, x, y, f, row)
        elif kind == Kind.COLON:
            copy_base(arena, base, row)
            enter(arena, y, int64(58), c, x, y, f, row)
        elif kind == Kind.VALUE:
            strings = has_plain_string(program, own)
            if strings:
                base, remainders = spots[spot + Spot.START_BASE], spots[spot + Spot.REMAINDERS]
            copy_base(arena, base, row)
            make_value(arena, y, c, x, y, f, own, strings, row)
        elif kind == Kind.ENTRY:
            array = array_row(frames, f)
            ways = program[program[array + Array.ITEMS] + min(frames[f * Frame.LENGTH + Frame.COUNT], program[array])]
            most, count = program[array + Array.MOST], frames[f * Frame.LENGTH + Frame.COUNT]
            strings = program[array + Array.CONTAINS] == 0 and program[ways] == 1 and (most < 0 or count < most)
            strings = strings and program[array + Array.UNIQUE] == 0 and has_plain_string(program, program[ways + 1])
            if strings:
                base, remainders = spots[spot + Spot.START_BASE], spots[spot + Spot.REMAINDERS]
            copy_base(arena, base, row)
            make_value(arena, y, c, x, y, f, program[ways + 1], strings, row)
            if c >> 5 & 63 == 0:
                enter(arena, y, int64(93), c, x, y, f, row)
        else:
            make_keys(arena, spot, c, x, y, f, row)
            base = spots[spot + Spot.START_BASE] if frame_takes_any_key(arena, f) else base
        return base, remainders
    state = c >> 35
    if kind == Kind.STRING and c >> 5 & 63 == 0:
        return make_string(arena, c, x, y, f, own, row), remainders
    case = program[own + Object.DEFAULT] if kind == Kind.KEY else int64(0)
    if kind == Kind.KEY and c >> 5 & 63 == 0 and state != NO_LANGUAGE and state != 0:
        if case == 0 or (is_universal(arena, state) and not is_of_case(arena, state, case)):
            if is_universal(arena, state):
                case = case_of(arena, state)
            elif case == 0 and is_total(arena, state):
                make_total_key(arena, c, x, y, f, own, row)
                return int64(BASE_BODY), remainders
            else:
                copy_base(arena, base, row)
                make_key(arena, c, x, y, f, own, int64(0), row)
                return base, remainders
    if kind == Kind.KEY and c >> 5 & 63 == 0 and state != NO_LANGUAGE:
        base = int64(BASE_BODY)
        node = program[own + Object.OTHERS] if state == 0 else program[program[own + Object.CASES] + case - 1]
        other_keys(arena, node, with_other(arena, f, y >> 24), own, f, row)
        if state != 0 and not is_of_case(arena, state, case):
            make_key(arena, c, x, y, f, own, case, row)
        elif x & FIELD < x >> 21 & FIELD:
            differ(arena, int64(-1), c, x, y, f, case, row)
        return base, remainders
    copy_base(arena, base, row)
    walk(arena, int64(0), int64(-1), c, x, y, f, row)
    return base, remainders


@part
def other_keys(arena, node, behind, own, f, row):
    """In a key that has no place of its own, with a value of the node. The same for all such keys: kept if nothing is counted."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    key = carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64)
    store = store_of(arena, own < arena[At.SHARED_END])
    free = program[own + Object.MOST] < 0 and program[own + Object.LEAST] == 0 and arena[At.MODE] == 0
    found, level = int64(-1), int64(BEHIND_VIEW)
    key[0], key[1], key[2], key[3] = OTHER_KEYS, node, 0, own
    key[4], key[5], key[6] = 0, -1 - level, behind_view(arena, behind)
    if free:
        found = find_row(store, key)[1]
        if found == MARK:
            level = int64(WHOLE_FRAME)
            key[4], key[5] = frames[f * Frame.LENGTH + Frame.SEEN], frames[f * Frame.LENGTH + Frame.LAST]
            key[6] = 0
            found = find_row(store, key)[1]
    before = arena[At.BEYOND]
    if found >= 0:
        arena[At.BEYOND] = before | BEHIND | (FURTHER if level == WHOLE_FRAME else 0)
        take_row(arena, store, found, row)
        return
    arena[At.BEYOND] = 0
    copy_base(arena, int64(BASE_BODY), row)
    closers_behind(arena, int64(BODY_REMAINDERS), thread(Kind.COLON, 0, node, 0), behind, row)
    further = arena[At.BEYOND] & FURTHER != 0
    arena[At.BEYOND] |= before
    missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
    if free and missing[0] == 0 and arena[At.WANTED] == 0:
        if further and level == BEHIND_VIEW:
            free = mark_row(arena, store, key)
            key[4], key[5] = frames[f * Frame.LENGTH + Frame.SEEN], frames[f * Frame.LENGTH + Frame.LAST]
            key[6] = 0
        if free:
            keep_row(arena, store, key, find_row(store, key)[0], int64(BASE_BODY), int64(-1), row)


@part
def closers_behind(arena, which, c, f, out):
    """Adds the tokens that close a string and go on with what the thread reads behind it; `which` trie has what remains of them."""
    trie = longs(arena, At.TRIES)
    ends = words(trie[which * Trie.LENGTH + Trie.FIRST], int64(1 << 30))
    tokens = words(trie[which * Trie.LENGTH + Trie.LIST], int64(1 << 30))
    for i in range(ends[0], ends[1]):
        set_token(out, int64(tokens[i]))
    walk(arena, which, int64(-1), c, int64(0), int64(0), f, out)


@inlined
def store_of(arena, shared):
    return carray(pointer(arena[At.SHARED_STORE] if shared else arena[At.STORE]), int64(Store.LENGTH), np.int64)


@part
def make_string(arena, c, x, y, f, own, row):
    """In a string of a language: the tokens that stay in it, and a filter of those that close it (crossings if unique).

    Returns the base row's number.
    """
    program = longs(arena, At.PROGRAM)
    counted = own if program[own] > 0 or program[own + 1] >= 0 else int64(0)
    if counted == 0 and f == BARRIER and is_total(arena, x):  # any token that stays in a string stays in this one
        copy_base(arena, int64(BASE_BODY), row)
        filtered = words(arena[At.FILTER], (arena[At.CLOSER_COUNT] + 31) >> 5)
        for i in range(len(filtered)):
            filtered[i] = 0
        filter_closers(arena, c, x, y, f, filtered)
        arena[At.FILTER_ON] = 1
        return int64(BASE_BODY)
    copy_base(arena, int64(BASE_ZERO), row)
    closings, escapes = run_language(arena, int64(-1), x, counted, y >> 24, int64(0), row)
    if max(closings, escapes) > arena[At.NOTED_CAPACITY]:
        arena[At.WANTED] |= GROW_NOTED
        return int64(BASE_ZERO)
    closed, escaped = longs(arena, At.CLOSED), longs(arena, At.ESCAPED)
    filtered = words(arena[At.FILTER], (arena[At.CLOSER_COUNT] + 31) >> 5)
    for i in range(len(filtered)):
        filtered[i] = 0
    closing, next_closing = words(arena[At.CLOSING], 3 * arena[At.CLOSING_COUNT]), int64(0)
    for i in range(closings):
        while closing[3 * next_closing] < closed[3 * i]:  # both in order, and every node that closes is in the list
            next_closing += 1
        for j in range(closing[3 * next_closing + 1], closing[3 * next_closing + 1] + closing[3 * next_closing + 2]):
            filtered[j >> 5] |= int32(1) << int32(j & 31)
    arena[At.FILTER_ON] = 1 if closings > 0 else 0
    if f != BARRIER:  # nothing is kept of the row: the real frame goes on behind the quote
        arena[At.FILTER_ON] = 0
        for i in range(closings):  # as if the string were new: `strike` knows better
            visit(arena, closed[3 * i], thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f, row)
    for i in range(escapes):
        g = f if f == BARRIER else with_path(arena, escaped[3 * i], f)
        c2, x2, y2, f2 = step(
            arena, thread(Kind.STRING, 0, own, 0), escaped[3 * i + 1], escaped[3 * i + 2] << 24, g, int64(92), int64(0)
        )
        if c2 != DEAD:
            visit(arena, escaped[3 * i], c2, x2, y2, f2, row)
    return int64(BASE_ZERO)


@part
def probe_strings(arena, node):
    """Are the first states made of the languages of a node's strings?"""
    program = longs(arena, At.PROGRAM)
    if node < 0:
        return
    for i in range(program[node]):
        if program[node + 2 + 2 * i] == Shape.STRING:
            start = program[program[node + 3 + 2 * i] + 2]
            if start != 0:
                after(arena, start, int64(97))


@part
def with_path(arena, node, f):
    """The frame of a unique item, with the bytes that lead from the root of the vocabulary's trie to the node before this one."""
    trie = longs(arena, At.TRIES)
    token = carray(pointer(trie[Trie.TOKEN]), 1 << 40, np.uint32)
    above = int64(carray(pointer(trie[Trie.DEPTH]), 1 << 40, np.uint16)[node]) - 1
    while int64(token[node]) == arena[At.NOTHING]:  # a token begins so, at the node or below it
        node += 1
    offset = longs(arena, At.OFFSETS)[int64(token[node])]
    data = carray(pointer(arena[At.DATA]), 1 << 40, np.uint8)
    for i in range(above):
        f = with_text(arena, f, int64(data[offset + i]))
    return f


@part
def make_total_key(arena, c, x, y, f, own, row):
    """In a key of a language with which any key can go on: the tokens that stay in a string, a filter of those that close it."""
    program = longs(arena, At.PROGRAM)
    other_keys(arena, program[program[own + Object.CASES]], with_other(arena, f, y >> 24), own, f, row)
    count = arena[At.CLOSER_COUNT]
    filtered, closers = words(arena[At.FILTER], (count + 31) >> 5), words(arena[At.CLOSERS], 2 * count)
    for i in range(len(filtered)):
        filtered[i] = 0
    filter_closers(arena, c, x, y, f, filtered)
    arena[At.FILTER_ON] = 1
    keep_filtered(filtered, closers, count, row)
    if x & FIELD < x >> 21 & FIELD:
        differ(arena, int64(-1), c, x, y, f, int64(ANY_CASE), row)


@part
def keep_filtered(filtered, closers, count, row):
    """Takes away the tokens that close a string and are not in the filter."""
    for i in range(count):
        if filtered[i >> 5] >> (i & 31) & 1 == 0:
            token = int64(closers[2 * i])
            row[token >> 5] &= ~(int32(1) << int32(token & 31))


@part
def make_key(arena, c, x, y, f, own, usual, row):
    """In a key, where other keys are of a language. `usual` is the case that the row has been made for, 0: there is none such."""
    program = longs(arena, At.PROGRAM)
    missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
    cases = program[own + Object.CASES]
    for i in range(program[own + Object.CASE_COUNT]):
        probe_strings(arena, program[cases + i])
    if missing[0] != 0:
        return  # the walk would have to begin again
    closings, escapes = run_language(arena, int64(-1), c >> 35, int64(0), int64(0), usual, row)
    if max(closings, escapes) > arena[At.NOTED_CAPACITY]:
        arena[At.WANTED] |= GROW_NOTED
        return
    closed, escaped = longs(arena, At.CLOSED), longs(arena, At.ESCAPED)
    behind = with_other(arena, f, y >> 24)
    for i in range(closings):
        case = case_of(arena, closed[3 * i + 1])
        if usual != 0:
            clear_below(arena, closed[3 * i], row)
        if case != 0:
            visit(
                arena,
                closed[3 * i],
                thread(Kind.COLON, 0, program[cases + case - 1], 0),
                int64(0),
                int64(0),
                behind,
                row,
            )
    for i in range(escapes):
        c2, x2, y2, f2 = step(arena, thread(Kind.KEY, 0, own, escaped[3 * i + 1]), int64(0), y, f, int64(92), int64(0))
        if usual != 0:
            clear_below(arena, escaped[3 * i], row)
        if c2 != DEAD:
            visit(arena, escaped[3 * i], c2, x2, y2, f2, row)
    if x & FIELD < x >> 21 & FIELD:
        differ(arena, int64(-1), c, x, y, f, int64(ANY_CASE), row)


@part
def filtered_closers(arena, f, out):
    """Adds the tokens that close the string, where both its language and what follows allow them."""
    width, count = arena[At.BASE_WORDS], arena[At.CLOSER_COUNT]
    other = words(arena[At.SECOND_ROW], width + 1)
    for i in range(width):
        other[i] = 0
    end_of_string(arena, int64(BODY_REMAINDERS), f, other)
    bits, closers = words(arena[At.FILTER], (count + 31) >> 5), words(arena[At.CLOSERS], 2 * count)
    for i in range(count):
        if bits[i >> 5] >> (i & 31) & 1:
            token = int64(closers[2 * i])
            if other[token >> 5] >> (token & 31) & 1:
                set_token(out, token)


@part
def frame_takes_any_key(arena, f):
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row = frames[f * Frame.LENGTH + Frame.ROW]
    most = program[row + Object.MOST]
    if program[row + Object.OTHERS] < 0 or program[row + Object.LANGUAGE] != 0 or program[row + Object.COUNT] > INLINE:
        return False
    missing = frames[f * Frame.LENGTH + Frame.NEEDED]
    if arena[At.MODE] == 1 and missing != 0:
        return False
    return most < 0


@part
def make_keys(arena, spot, c, x, y, f, row):
    """White space and the beginning of a key."""
    program, frames, spots = longs(arena, At.PROGRAM), longs(arena, At.FRAMES), longs(arena, At.SPOTS)
    own = frames[f * Frame.LENGTH + Frame.ROW]
    if frame_takes_any_key(arena, f):
        copy_base(arena, spots[spot + Spot.START_BASE], row)
        which = spots[spot + Spot.REMAINDERS]
        trie = longs(arena, At.TRIES)
        ends = words(trie[which * Trie.LENGTH + Trie.FIRST], int64(1 << 30))
        for i in range(ends[0], ends[1]):
            token = words(trie[which * Trie.LENGTH + Trie.LIST], int64(1 << 30))[i]
            row[token >> 5] |= int32(1) << int32(token & 31)
        other = thread(Kind.COLON, 0, program[own + Object.OTHERS], 0)
        # The key just read is unknown here; it is struck out by `strike` where it repeats another.
        walk(arena, which, int64(-1), other, int64(0), int64(0), with_other(arena, f, int64(0)), row)
        count = program[own + Object.COUNT]
        offsets = words(spots[spot + Spot.OFFSETS], int64(257))
        nodes = words(spots[spot + Spot.NODES], int64(1 << 30))
        first = thread(Kind.KEY, 0, own, 0)
        if count > 0:
            for i in range(offsets[34], offsets[35]):
                differ(arena, int64(nodes[i]), first, key_range(0, count, 0), int64(0), f, int64(0), row)
    else:
        copy_base(arena, spots[spot + Spot.BLANK_BASE], row)
        enter(arena, y, int64(34), c, x, y, f, row)
    if c >> 5 & 63 == 0:
        enter(arena, y, int64(125), c, x, y, f, row)


# ---------------------------------------------------------------- keeping and using rows


@inlined
def put(first, out, row, count):
    """The row becomes the mask, or is added to it."""
    if first:
        copy_bytes(out.ctypes.data, row.ctypes.data, 4 * count)
    else:
        for i in range(count):
            out[i] |= row[i]


@part
def cross(arena, which, node, blank, how, g, out):
    """Goes on behind the barrier: frame g is the real one."""
    after = thread(Kind.AFTER, 0, 0, 0)
    trie = longs(arena, At.TRIES)
    if how == ALONG:
        walk(arena, which, node, after, int64(0), blank, g, out)
        return
    byte = int64(carray(pointer(trie[which * Trie.LENGTH + Trie.BYTE]), 1 << 40, np.uint8)[node])
    c, x, y, f = step(arena, after, int64(0), int64(0), g, byte, int64(0))
    if c != DEAD:
        set_node(arena, which, node, out)
        walk(arena, which, node, c, x, y, f, out)


@part
def strings_mask(arena, c, x, y, f, out, first):
    """In the body of a string of no language: nothing to keep, all rows are the vocabulary's."""
    program = longs(arena, At.PROGRAM)
    own, count = c >> 11 & ROW, y >> 24
    least, most, far = program[own], program[own + 1], arena[At.MOST_CHARACTERS]
    left = most - count if most >= 0 else far
    width = arena[At.BASE_WORDS]
    if left >= far:
        body = longs(arena, At.BASES)[BASE_BODY]
    else:
        body = longs(arena, At.LIMITED)[left]
        if body == 0:
            arena[At.WANTED] |= WANT_LIMITED | left << 8
            return
    put(first, out, words(body, width), width)
    if count >= least and left >= far:
        end_of_string(arena, int64(BODY_REMAINDERS), f, out)
        return
    other = words(arena[At.SECOND_ROW], width + 1)
    for i in range(width):
        other[i] = 0
    end_of_string(arena, int64(BODY_REMAINDERS), f, other)
    closers = words(arena[At.CLOSERS], 2 * arena[At.CLOSER_COUNT])
    for i in range(arena[At.CLOSER_COUNT]):
        token, characters = closers[2 * i], closers[2 * i + 1]
        if other[token >> 5] >> (token & 31) & 1 and count + characters >= least and (most < 0 or characters <= left):
            out[token >> 5] |= int32(1) << int32(token & 31)


@part
def end_of_string(arena, which, f, out):
    """Adds the tokens that close a string in frame f, which are kept by what the frame may do behind it."""
    frames = longs(arena, At.FRAMES)
    after = thread(Kind.AFTER, 0, 0, 0)
    own = frames[f * Frame.LENGTH + Frame.ROW] & ROW
    is_object = frames[f * Frame.LENGTH + Frame.ROW] & ARRAY_BIT == 0
    if f <= BARRIER or is_unique(arena, f) or (is_object and names_may_end(arena, own)):
        closers_behind(arena, which, after, f, out)
        return
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    outer, inner = frames[f * Frame.LENGTH], inner_frame(arena, f)
    key = carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64)
    store = store_of(arena, own < arena[At.SHARED_END])
    level = int64(BEHIND_VIEW) if is_object else int64(WHOLE_FRAME)
    kept = closers_key(arena, level, which, inner, key)
    found = find_row(store, key)[1] if kept else int64(-1)
    if found == MARK:
        level = int64(WHOLE_FRAME)
        kept = closers_key(arena, level, which, inner, key)
        found = find_row(store, key)[1] if kept else int64(-1)
    if found < 0:
        if level == WHOLE_FRAME and (not kept or frames[f * Frame.LENGTH + Frame.OTHERS] != 0):
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            closers_behind(arena, which, after, f, out)  # a token goes on into the next key, which may repeat another
            return
        arena[At.FRESH] += 1
        arena[At.CROSS_COUNT] = 0
        row = words(arena[At.CLOSER_ROW], arena[At.BASE_WORDS] + 1)
        copy_base(arena, int64(BASE_ZERO), row)
        arena[At.BEYOND], arena[At.VIEW_FRAME] = 0, -1
        arena[At.VIEW_SEEN] = frames[inner * Frame.LENGTH + Frame.SEEN]
        filter_on = arena[At.FILTER_ON]
        arena[At.FILTER_ON] = 0
        closers_behind(arena, which, after, inner, row)
        missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
        if missing[0] != 0 or arena[At.WANTED] != 0:
            return
        if arena[At.BEYOND] & FURTHER != 0 and level == BEHIND_VIEW:
            kept = mark_row(arena, store, key) and closers_key(arena, int64(WHOLE_FRAME), which, inner, key)
        place, found = find_row(store, key)
        if kept and found == -1:
            keep_row(arena, store, key, place, int64(BASE_ZERO), int64(-1), row)
            found = find_row(store, key)[1]
        arena[At.FILTER_ON] = filter_on
        if found < 0 or frames[f * Frame.LENGTH + Frame.OTHERS] != 0:
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            closers_behind(arena, which, after, f, out)
            return
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    if level == WHOLE_FRAME and is_object and frames[f * Frame.LENGTH + Frame.OTHERS] != 0:
        closers_behind(arena, which, after, f, out)
        return
    pool = words(store[Store.POOL], int64(1 << 40))
    at = found + 5
    for _ in range(pool[found + 1]):
        out[pool[at]] |= pool[at + 1]
        at += 2
    for _ in range(pool[found + 2]):
        cross(arena, int64(pool[at + 1]), int64(pool[at]), int64(pool[at + 2]), int64(pool[at + 3]), outer, out)
        at += 4


@part
def closers_key(arena, level, which, frame, key):
    kept = view_key(arena, level, int64(Kind.AFTER), int64(0), int64(0), frame, key)
    key[0], key[1] = CLOSERS, which
    return kept


@part
def inner_frame(arena, f):
    """The frame without those around it, and without the keys that have no place of their own."""
    frames = longs(arena, At.FRAMES)
    inner = copy_frame(arena, f)
    frames[inner * Frame.LENGTH] = BARRIER
    if frames[inner * Frame.LENGTH + Frame.ROW] & ARRAY_BIT == 0:
        frames[inner * Frame.LENGTH + Frame.OTHERS] = 0
    return inner


@part
def kept_mask(arena, c, x, y, f, out, first):
    """The mask of a thread whose row is kept, or made now."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    kind, width = c & 31, arena[At.BASE_WORDS]
    in_frame = kind == Kind.AFTER or kind == Kind.KEYS or kind == Kind.KEY or kind == Kind.ENTRY
    if in_frame or kind == Kind.VALUE or kind == Kind.COLON:
        if kind != Kind.KEY and longs(arena, At.SPOTS)[y * Spot.LENGTH + Spot.MADE] == 0:
            arena[At.WANTED] |= WANT_SPOT | y << 8
            return
    unique = is_unique(arena, f)
    own = frames[f * Frame.LENGTH + Frame.ROW] & ROW if in_frame else c >> 11 & ROW
    shared = own < arena[At.SHARED_END] and kind != Kind.WORD
    shared = shared and (kind != Kind.STRING or x == 0 or x & SHARED_BIT != 0)
    store = store_of(arena, shared)
    # What repeats a key is taken out of this thread's own row: another thread may allow it.
    is_object = in_frame and frames[f * Frame.LENGTH + Frame.ROW] & ARRAY_BIT == 0
    strikes = is_object and frames[f * Frame.LENGTH + Frame.OTHERS] != 0
    if unique and kind == Kind.STRING and c >> 5 & 63 == 0:
        strikes = frames[f * Frame.LENGTH + Frame.OTHERS] != 0
    suspects = (unique and kind == Kind.STRING) or (is_object and program[own + Object.OTHERS] != -1)
    counts_others = is_object and program[own + Object.AVAILABLE] > 0
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    outer, inner = f, f if unique else int64(BARRIER)
    if in_frame:
        outer = frames[f * Frame.LENGTH]
        if not unique:
            inner = inner_frame(arena, f)
            if counts_others:
                frames[inner * Frame.LENGTH + Frame.OTHERS] = frames[f * Frame.LENGTH + Frame.OTHERS]
    # How many keys there still are hangs on those that have been read: such rows are not kept.
    key = carray(pointer(arena[At.SET_A]), int64(KEY_WORDS), np.int64)
    level, found = int64(WHOLE_FRAME), int64(-1)
    may_keep = not unique and not counts_others
    if is_object and kind == Kind.KEY and c >> 35 == NO_LANGUAGE:
        level = int64(KEY_VIEW)
    elif is_object and (kind == Kind.KEY or kind == Kind.AFTER):
        level = int64(BEHIND_VIEW)  # of the tokens that end a key that nobody has declared, some end its value, too
    kept = may_keep and view_key(arena, level, c, x, y, inner if in_frame else f, key)
    if kept:
        found = find_row(store, key)[1]
    while level < WHOLE_FRAME and (found == MARK or (may_keep and not kept)):
        level += 1
        found = int64(-1)
        kept = view_key(arena, level, c, x, y, inner, key)
        if kept:
            found = find_row(store, key)[1]
    base, remainders, crossings, filtered = int64(0), int64(-1), int64(0), int64(0)
    crossed = longs(arena, At.CROSSED)
    if found < 0:
        arena[At.FRESH] += 1
        arena[At.CROSS_COUNT] = 0
        row = words(arena[At.SCRATCH_ROW], width + 1)
        arena[At.FILTER_ON] = 0
        arena[At.BEYOND], arena[At.VIEW_FRAME] = 0, inner if kind == Kind.KEY else -1
        if is_object:
            arena[At.VIEW_SEEN] = seen_at_end(arena, c, x, inner)
        base, remainders = make_row(arena, c, x, y, inner, row)
        crossings = arena[At.CROSS_COUNT]
        filtered = arena[At.FILTER_ON]
        missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
        if missing[0] != 0 or arena[At.WANTED] != 0:
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            return  # the row is not right: it will be made again
        if kept:
            beyond = arena[At.BEYOND]
            least = (
                int64(WHOLE_FRAME) if beyond & FURTHER != 0 else int64(BEHIND_VIEW) if beyond != 0 else int64(KEY_VIEW)
            )
            while kept and level < least:
                level += 1
                kept = mark_row(arena, store, key) and view_key(arena, level, c, x, y, inner, key)
            if kept:
                keep_row(arena, store, key, find_row(store, key)[0], base, remainders, row)
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        if strikes:
            strike_others(arena, c, x, y, f, row)
        if suspects:
            try_suspects(arena, c, x, y, f, row)
        put(first, out, row, width)
    else:
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        pool = words(store[Store.POOL], int64(1 << 40))
        base, exceptions = int64(pool[found]), int64(pool[found + 1])
        crossings, remainders = int64(pool[found + 2]), int64(pool[found + 3])
        source = words(longs(arena, At.BASES)[base], width)
        filtered = int64(pool[found + 4])
        at = found + 5
        if crossings >= arena[At.CROSS_CAPACITY]:
            arena[At.WANTED] |= GROW_CROSSED
            return
        row = out if first else words(arena[At.SCRATCH_ROW], width)
        copy_bytes(row.ctypes.data, source.ctypes.data, 4 * width)
        for i in range(exceptions):
            row[pool[at + 2 * i]] ^= pool[at + 2 * i + 1]
        if strikes:
            strike_others(arena, c, x, y, f, row)
        if suspects:
            try_suspects(arena, c, x, y, f, row)
        if not first:
            put(False, out, row, width)
        at += 2 * exceptions
        for i in range(crossings):
            crossed[3 * i] = int64(pool[at]) | int64(pool[at + 1]) << 40
            crossed[3 * i + 1], crossed[3 * i + 2] = int64(pool[at + 2]), int64(pool[at + 3])
            at += 4
        if filtered != 0:
            copy_bytes(arena[At.FILTER], store[Store.POOL] + 4 * at, 4 * filtered)
    target = out
    if filtered != 0 and kind == Kind.KEY and crossings > 0:
        target = words(arena[At.SECOND_ROW], width)
        for i in range(width):
            target[i] = 0
    for i in range(crossings):
        where = crossed[3 * i]
        cross(arena, where >> 40, where & 0xFFFFFFFF, crossed[3 * i + 1], crossed[3 * i + 2], outer, target)
    if filtered != 0 and kind == Kind.KEY:
        if crossings > 0:
            count = arena[At.CLOSER_COUNT]
            keep_filtered(
                words(arena[At.FILTER], (count + 31) >> 5), words(arena[At.CLOSERS], 2 * count), count, target
            )
            put(False, out, target, width)
    elif filtered != 0:
        filtered_closers(arena, outer, out)
    if remainders >= 0:
        end_of_string(arena, remainders, with_item(arena, f, int64(0)) if kind == Kind.ENTRY else outer, out)


@part
def strike_others(arena, c, x, y, f, out):
    """Takes away what would repeat one of the frame's other keys."""
    spots = longs(arena, At.SPOTS)
    kind = c & 31
    if kind == Kind.KEY or kind == Kind.STRING:
        strike(arena, int64(-1), c, x, y, f, out)
        return
    at = y * Spot.LENGTH
    offsets, nodes = words(spots[at + Spot.OFFSETS], int64(257)), words(spots[at + Spot.NODES], int64(1 << 30))
    byte = int64(44) if kind == Kind.AFTER else int64(34)
    c2, x2, y2, f2 = step(arena, c, x, int64(CAN_START), f, byte, int64(0))
    for i in range(offsets[byte], offsets[byte + 1]):
        if c2 != DEAD:
            strike(arena, int64(nodes[i]), c2, x2, y2, f2, out)
        else:
            clear_below(arena, int64(nodes[i]), out)


@part
def try_suspects(arena, c, x, y, f, out):
    """Reads the few tokens that hold more than one key of an object, or item of an array, which all must differ: the row, and what
    is struck from it, know only the first."""
    program = longs(arena, At.PROGRAM)
    own = longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.ROW]
    first, last = int64(0), arena[At.SUSPECT_BEGINNINGS]
    if own & ARRAY_BIT:
        first, last = last, arena[At.SUSPECT_ITEMS]
    elif program[own + Object.LANGUAGE] == 0:
        last = arena[At.SUSPECT_COUNT]
    tokens = words(arena[At.SUSPECTS], arena[At.SUSPECT_ITEMS])
    offsets = carray(pointer(arena[At.OFFSETS]), arena[At.VOCABULARY] + 1, np.int64)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    for i in range(first, last):
        token = int64(tokens[i])
        if out[token >> 5] >> (token & 31) & 1:
            longs(arena, At.SET_A)[0] = c
            longs(arena, At.SET_A)[1] = x
            longs(arena, At.SET_A)[2] = y
            longs(arena, At.SET_A)[3] = f
            data, length = arena[At.DATA] + offsets[token], offsets[token + 1] - offsets[token]
            _, left = run_threads(arena, int64(1), data, length)
            if left == 0:
                out[token >> 5] &= ~(int32(1) << int32(token & 31))
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def thread_mask(arena, c, x, y, f, out, first):
    """Writes the thread's mask into `out`, or adds it."""
    program = longs(arena, At.PROGRAM)
    kind, width = c & 31, arena[At.BASE_WORDS]
    if kind == Kind.STRING and c >> 5 & 63 == 0:
        plain = x == 0
        if not plain and program[(c >> 11 & ROW) + 3] == 0:
            plain = is_universal(arena, x)
        if plain:
            if not is_unique(arena, f) or first:
                strings_mask(arena, c, x, y, f, out, first)
                if is_unique(arena, f):
                    strike(arena, int64(-1), c, x, y, f, out)
                    try_suspects(arena, c, x, y, f, out)
            else:
                other = words(arena[At.SCRATCH_ROW], width + 1)
                strings_mask(arena, c, x, y, f, other, True)
                strike(arena, int64(-1), c, x, y, f, other)
                try_suspects(arena, c, x, y, f, other)
                put(False, out, other, width)
            return
    ends = kind == Kind.AFTER
    if kind != Kind.AFTER:
        kept_mask(arena, c, x, y, f, out, first)
        first = False
        if kind == Kind.NUMBER:
            at = arena[At.PROGRAM]
            ends = number_ends(at + (c >> 11 & ROW) * 8, at, x, y)
            if ends and is_unique(arena, f):
                f = number_ended(arena, f)
                ends = f >= 0
    if ends:
        blank = y if kind == Kind.AFTER else int64(0)
        if f == NO_FRAME:
            spots = longs(arena, At.SPOTS)
            if spots[blank * Spot.LENGTH + Spot.MADE] == 0:
                arena[At.WANTED] |= WANT_SPOT | blank << 8
                return
            put(first, out, words(longs(arena, At.BASES)[spots[blank * Spot.LENGTH + Spot.BLANK_BASE]], width), width)
            if blanks(arena, blank, int64(4)) != 0:
                put(False, out, words(arena[At.STOP_ROW], width), width)
        else:
            kept_mask(arena, thread(Kind.AFTER, 0, 0, 0), int64(0), blank, f, out, first)


@part
def fill_mask(address, record, out_address):
    """Writes the mask of a config. 0: done; otherwise WANTED or MISSING say what is lacking, and the mask is not right."""
    arena = arena_of(address)
    out = words(out_address, arena[At.BASE_WORDS])
    records = longs(arena, At.RECORDS)
    missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
    arena[At.WANTED] = 0
    missing[0] = 0
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    first = True
    while record != 0:
        at = record * 5
        thread_mask(arena, records[at], records[at + 1], records[at + 2], records[at + 3], out, first)
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        first = False
        record = records[at + 4]
    twins = words(arena[At.TWINS], 2 * arena[At.TWIN_COUNT])
    for i in range(arena[At.TWIN_COUNT]):
        same, token = twins[2 * i + 1], twins[2 * i]
        if out[same >> 5] >> (same & 31) & 1:
            out[token >> 5] |= int32(1) << int32(token & 31)
    return arena[At.WANTED] | missing[0] | arena[At.FULL]


@part
def accepts(arena, c, x, y, f):
    if f != NO_FRAME:
        return False
    if c & 31 == Kind.AFTER:
        return blanks(arena, y, int64(4)) != 0  # not between a return and its newline
    at = arena[At.PROGRAM]
    return c & 31 == Kind.NUMBER and number_ends(at + (c >> 11 & ROW) * 8, at, x, y)


@part
def may_end(address, record):
    """May the text end here?"""
    arena = arena_of(address)
    records = longs(arena, At.RECORDS)
    while record != 0:
        at = record * 5
        if accepts(arena, records[at], records[at + 1], records[at + 2], records[at + 3]):
            return int64(1)
        record = records[at + 4]
    return int64(0)


@part
def new_record(arena, c, x, y, f, after):
    made = arena[At.RECORD_COUNT]
    if made + 1 >= arena[At.RECORD_CAPACITY]:
        arena[At.WANTED] |= GROW_RECORDS
        return int64(0)
    arena[At.RECORD_COUNT] = made + 1
    records = longs(arena, At.RECORDS)
    at = made * 5
    records[at], records[at + 1], records[at + 2], records[at + 3], records[at + 4] = c, x, y, f, after
    return made


@part
def add_thread(arena, threads, count, c, x, y, f):
    """One thread more of a config, unless it is there."""
    for i in range(count):
        at = 4 * i
        if threads[at] == c and threads[at + 1] == x and threads[at + 2] == y and same_frame(arena, threads[at + 3], f):
            return count
    if count >= WIDEST:
        arena[At.WANTED] |= TOO_WIDE
        return count
    at = 4 * count
    threads[at], threads[at + 1], threads[at + 2], threads[at + 3] = c, x, y, f
    return count + 1


@part
def read_bytes(address, record, data_address, length):
    """The config behind some bytes; 0: they are refused, or WANTED or MISSING say what is lacking."""
    arena = arena_of(address)
    records = longs(arena, At.RECORDS)
    missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
    arena[At.WANTED] = 0
    missing[0] = 0
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    count = int64(0)
    while record != 0:
        at = record * 5
        count = add_thread(
            arena, longs(arena, At.SET_A), count, records[at], records[at + 1], records[at + 2], records[at + 3]
        )
        record = records[at + 4]
    place, count = run_threads(arena, count, data_address, length)
    now = longs(arena, place)
    result = int64(0)
    for i in range(count - 1, -1, -1):
        at = 4 * i
        result = new_record(arena, now[at], now[at + 1], now[at + 2], now[at + 3], result)
    if result == 0 or missing[0] != 0 or arena[At.WANTED] != 0:
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        return int64(0)
    return result


@part
def run_threads(arena, count, data_address, length):
    """The threads in SET_A behind some bytes: where they are, SET_A or SET_B, and how many."""
    data = carray(pointer(data_address), length, np.uint8)
    done, place = int64(0), int64(At.SET_A)
    while done < length and count > 0 and arena[At.WANTED] & OUT_OF_ROOM == 0:
        byte = int64(data[done])
        made = int64(0)
        now, behind = longs(arena, place), longs(arena, At.SET_A + At.SET_B - place)
        for i in range(count):
            at = 4 * i
            way = int64(0)
            while arena[At.WANTED] & OUT_OF_ROOM == 0:
                c, x, y, f = step(arena, now[at], now[at + 1], now[at + 2], now[at + 3], byte, way)
                more = arena[At.MORE]
                if c != DEAD:
                    made = add_thread(arena, behind, made, c, x, y, f)
                if more == 0:
                    break
                way += 1
        place = At.SET_A + At.SET_B - place
        count = made
        done += 1
    return place, count


@part
def read_token(address, record, token):
    """The config behind a token, as read_bytes."""
    arena = arena_of(address)
    arena[At.WANTED] = 0
    carray(pointer(arena[At.MISSING]), 1, np.int64)[0] = 0
    if token < 0 or token >= arena[At.VOCABULARY]:
        return int64(0)
    if carray(pointer(arena[At.IS_TEXT]), arena[At.VOCABULARY], np.uint8)[token] == 0:
        return int64(0)
    offsets = carray(pointer(arena[At.OFFSETS]), arena[At.VOCABULARY] + 1, np.int64)
    return read_bytes(address, record, arena[At.DATA] + offsets[token], offsets[token + 1] - offsets[token])


@part
def base_row(address, c, x, y, row_address):
    """What hangs below the root for a thread before the barrier; crossings are left for the caller."""
    arena = arena_of(address)
    row = words(row_address, arena[At.BASE_WORDS])
    arena[At.CROSS_COUNT] = 0
    walk(arena, int64(0), int64(-1), c, x, y, int64(BARRIER), row)
    return arena[At.CROSS_COUNT]


@part
def rehash(address, table_address, size):
    """Puts the entries of an old table into the store, which has room for them."""
    store = carray(pointer(address), int64(Store.LENGTH), np.int64)
    old = carray(pointer(table_address), 1 << 40, np.int64)
    table = carray(pointer(store[Store.TABLE]), 1 << 40, np.int64)
    for i in range(size):
        at = i * (KEY_WORDS + 1)
        if old[at + KEY_WORDS] != -1:
            key = carray(pointer(table_address + 8 * at), int64(KEY_WORDS), np.int64)
            place = find_row(store, key)[0]
            for j in range(KEY_WORDS + 1):
                table[place + j] = old[at + j]
            store[Store.COUNT] += 1
    return store[Store.COUNT]


FILL, ADVANCE, READ, ENDS, BASE, BELOW, SURVEY, REHASH = range(8)


@kernel("int64(int64, int64, int64, int64, int64)", large=True, holds_gil=True, seconds=30)
def json_call(address, what, first, second, third):
    """One kernel for all, since all hold the step, which takes long to compile:

    FILL     record, mask row            writes the mask        ADVANCE  record, token           the record behind it
    ENDS     record                      may the text end?      READ     record, bytes, length   likewise
    BASE     thread word, x, row         a row of the vocabulary's, from the root
    BELOW    node, thread word, row      the same, below a node of the trie
    SURVEY   survey                      where tokens lead to (json_ends.py)
    REHASH   table, its size             puts a table's rows into the store named first
    """
    if what == FILL:
        return fill_mask(address, first, second)
    if what == ADVANCE:
        return read_token(address, first, second)
    if what == READ:
        return read_bytes(address, first, second, third)
    if what == ENDS:
        return may_end(address, first)
    if what == SURVEY:
        return survey_tokens(address, first)
    if what == REHASH:
        return rehash(address, first, second)
    arena = arena_of(address)
    if what == BASE:
        return base_row(address, first, second, int64(0), third)
    row = words(third, arena[At.BASE_WORDS])
    arena[At.CROSS_COUNT] = 0
    visit(arena, first, second, int64(0), int64(0), int64(BARRIER), row)
    return arena[At.CROSS_COUNT]
