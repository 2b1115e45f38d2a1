"""Computes the row of one thread, independent of the frames around its own, by kind of position.

White space and what may follow it (`enter`), values, strings and keys of a language, declared keys and all others. A token that
leaves the frame is noted as a crossing. A row that misses something (a state, room) is recomputed.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.json.places import key_range, longs, thread
from grammarlm.kernels.cpu.json.step.arrays import array_row
from grammarlm.kernels.cpu.json.step.keys import with_other
from grammarlm.kernels.cpu.json.step.languages import after, case_of, goes_on_as_text, is_total, is_universal, table_of
from grammarlm.kernels.cpu.json.step.runs import ENDLESS_RUN, LETTERS_LOW, ask_for, base_of_run, run_of
from grammarlm.kernels.cpu.json.step.step import NO_LANGUAGE, ROW, gap_state, step
from grammarlm.kernels.cpu.json.step.unique import with_text
from grammarlm.layout.json import (
    BARRIER,
    BEHIND,
    CAN_START,
    DEAD,
    FIELD,
    FURTHER,
    INLINE,
    OUT_OF_ROOM,
    SHARED_BIT,
    Array,
    At,
    Frame,
    Kind,
    Object,
    Shape,
    Spot,
    Trie,
)

from .closers import BASE_BODY, BASE_ZERO, BODY_REMAINDERS, WANT_LIMITED, closers_behind, keep_filtered, store_of
from .language_walk import note_ends, run_language
from .rows import (
    BEHIND_VIEW,
    KEY_WORDS,
    MARK,
    WHOLE_FRAME,
    behind_view,
    copy_base,
    find_row,
    keep_row,
    mark_row,
    take_row,
    words,
)
from .walk import ANY_CASE, GROW_NOTED, bytes_before, clear_below, differ, filter_closers, is_of_case, visit, walk

OTHER_KEYS = -5  # in place of a thread, in the key of a row: any other key
FEW_LEFT = 8  # characters: with fewer left, a row has little of an ordinary string's body


@inlined
def is_plain_string(program, row):
    return program[row] == 0 and program[row + 1] < 0 and program[row + 2] == 0


@part
def enter(arena, spot, byte, c, x, y, f, row):
    """Adds all tokens of white space, the byte, and more: the thread is before them."""
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
    """`enter` for the quote, except for the alternative of an unrestricted string: the base row has it."""
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
    """White space and the beginning of a value, as allowed by a node's alternatives (or all ways to read an item)."""
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
        y = gap_state(arena, c, y, f)
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
    if kind == Kind.KEY and state != NO_LANGUAGE and state != 0:
        if table_of(arena, state)[(state & (SHARED_BIT - 1)) * 256] == 0:
            ask_for(arena, state)  # before computing anything that would be recomputed
            return base, remainders
    if kind == Kind.KEY and c >> 5 & 63 == 0 and state != NO_LANGUAGE and state != 0:
        if case == 0 or (is_universal(arena, state) and not is_of_case(arena, state, case)):
            if is_universal(arena, state):
                case = case_of(arena, state)
            elif case == 0 and is_total(arena, state):
                make_total_key(arena, c, x, y, f, own, row)
                return int64(BASE_BODY), remainders
            else:
                is_body = goes_on_as_text(arena, state)
                base = int64(BASE_BODY if is_body else BASE_ZERO)
                run, most, ends = int64(0), int64(0), False
                if not is_body:
                    run, most, ends = run_of(arena, state, int64(ENDLESS_RUN))
                    if run != 0:
                        base = base_of_run(arena, run, most)
                        run = run if base != BASE_ZERO else int64(0)
                copy_base(arena, base, row)
                make_key(arena, c, x, y, f, own, int64(0), is_body, run, most, ends, row)
                return base, remainders
    if kind == Kind.KEY and c >> 5 & 63 == 0 and state != NO_LANGUAGE:
        base = int64(BASE_BODY)
        node = program[own + Object.OTHERS] if state == 0 else program[program[own + Object.CASES] + case - 1]
        other_keys(arena, node, with_other(arena, f, y >> 24), own, f, row)
        if state != 0 and not is_of_case(arena, state, case):
            make_key(arena, c, x, y, f, own, case, False, int64(0), int64(0), False, row)
        elif x & FIELD < x >> 21 & FIELD:
            differ(arena, int64(-1), c, x, y, f, case, row)
        return base, remainders
    copy_base(arena, base, row)
    walk(arena, int64(0), int64(-1), c, x, y, f, row)
    return base, remainders


