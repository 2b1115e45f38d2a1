"""One step of a search over item sets: the children of all prefixes, with their scores, and the best of them.

Each search keeps a heap of the best entries so far. A prefix whose score is already worse than all of them has no child that
counts. The others' children are read from their rows, run by run; but where the heap is full and a prefix has many rows, the
question is turned round: 64 log-probabilities at a time are compared with what the worst entry kept asks for, and only the few
tokens that reach it are looked up in the rows. So a level with thousands of children a prefix costs little more than reading its
logits.
"""

import numpy as np
from numba import carray, float32, int64

from ..item_arrays import Beams, Level, Sets
from .item_heap import Parents, new_heap, push, sort_best_first
from .item_rows import NO_TOKEN, NOTHING, child_of, end_of_ends, next_child, next_selected, take_ends
from .jit import kernel, part, pointer

COUNTS, SCORES, ROWS, DEPTHS, RANGES, PARENTS, TOKENS, WIDTH = range(8)  # of the addresses of Beams
BLOCK = 64  # log-probabilities compared at once
SLACK = 1e-3  # by which a log-probability may exceed 0, and a float32 its float64
NEVER = -np.inf
FINISHED = -1  # in place of a row of logits


@part
def log_probability(logits, norms, row, token):
    """Of a token; not greater than NEVER (or NaN) where it is never taken."""
    value = np.float64(logits[row, token])
    return value - norms[row] if len(norms) else value


@part
def offer(heap, level, entry, token, child, ends, search):
    """Offers the child of an open entry: as an item where rows end here, as a prefix where rows go on."""
    segments, selections, parents, settings, logits, norms, penalties, scores, rows = level
    depth, width, stop = settings[0], settings[1], settings[2]
    gain = log_probability(logits, norms, rows[search, entry], token)
    if not gain > NEVER:
        return
    score = scores[search, entry] + gain
    key = score - penalties[search, token] if len(penalties) else score
    if heap.count[0] == width and key < heap.keys[heap.order[0]]:
        return
    is_end, is_open = False, stop >= 0
    if not is_open:
        for s in range(len(segments)):
            ends[s, 0], ends[s, 1] = 0, 0
            if child[s, 0] < child[s, 1]:
                behind = end_of_ends(segments[s], depth + 1, child[s, 0], child[s, 1])
                if behind > child[s, 0]:
                    ends[s, 0], ends[s, 1] = child[s, 0], behind
                    child[s, 0] = next_selected(selections[search, s], behind, child[s, 1])
                    is_end = True
                is_open = is_open or child[s, 0] < child[s, 1]
    if is_end:
        fill_slot(heap, key, score, entry, token, depth + 1, 0)
        push(heap, width, ends, parents, segments)
    if is_open:
        fill_slot(heap, key, score, entry, token, depth + 1, 1)
        push(heap, width, child, parents, segments)


@part
def fill_slot(heap, key, score, parent, token, depth, is_open):
    slot = heap.order[heap.count[0]]
    heap.keys[slot], heap.scores[slot], heap.parents[slot] = key, score, parent
    heap.tokens[slot], heap.depths[slot], heap.open[slot] = token, depth, is_open


@part
def expand(heap, level, search, entry, scratch):
    """Offers all that an open entry may become."""
    segments, selections, parents, settings, logits, norms, _, scores, rows = level
    depth, width, stop = settings[0], settings[1], settings[2]
    pos, end, child, ends = scratch
    score, row = scores[search, entry], rows[search, entry]
    if heap.count[0] == width and score + SLACK < heap.keys[heap.order[0]]:
        return
    for s in range(len(segments)):
        pos[s], end[s] = parents.ranges[entry, s, 0], parents.ranges[entry, s, 1]
    if stop >= 0 and take_ends(segments, selections[search], depth, pos, end, child):
        gain = log_probability(logits, norms, row, stop)
        if gain > NEVER:
            fill_slot(heap, score + gain, score + gain, entry, int64(NO_TOKEN), depth, 0)
            push(heap, width, child, parents, segments)
    vocabulary = logits.shape[1]
    while True:
        if heap.count[0] == width:
            left = int64(0)
            for s in range(len(segments)):
                left += end[s] - pos[s]
            if left > vocabulary >> 3:
                break
        token = next_child(segments, selections[search], depth, pos, end, child)
        if token == NOTHING:
            return
        offer(heap, level, entry, token, child, ends, search)
    norm = norms[row] if len(norms) else 0.0
    line = logits[row]
    for start in range(0, vocabulary, BLOCK):
        asked = heap.keys[heap.order[0]] - score + norm
        least = float32(asked - SLACK - 1e-6 * abs(asked))
        stop_at = min(start + BLOCK, vocabulary)
        reached = 0
        for token in range(start, stop_at):
            reached += line[token] >= least
        if reached:
            for token in range(start, stop_at):
                if line[token] >= least and child_of(segments, selections[search], depth, token, pos, end, child):
                    offer(heap, level, entry, int64(token), child, ends, search)


