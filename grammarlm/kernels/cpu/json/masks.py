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
from numba import carray, int64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.json.rows.closers import (
    cross,
    end_of_string,
    filtered_closers,
    inner_frame,
    keep_filtered,
    store_of,
    strings_mask,
)
from grammarlm.kernels.cpu.json.rows.correct import strike
from grammarlm.kernels.cpu.json.rows.make import make_row
from grammarlm.kernels.cpu.json.rows.rows import (
    AFTER_VIEW,
    KEY_VIEW,
    WHOLE_FRAME,
    emptied,
    find_level,
    keep_at_level,
    put,
    row_at,
    seen_at_end,
    take_row,
)
from grammarlm.kernels.cpu.json.rows.tries import clear_below
from grammarlm.kernels.cpu.json.step.arrays import with_item
from grammarlm.kernels.cpu.json.step.blanks import blanks, gap_state
from grammarlm.kernels.cpu.json.step.keys import obligations_of
from grammarlm.kernels.cpu.json.step.languages import is_universal
from grammarlm.kernels.cpu.json.step.numbers import number_ends
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.kernels.cpu.json.step.unique import is_unique, number_ended
from grammarlm.layout.json import (
    ARRAY_BIT,
    BARRIER,
    DEAD,
    NO_FRAME,
    NO_LANGUAGE,
    ROW,
    SHARED_BIT,
    At,
    Crossing,
    Frame,
    Gap,
    KeptRow,
    Kind,
    Object,
    Spot,
    Store,
    Want,
)
from grammarlm.layout.json_calls import FULL_STORE, KEY_WORDS, WHOLE_MASKS

from .fields import arena_of, clear_bit, has_bit, ints, is_short, longs, set_bit, thread
from .reads import run_threads, verdict