@part
def other_keys(arena, node, behind, own, f, row):
    """In a key without a place of its own, whose value has this node. The same for all such keys: cached if nothing is counted."""
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
def make_string(arena, c, x, y, f, own, row):
    """In a string of a language: the tokens that stay in it, and a filter of those that close it (crossings if unique).

    Returns the base row's index.
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
    left = arena[At.MOST_CHARACTERS]
    if program[own + 1] >= 0:
        left = min(left, program[own + 1] - (y >> 24))
    is_body = left >= FEW_LEFT and goes_on_as_text(arena, x)
    base = int64(BASE_BODY if is_body else BASE_ZERO)
    run, run_most, run_ends = int64(0), int64(0), False
    if not is_body:
        run, run_most, run_ends = run_in_string(arena, x, counted, left)
        if run != 0:
            base = base_of_run(arena, run, run_most)
            run = run if base != BASE_ZERO else int64(0)
    if carray(pointer(arena[At.MISSING]), 1, np.int64)[0] != 0:
        return base
    if is_body and left < arena[At.MOST_CHARACTERS]:
        body = longs(arena, At.LIMITED)[left]
        if body == 0:
            arena[At.WANTED] |= WANT_LIMITED | left << 8
            return base
        copy_bytes(row.ctypes.data, body, 4 * arena[At.BASE_WORDS])
    else:
        copy_base(arena, base, row)
    closings, escapes = run_language(
        arena, int64(-1), x, counted, y >> 24, int64(0), is_body, run, run_most, run_ends, row
    )
    if carray(pointer(arena[At.MISSING]), 1, np.int64)[0] != 0:
        return base
    if max(closings, escapes) > arena[At.NOTED_CAPACITY]:
        arena[At.WANTED] |= GROW_NOTED
        return base
    closed, escaped = longs(arena, At.CLOSED), longs(arena, At.ESCAPED)
    filtered = words(arena[At.FILTER], (arena[At.CLOSER_COUNT] + 31) >> 5)
    for i in range(len(filtered)):
        filtered[i] = 0
    closing, next_closing = words(arena[At.CLOSING], 3 * arena[At.CLOSING_COUNT]), int64(0)
    for i in range(closings):
        while closing[3 * next_closing] < closed[3 * i]:  # both are sorted, and every closing node is in the list
            next_closing += 1
        for j in range(closing[3 * next_closing + 1], closing[3 * next_closing + 1] + closing[3 * next_closing + 2]):
            filtered[j >> 5] |= int32(1) << int32(j & 31)
    arena[At.FILTER_ON] = 1 if closings > 0 else 0
    if f != BARRIER:  # the row is not cached: the real frame continues after the quote
        arena[At.FILTER_ON] = 0
        for i in range(closings):  # as if the string were new: `strike` corrects it
            visit(arena, closed[3 * i], thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f, row)
    for i in range(escapes):
        if is_body:
            clear_below(arena, escaped[3 * i], row)
        g = f if f == BARRIER else with_path(arena, escaped[3 * i], f)
        c2, x2, y2, f2 = step(
            arena, thread(Kind.STRING, 0, own, 0), escaped[3 * i + 1], escaped[3 * i + 2] << 24, g, int64(92), int64(0)
        )
        if c2 != DEAD:
            visit(arena, escaped[3 * i], c2, x2, y2, f2, row)
    return base


@part
def run_in_string(arena, state, counted, left):
    """`run_of`, if lengths do not interfere: none are constrained, or the string may end anywhere within the run."""
    run, most, ends = run_of(arena, state, left)
    if run != 0 and counted != 0 and longs(arena, At.PROGRAM)[counted + 3] != 0:
        letter = int64(0x61 if run & LETTERS_LOW == LETTERS_LOW else 0x41)
        behind = after(arena, state, letter)
        if case_of(arena, behind) == 0 or after(arena, behind, letter) != behind:
            run = int64(0)
    return run, most, ends


@part
def probe_strings(arena, node):
    """Notes missing first states of the languages of a node's strings."""
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
    """The frame of a unique item, extended by the bytes that lead from the root of the vocabulary's trie to the node's parent."""
    offset, above = bytes_before(arena, node)
    data = carray(pointer(arena[At.DATA]), 1 << 40, np.uint8)
    for i in range(above):
        f = with_text(arena, f, int64(data[offset + i]))
    return f


@part
def make_total_key(arena, c, x, y, f, own, row):
    """In a key of a language that any key can continue: the tokens that stay in a string, and a filter of those that close it."""
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
def make_key(arena, c, x, y, f, own, usual, is_body, run, run_most, run_ends, row):
    """In a key, where other keys are of a language. `usual` is the case that the row was computed for, 0: none."""
    program = longs(arena, At.PROGRAM)
    missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
    cases = program[own + Object.CASES]
    for i in range(program[own + Object.CASE_COUNT]):
        probe_strings(arena, program[cases + i])
    if missing[0] != 0:
        return  # the walk would have to restart
    state = c >> 35
    if usual != 0 and program[cases - 1] != 0 and table_of(arena, state)[(state & (SHARED_BIT - 1)) * 256 + 0x61] > 0:
        closings, escapes = note_ends(arena, state, usual)
    else:
        closings, escapes = run_language(
            arena, int64(-1), state, int64(0), int64(0), usual, is_body, run, run_most, run_ends, row
        )
    if usual == 0 and missing[0] != 0:
        return
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
        if usual != 0 or is_body:
            clear_below(arena, escaped[3 * i], row)
        if c2 != DEAD:
            visit(arena, escaped[3 * i], c2, x2, y2, f2, row)
    if x & FIELD < x >> 21 & FIELD:
        differ(arena, int64(-1), c, x, y, f, int64(ANY_CASE), row)


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
        # The key just read is unknown here; if it repeats another, `strike` removes it.
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
