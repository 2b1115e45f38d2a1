"""The mask of a JSON text: which tokens may come next.

The mask of a config is the union of its threads' masks. A thread's mask is a cached **row**, plus the effect of the frames around
it, walked at each call:

    base row        a row of the vocabulary, shared by all schemas: the body of a string, white space, ...
    exceptions      pairs (word, bits that differ)
    remainders      tokens that close a string: the parts after the quote form a small trie
    crossings       places in tries where a token left the frame
    whole masks     cache for texts inside a string: the next token is most likely masked the same

kernels/cpu/json/rows/rows.py defines the keys of rows and stores them; here they are computed and used.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.json.rows.closers import (
    cross,
    end_of_string,
    filtered_closers,
    inner_frame,
    keep_filtered,
    put,
    store_of,
    strings_mask,
)
from grammarlm.kernels.cpu.json.rows.make import make_row
from grammarlm.kernels.cpu.json.rows.rows import (
    BEHIND_VIEW,
    KEY_VIEW,
    KEY_WORDS,
    MARK,
    WHOLE_FRAME,
    find_row,
    keep_row,
    mark_row,
    seen_at_end,
    view_key,
    words,
)
from grammarlm.kernels.cpu.json.rows.walk import GROW_CROSSED, clear_below, strike
from grammarlm.kernels.cpu.json.step.arrays import with_item
from grammarlm.kernels.cpu.json.step.languages import is_universal
from grammarlm.kernels.cpu.json.step.numbers import number_ends
from grammarlm.kernels.cpu.json.step.step import NO_LANGUAGE, ROW, blanks, gap_state, step
from grammarlm.kernels.cpu.json.step.unique import is_unique, number_ended
from grammarlm.layout.json import (
    ARRAY_BIT,
    BARRIER,
    CAN_START,
    DEAD,
    FURTHER,
    NO_FRAME,
    SHARED_BIT,
    At,
    Frame,
    Kind,
    Object,
    Spot,
    Store,
)

from .places import arena_of, longs, thread
from .reads import run_threads, verdict

WANT_SPOT = 2  # bit of WANTED; with a number above bit 8
FULL_STORE = 1
WHOLE_MASKS = 64  # size of the cache of whole masks, of all texts: as many as there may be texts in a batch


@part
def kept_mask(arena, c, x, y, f, out, first):
    """The mask of a thread from its row, which is cached or computed now."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    kind, width = c & 31, arena[At.BASE_WORDS]
    in_frame = kind == Kind.AFTER or kind == Kind.KEYS or kind == Kind.KEY or kind == Kind.ENTRY
    if in_frame or kind == Kind.VALUE or kind == Kind.COLON:
        spot = gap_state(arena, c, y, f) if kind != Kind.KEY else int64(CAN_START)
        if kind != Kind.KEY and longs(arena, At.SPOTS)[spot * Spot.LENGTH + Spot.MADE] == 0:
            arena[At.WANTED] |= WANT_SPOT | spot << 8
            return
    unique = is_unique(arena, f)
    own = frames[f * Frame.LENGTH + Frame.ROW] & ROW if in_frame else c >> 11 & ROW
    shared = own < arena[At.SHARED_END] and kind != Kind.WORD
    shared = shared and (kind != Kind.STRING or x == 0 or x & SHARED_BIT != 0)
    store = store_of(arena, shared)
    # What repeats a key is removed from this thread's own row: another thread may allow it.
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
    key = carray(pointer(arena[At.SET_A]), int64(KEY_WORDS), np.int64)
    level, found = int64(WHOLE_FRAME), int64(-1)
    # The number of keys left depends on those that were read: such rows are not cached.
    may_keep = not unique and not counts_others
    if is_object and kind == Kind.KEY and c >> 35 == NO_LANGUAGE:
        level = int64(KEY_VIEW)
    elif is_object and (kind == Kind.KEY or kind == Kind.AFTER):
        level = int64(BEHIND_VIEW)  # some tokens that end an undeclared key also end its value
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
            return  # the row is invalid: it will be recomputed
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
    """Removes what would repeat one of the frame's other keys."""
    spots = longs(arena, At.SPOTS)
    kind = c & 31
    if kind == Kind.KEY or kind == Kind.STRING:
        strike(arena, int64(-1), c, x, y, f, out)
        return
    at = gap_state(arena, c, y, f) * Spot.LENGTH
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
    """Reads the few tokens that hold more than one key of an object, or item of an array, if all must differ: the row, and
    `strike`, take only the first into account.
    """
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
    """Writes the thread's mask into `out`, or ORs it."""
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
            spots, blank = longs(arena, At.SPOTS), gap_state(arena, thread(Kind.AFTER, 0, 0, 0), blank, f)
            if spots[blank * Spot.LENGTH + Spot.MADE] == 0:
                arena[At.WANTED] |= WANT_SPOT | blank << 8
                return
            put(first, out, words(longs(arena, At.BASES)[spots[blank * Spot.LENGTH + Spot.BLANK_BASE]], width), width)
            if blanks(arena, blank, int64(4)) != 0:
                put(False, out, words(arena[At.STOP_ROW], width), width)
        else:
            kept_mask(arena, thread(Kind.AFTER, 0, 0, 0), int64(0), blank, f, out, first)


@inlined
def stays_whole(arena, records, record):
    """Is it a single thread in a string? A text stays there for a while and requests the same mask repeatedly."""
    c = records[record * 5]
    return arena[At.SERIAL] != 0 and c & 31 == Kind.STRING and c >> 5 & 63 == 0 and records[record * 5 + 4] == 0


@part
def whole_row(arena, record):
    """The address of the record's cached whole mask; 0 if there is none."""
    serial = arena[At.SERIAL]
    place = (serial + record) & (WHOLE_MASKS - 1)
    tags = longs(arena, At.WHOLE_TAGS)
    if tags[2 * place] != serial or tags[2 * place + 1] != record:
        return int64(0)
    return arena[At.WHOLE_ROWS] + place * 4 * arena[At.BASE_WORDS]


@part
def keep_whole(arena, record, out_address):
    serial = arena[At.SERIAL]
    place = (serial + record) & (WHOLE_MASKS - 1)
    tags = longs(arena, At.WHOLE_TAGS)
    tags[2 * place], tags[2 * place + 1] = serial, record
    size = 4 * arena[At.BASE_WORDS]
    copy_bytes(arena[At.WHOLE_ROWS] + place * size, out_address, size)


@part
def fill_mask(address, record, out_address):
    """Writes the mask of a config. 0: done; FULL_STORE: done, but a row found no room; LACKING or TOO_MANY: the mask is invalid."""
    arena = arena_of(address)
    out = words(out_address, arena[At.BASE_WORDS])
    records = longs(arena, At.RECORDS)
    missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
    arena[At.WANTED] = 0
    missing[0] = 0
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    first, whole = True, record
    if stays_whole(arena, records, record):
        kept = whole_row(arena, record)
        if kept != 0:
            copy_bytes(out_address, kept, 4 * arena[At.BASE_WORDS])
            return int64(0)
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
    found = verdict(arena)
    if found == 0:
        if stays_whole(arena, records, whole):
            keep_whole(arena, whole, out_address)
        found = int64(FULL_STORE) if arena[At.FULL] != 0 else int64(0)
    return found
