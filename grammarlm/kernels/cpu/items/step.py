"""One beam search step over item sets: the children of all prefixes, with their scores, and the best of them.

Each search collects candidates until there are twice as many as it keeps; then the better half remains, and its worst key becomes
the threshold for the others. A prefix whose score is below it has no child that qualifies. expand.py finds the children of the
others.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer

from .best import RANKED, Parents, rank, room_for, sort_best_first
from .expand import NEVER, SLACK, expand, expand_rows, keep_better_half, offer, write_down
from .rows import BITS, END, LENGTH, NO_TOKEN, NOTHING, SHIFT, cell_at, low_column, next_child, take_ends

COUNTS, SCORES, ROWS, DEPTHS, RANGES, PARENTS, TOKENS, WIDTH = range(8)  # indices into Beams.addresses
SEGMENT, SELECTION = 9, 3  # sizes of their descriptions
FINISHED = -1  # in place of a row of logits
TIED = -1  # in place of a count


@part
def write_entries(candidates, count, out, search, rows, opened, open_rows):
    """Writes the entries of one search, best first. Returns how many are open in all searches so far."""
    width, segments = out[WIDTH], candidates.ranges.shape[1]
    start = search * width
    carray(pointer(out[COUNTS]), search + 1, np.int32)[search] = count
    scores = carray(pointer(out[SCORES]), start + width, np.float64)
    out_rows = carray(pointer(out[ROWS]), start + width, np.int32)
    depths = carray(pointer(out[DEPTHS]), start + width, np.int32)
    ranges = carray(pointer(out[RANGES]), (start + width, segments, 2), np.int64)
    parents = carray(pointer(out[PARENTS]), start + width, np.int32)
    tokens = carray(pointer(out[TOKENS]), start + width, np.int32)
    for place in range(count):
        slot, at = candidates.order[place], start + place
        scores[at], depths[at] = candidates.scores[slot], candidates.depths[slot]
        parents[at], tokens[at] = candidates.parents[slot], candidates.tokens[slot]
        out_rows[at] = FINISHED
        for s in range(segments):
            ranges[at, s, 0], ranges[at, s, 1] = candidates.ranges[slot, s, 0], candidates.ranges[slot, s, 1]
        if candidates.open[slot]:
            out_rows[at] = open_rows
            opened[0, open_rows], opened[1, open_rows] = candidates.tokens[slot], rows[candidates.parents[slot]]
            open_rows += 1
    return open_rows


@part
def fetch_first(segment, depth, counts, rows, ranges, logits, tokens, values):
    """The first child of each open entry, and its logit: for most entries of most levels there is no other.

    They are scattered in memory. Fetched one at a time during the expansion, each would stall on a cache miss; here the misses
    overlap.
    """
    shift, is_low = segment[SHIFT], segment[BITS] == 0
    low = low_column(segment, depth)
    for search in range(len(counts)):
        for entry in range(counts[search]):
            if rows[search, entry] != FINISHED:
                row = ranges[search, entry, 0, 0]
                tokens[search, entry] = (int64(low[row]) if is_low else cell_at(segment, depth, row)) - shift
    for search in range(len(counts)):
        for entry in range(counts[search]):
            if rows[search, entry] != FINISHED:
                values[search, entry] = logits[rows[search, entry], tokens[search, entry]]


@part
def order_single_rows(own, count, firsts, room):
    """Sorts one search's next entries if each open one has a single row, into room.order. Returns how many there are, or TIED.

    Each entry has at most one child, so all of them are kept. If two keys are equal their tokens decide, which is not done here.
    """
    rows, scores, _, _ = own
    logits, norms = firsts
    keys, entries, order = room
    kept = 0
    for entry in range(count):
        key = scores[entry]
        if rows[entry] != FINISHED:
            gain = logits[entry] - (norms[rows[entry]] if len(norms) else 0.0)
            if not gain > NEVER:
                continue
            key += gain
        keys[kept], entries[kept] = key, entry
        kept += 1
    return int64(kept if rank(keys, kept, order) else TIED)


@part
def write_single_rows(segment, depth, own, tokens, kept, room, out, search, opened, open_rows):
    """Writes the entries sorted by `order_single_rows`. Returns how many are open in all searches so far."""
    rows, _, depths, ranges = own
    keys, entries, order = room
    start = search * out[WIDTH]
    carray(pointer(out[COUNTS]), search + 1, np.int32)[search] = kept
    out_scores = carray(pointer(out[SCORES]), start + kept, np.float64)
    out_rows = carray(pointer(out[ROWS]), start + kept, np.int32)
    out_depths = carray(pointer(out[DEPTHS]), start + kept, np.int32)
    out_ranges = carray(pointer(out[RANGES]), (start + kept, 2), np.int64)
    parents = carray(pointer(out[PARENTS]), start + kept, np.int32)
    out_tokens = carray(pointer(out[TOKENS]), start + kept, np.int32)
    is_last, may_end = depth + 1 >= segment[LENGTH], segment[SHIFT] != 0
    for place in range(kept):
        entry, at = entries[order[place]], start + place
        out_scores[at], parents[at], out_rows[at] = keys[order[place]], entry, FINISHED
        out_ranges[at, 0], out_ranges[at, 1] = ranges[entry, 0, 0], ranges[entry, 0, 1]
        if rows[entry] == FINISHED:
            out_depths[at], out_tokens[at] = depths[entry], NO_TOKEN
            continue
        out_depths[at], out_tokens[at] = depth + 1, tokens[entry]
        if not (is_last or (may_end and cell_at(segment, depth + 1, ranges[entry, 0, 0]) == END)):
            out_rows[at] = open_rows
            opened[0, open_rows], opened[1, open_rows] = tokens[entry], rows[entry]
            open_rows += 1
    return open_rows


@inlined
def are_single(rows, ranges, count):
    """Does each open entry have a single row?"""
    single = True
    for entry in range(count):
        single = single and (rows[entry] == FINISHED or ranges[entry, 0, 1] - ranges[entry, 0, 0] == 1)
    return single


@kernel(
    "int64(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64)",
    seconds=12,
)
def best_entries(
    segments_address,
    parts,
    selections_address,
    searches,
    beams_address,
    out_address,
    logits_address,
    logits_rows,
    logits_width,
    norms_address,
    penalties_address,
    opened_address,
    address,
    depth,
    width,
    stop,
):
    """`item_step` of kernels/reference/items.py on the arrays of its arguments. Returns how many entries are open.

    `opened`, int64 [2, searches * width], receives the tokens appended to open entries, and their parents' rows. `address` is that
    of scratch memory; the addresses of absent norms and penalties are 0.
    """
    logits = carray(pointer(logits_address), (logits_rows, logits_width), np.float32)
    opened = carray(pointer(opened_address), (2, searches * width), np.int64)
    segments = carray(pointer(segments_address), (parts, SEGMENT), np.int64)
    selections = carray(pointer(selections_address), (searches, parts, SELECTION), np.int64)
    beams, out = carray(pointer(beams_address), WIDTH + 1, np.int64), carray(pointer(out_address), WIDTH + 1, np.int64)
    entries = beams[WIDTH]
    norms = carray(pointer(norms_address), logits.shape[0] if norms_address else 0, np.float64)
    penalties = logits.shape[1] if penalties_address else 0
    counts = carray(pointer(beams[COUNTS]), searches, np.int32)
    scores = carray(pointer(beams[SCORES]), (searches, entries), np.float64)
    rows = carray(pointer(beams[ROWS]), (searches, entries), np.int32)
    depths = carray(pointer(beams[DEPTHS]), (searches, entries), np.int32)
    ranges = carray(pointer(beams[RANGES]), (searches, entries, parts, 2), np.int64)
    candidates = room_for(address, width, parts)
    address += 8 * (2 * width + 2) * (9 + 2 * parts)
    scratch = (
        carray(pointer(address), parts, np.int64),
        carray(pointer(address + 8 * parts), parts, np.int64),
        carray(pointer(address + 16 * parts), (parts, 2), np.int64),
        carray(pointer(address + 32 * parts), (parts, 2), np.int64),
    )
    address += 48 * parts
    first_tokens = carray(pointer(address), (searches, entries), np.int64)
    first_logits = carray(pointer(address + 8 * searches * entries), (searches, entries), np.float64)
    address += 16 * searches * entries
    room = (
        carray(pointer(address), entries, np.float64),
        carray(pointer(address + 8 * entries), entries, np.int64),
        carray(pointer(address + 16 * entries), entries, np.int64),
    )
    is_plain = parts == 1 and stop < 0
    if is_plain:
        fetch_first(segments[0], depth, counts, rows, ranges, logits, first_tokens, first_logits)
    open_rows = int64(0)
    for search in range(searches):
        if (
            is_plain
            and penalties == 0
            and counts[search] <= min(width, RANKED)
            and are_single(rows[search], ranges[search], counts[search])
        ):
            own = (rows[search], scores[search], depths[search], ranges[search])
            firsts = (first_logits[search], norms)
            kept = order_single_rows(own, counts[search], firsts, room)
            if kept != TIED:
                open_rows = write_single_rows(
                    segments[0], depth, own, first_tokens[search], kept, room, out, search, opened, open_rows
                )
                continue
        for slot in range(2 * width + 2):
            candidates.order[slot] = slot
        parents = Parents(depths[search], ranges[search])
        level = (segments, selections, depth, stop, parents)
        costs = carray(pointer(penalties_address + 4 * search * penalties), penalties, np.float32)
        count, worst = int64(0), NEVER  # no candidate with a lesser key is kept
        for entry in range(counts[search]):
            score, row, own = scores[search, entry], rows[search, entry], ranges[search, entry]
            if score + SLACK < worst:
                continue
            if row == FINISHED:
                if score >= worst:
                    count = write_down(candidates, count, score, score, entry, NO_TOKEN, depths[search, entry], 0, own)
                    count, worst = keep_better_half(candidates, count, worst, parents, segments)
                continue
            taken = (norms[row] if len(norms) else 0.0, costs)
            at = (search, entry, score)
            if is_plain and own[0, 1] - own[0, 0] == 1:
                gain = first_logits[search, entry] - taken[0]
                token = first_tokens[search, entry]
                key = score + gain - costs[token] if len(costs) else score + gain
                if gain > NEVER and key >= worst:
                    count, worst = keep_better_half(candidates, count, worst, parents, segments)
                    child, ends = scratch[2], scratch[3]
                    child[0, 0], child[0, 1] = own[0, 0], own[0, 1]
                    count = offer(candidates, count, level, (search, entry, score + gain), token, child, ends, key)
            elif is_plain:
                count, worst = expand_rows(candidates, count, worst, level, at, logits[row], taken, own, scratch)
            else:
                count, worst = expand(candidates, count, worst, level, at, logits[row], taken, own, scratch)
        sort_best_first(candidates, count, parents, segments)
        count = min(count, int64(width))
        open_rows = write_entries(candidates, count, out, search, rows[search], opened, open_rows)
    return open_rows


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64)", seconds=3)
def norms_of_allowed(
    segments_address,
    parts,
    selections_address,
    searches,
    beams_address,
    logits_address,
    logits_rows,
    logits_width,
    norms_address,
    depth,
    stop,
):
    """`allowed_norms` of kernels/reference/items.py: a streaming log-sum-exp."""
    segments = carray(pointer(segments_address), (parts, SEGMENT), np.int64)
    selections = carray(pointer(selections_address), (searches, parts, SELECTION), np.int64)
    beams = carray(pointer(beams_address), WIDTH + 1, np.int64)
    logits = carray(pointer(logits_address), (logits_rows, logits_width), np.float32)
    norms = carray(pointer(norms_address), logits_rows, np.float64)
    count_of_segments, entries = parts, beams[WIDTH]
    counts = carray(pointer(beams[COUNTS]), searches, np.int32)
    rows = carray(pointer(beams[ROWS]), (searches, entries), np.int32)
    ranges = carray(pointer(beams[RANGES]), (searches, entries, count_of_segments, 2), np.int64)
    pos, end = np.empty(count_of_segments, np.int64), np.empty(count_of_segments, np.int64)
    child = np.empty((count_of_segments, 2), np.int64)
    for search in range(searches):
        for entry in range(counts[search]):
            row = rows[search, entry]
            if row == FINISHED:
                continue
            for s in range(count_of_segments):
                pos[s], end[s] = ranges[search, entry, s, 0], ranges[search, entry, s, 1]
            peak, total = NEVER, 0.0  # the largest so far, and the sum of exp(logit - peak)
            token = int64(stop)
            if stop < 0 or not take_ends(segments, selections[search], depth, pos, end, child):
                token = next_child(segments, selections[search], depth, pos, end, child)
            while token != NOTHING:
                logit = np.float64(logits[row, token])
                if logit > peak:
                    total = total * np.exp(peak - logit) + 1.0
                    peak = logit
                elif logit > NEVER:
                    total += np.exp(logit - peak)
                token = next_child(segments, selections[search], depth, pos, end, child)
            norms[row] = peak + np.log(total) if total > 0 else NEVER