@part
def kept_mask(arena, c, x, y, f, out, first):
    """The mask of a thread from its row, which is cached or computed now."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    kind, width = c & 31, arena[At.BASE_WORDS]
    in_frame = kind == Kind.AFTER or kind == Kind.KEYS or kind == Kind.KEY or kind == Kind.ENTRY
    if in_frame or kind == Kind.VALUE or kind == Kind.COLON:
        spot = gap_state(arena, c, y, f) if kind != Kind.KEY else int64(Gap.CAN_START)
        if kind != Kind.KEY and longs(arena, At.SPOTS)[spot * Spot.LENGTH + Spot.MADE] == 0:
            arena[At.WANTED] |= Want.SPOT | spot << 8
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
    # Whether a value meets obligations of its object depends on the real frame, and so does what may follow it.
    obliged = (kind == Kind.VALUE or kind == Kind.COLON) and obligations_of(arena, f) != 0
    outer, inner = f, f if unique or obliged else int64(BARRIER)
    if in_frame:
        outer = frames[f * Frame.LENGTH]
        if not unique:
            inner = inner_frame(arena, f)
            if counts_others:
                frames[inner * Frame.LENGTH + Frame.OTHERS] = frames[f * Frame.LENGTH + Frame.OTHERS]
    key = carray(pointer(arena[At.SET_A]), int64(KEY_WORDS), np.int64)
    level, kept, found = int64(WHOLE_FRAME), False, int64(-1)
    # The number of keys left depends on those that were read, obligations on their values: such rows are not cached.
    may_keep = not unique and not counts_others and not obliged
    if is_object:
        may_keep = may_keep and program[own + Object.OBLIGATIONS] == 0
    if is_object and kind == Kind.KEY and c >> 35 == NO_LANGUAGE:
        level = int64(KEY_VIEW)
    elif is_object and (kind == Kind.KEY or kind == Kind.AFTER):
        level = int64(AFTER_VIEW)  # some tokens that end an undeclared key also end its value
    if may_keep:
        level, kept, found = find_level(arena, store, level, c, x, y, inner, key)
    base, remainders, crossings, filtered = int64(0), int64(-1), int64(0), int64(0)
    crossed = longs(arena, At.CROSSED)
    if found < 0:
        arena[At.CROSS_COUNT] = 0
        row = ints(arena, At.SCRATCH_ROW)
        arena[At.FILTER_ON] = 0
        arena[At.BEYOND], arena[At.VIEW_FRAME] = 0, inner if kind == Kind.KEY else -1
        if is_object:
            arena[At.VIEW_SEEN] = seen_at_end(arena, c, x, inner)
        base, remainders = make_row(arena, c, x, y, inner, row)
        crossings = arena[At.CROSS_COUNT]
        filtered = arena[At.FILTER_ON]
        if is_short(arena):
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            return  # the row is invalid: it will be recomputed
        if kept:
            keep_at_level(arena, store, level, c, x, y, inner, key, base, remainders, row)
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    else:
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        pool = ints(store, Store.POOL)
        crossings, remainders = int64(pool[found + KeptRow.CROSSINGS]), int64(pool[found + KeptRow.REMAINDERS])
        filtered = int64(pool[found + KeptRow.FILTER])
        if crossings >= arena[At.CROSS_CAPACITY]:
            arena[At.WANTED] |= Want.CROSSED
            return
        row = out if first else ints(arena, At.SCRATCH_ROW)
        arena[At.CROSS_COUNT] = 0
        at = take_row(arena, store, found, row)
        copy_bytes(arena[At.FILTER], store[Store.POOL] + 4 * at, 4 * filtered)
    if strikes:
        strike_others(arena, c, x, y, f, row)
    if suspects:
        try_suspects(arena, c, x, y, f, row)
    if not first or found < 0:
        put(first, out, row, width)
    target = out
    if filtered != 0 and kind == Kind.KEY and crossings > 0:
        target = emptied(ints(arena, At.SECOND_ROW), width)
    for i in range(crossings):
        at = i * Crossing.LENGTH
        node, trie = crossed[at + Crossing.NODE], crossed[at + Crossing.TRIE]
        cross(arena, trie, node, crossed[at + Crossing.BLANKS], crossed[at + Crossing.HOW], outer, target)
    if filtered != 0 and kind == Kind.KEY:
        if crossings > 0:
            keep_filtered(arena, target)
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
    offsets, nodes = ints(spots, at + Spot.OFFSETS), ints(spots, at + Spot.NODES)
    byte = int64(44) if kind == Kind.AFTER else int64(34)
    c2, x2, y2, f2 = step(arena, c, x, int64(Gap.CAN_START), f, byte, int64(0))
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
    tokens = ints(arena, At.SUSPECTS)
    offsets = longs(arena, At.OFFSETS)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    for i in range(first, last):
        token = int64(tokens[i])
        if has_bit(out, token):
            threads = longs(arena, At.SET_A)
            threads[0], threads[1], threads[2], threads[3] = c, x, y, f
            data, length = arena[At.DATA] + offsets[token], offsets[token + 1] - offsets[token]
            _, left = run_threads(arena, int64(1), data, length)
            if left == 0:
                clear_bit(out, token)
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
            if not is_unique(arena, f):
                strings_mask(arena, c, x, y, f, out, first)
                return
            row = out if first else ints(arena, At.SCRATCH_ROW)
            strings_mask(arena, c, x, y, f, row, True)
            strike(arena, int64(-1), c, x, y, f, row)
            try_suspects(arena, c, x, y, f, row)
            if not first:
                put(False, out, row, width)
            return
    ends = kind == Kind.AFTER
    if kind != Kind.AFTER:
        kept_mask(arena, c, x, y, f, out, first)
        first = False
        if kind == Kind.NUMBER:
            ends = number_ends(arena[At.PROGRAM] + (c >> 11 & ROW) * 8, x, y)
            if ends and is_unique(arena, f):
                f = number_ended(arena, f)
                ends = f >= 0
    if ends:
        blank = y if kind == Kind.AFTER else int64(0)
        if f == NO_FRAME:
            spots, blank = longs(arena, At.SPOTS), gap_state(arena, thread(Kind.AFTER, 0, 0, 0), blank, f)
            if spots[blank * Spot.LENGTH + Spot.MADE] == 0:
                arena[At.WANTED] |= Want.SPOT | blank << 8
                return
            put(first, out, ints(longs(arena, At.BASES), spots[blank * Spot.LENGTH + Spot.BLANK_BASE]), width)
            if blanks(arena, blank, int64(4)) != 0:
                put(False, out, ints(arena, At.STOP_ROW), width)
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
    slot = (serial + record) & (WHOLE_MASKS - 1)
    tags = longs(arena, At.WHOLE_TAGS)
    if tags[2 * slot] != serial or tags[2 * slot + 1] != record:
        return int64(0)
    return arena[At.WHOLE_ROWS] + slot * 4 * arena[At.BASE_WORDS]


@part
def keep_whole(arena, record, out_address):
    serial = arena[At.SERIAL]
    slot = (serial + record) & (WHOLE_MASKS - 1)
    tags = longs(arena, At.WHOLE_TAGS)
    tags[2 * slot], tags[2 * slot + 1] = serial, record
    size = 4 * arena[At.BASE_WORDS]
    copy_bytes(arena[At.WHOLE_ROWS] + slot * size, out_address, size)


@part
def fill_mask(address, record, out_address):
    """Writes the mask of a config. 0: done; FULL_STORE: done, but a row found no room; SHORT or TOO_MANY: the mask is invalid."""
    arena = arena_of(address)
    out = row_at(out_address)
    records = longs(arena, At.RECORDS)
    arena[At.WANTED] = longs(arena, At.MISSING)[0] = 0
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
    twins = ints(arena, At.TWINS)
    for i in range(arena[At.TWIN_COUNT]):
        same, token = twins[2 * i + 1], twins[2 * i]
        if has_bit(out, same):
            set_bit(out, token)
    found = verdict(arena)
    if found == 0:
        if stays_whole(arena, records, whole):
            keep_whole(arena, whole, out_address)
        found = int64(FULL_STORE) if arena[At.FULL] != 0 else int64(0)
    return found