@part
def write_entries(heap, count, out, search, rows, opened, open_rows):
    """Writes the entries of one search, the best first; how many are open in all searches so far."""
    width, segments = out[WIDTH], heap.ranges.shape[1]
    start = search * width
    carray(pointer(out[COUNTS]), search + 1, np.int32)[search] = count
    scores = carray(pointer(out[SCORES]), start + width, np.float64)
    out_rows = carray(pointer(out[ROWS]), start + width, np.int32)
    depths = carray(pointer(out[DEPTHS]), start + width, np.int32)
    ranges = carray(pointer(out[RANGES]), (start + width, segments, 2), np.int64)
    parents = carray(pointer(out[PARENTS]), start + width, np.int32)
    tokens = carray(pointer(out[TOKENS]), start + width, np.int32)
    for place in range(count):
        slot, at = heap.order[place], start + place
        scores[at], depths[at] = heap.scores[slot], heap.depths[slot]
        parents[at], tokens[at] = heap.parents[slot], heap.tokens[slot]
        out_rows[at] = FINISHED
        for s in range(segments):
            ranges[at, s, 0], ranges[at, s, 1] = heap.ranges[slot, s, 0], heap.ranges[slot, s, 1]
        if heap.open[slot]:
            out_rows[at] = open_rows
            opened[0, open_rows], opened[1, open_rows] = heap.tokens[slot], rows[heap.parents[slot]]
            open_rows += 1
    return open_rows


@kernel(
    "int64(int64[:, ::1], int64[:, :, ::1], int64[::1], int64[::1], float32[:, ::1], float64[::1], float32[:, ::1], int64[::1],"
    "int64[:, ::1])",
    seconds=8,
)
def best_entries(segments, selections, beams, out, logits, norms, penalties, settings, opened):
    """`item_step` of kernels/reference_items.py on the arrays of its arguments; how many entries are open.

    settings: depth, width, stop. opened, [2, searches * width], gets the tokens that were added to open entries, and their
    parents' rows.
    """
    searches, count_of_segments, width, entries = len(selections), len(segments), settings[1], beams[WIDTH]
    counts = carray(pointer(beams[COUNTS]), searches, np.int32)
    scores = carray(pointer(beams[SCORES]), (searches, entries), np.float64)
    rows = carray(pointer(beams[ROWS]), (searches, entries), np.int32)
    depths = carray(pointer(beams[DEPTHS]), (searches, entries), np.int32)
    ranges = carray(pointer(beams[RANGES]), (searches, entries, count_of_segments, 2), np.int64)
    pos, end = np.empty(count_of_segments, np.int64), np.empty(count_of_segments, np.int64)
    child, ends = np.empty((count_of_segments, 2), np.int64), np.empty((count_of_segments, 2), np.int64)
    scratch = (pos, end, child, ends)
    open_rows = int64(0)
    heap = new_heap(width, count_of_segments)
    for search in range(searches):
        parents = Parents(depths[search], ranges[search])
        level = (segments, selections, parents, settings, logits, norms, penalties, scores, rows)
        heap.count[0] = 0
        for entry in range(counts[search]):
            if rows[search, entry] == FINISHED:
                score = scores[search, entry]
                fill_slot(heap, score, score, int64(entry), int64(NO_TOKEN), int64(depths[search, entry]), 0)
                push(heap, width, ranges[search, entry], parents, segments)
            else:
                expand(heap, level, search, int64(entry), scratch)
        count = sort_best_first(heap, parents, segments)
        open_rows = write_entries(heap, count, out, search, rows[search], opened, open_rows)
    return open_rows


@kernel("void(int64[:, ::1], int64[:, :, ::1], int64[::1], float32[:, ::1], float64[::1], int64[::1])", seconds=3)
def norms_of_allowed(segments, selections, beams, logits, norms, settings):
    """`allowed_norms` of kernels/reference_items.py."""
    searches, count_of_segments, entries = len(selections), len(segments), beams[WIDTH]
    depth, stop = settings[0], settings[2]
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


def item_step(sets: Sets, beams: Beams, level: Level, out: Beams) -> tuple[np.ndarray, np.ndarray]:
    segments, selections = sets.descriptions
    settings = np.array([level.depth, level.width, level.stop], np.int64)
    opened = np.empty((2, len(selections) * level.width), np.int64)
    count = best_entries(
        segments,
        selections,
        beams.addresses,
        out.addresses,
        level.logits,
        level.norms,
        level.penalties,
        settings,
        opened,
    )
    return opened[0, :count], opened[1, :count]


def allowed_norms(sets: Sets, beams: Beams, level: Level, norms: np.ndarray) -> None:
    settings = np.array([level.depth, level.width, level.stop], np.int64)
    norms_of_allowed(*sets.descriptions, beams.addresses, level.logits, norms, settings)
