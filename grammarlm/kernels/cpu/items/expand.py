"""Expansion of an open prefix of items: those of its children that may be among the best become candidates.

A prefix with few rows has them read one by one: its tokens are their cells. With many rows, 64 log-probabilities at a time are
compared with the threshold instead, and only the few tokens that reach it are looked up in the rows.
"""

import numpy as np
from numba import carray, float32, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer

from .best import RANKED, sort_best_first
from .rows import (
    COUNT,
    LARGEST,
    NO_TOKEN,
    NOTHING,
    SHIFT,
    STARTS,
    cell_at,
    child_of,
    end_of_ends,
    first_not_less,
    next_child,
    next_selected,
    take_ends,
)

BLOCK = 64  # log-probabilities compared at once
SLACK = 1e-3  # tolerance by which a log-probability may exceed 0, and a float32 its float64
NEVER = -np.inf
READ_ROWS = 2  # log-probabilities that are compared in the time of reading one row


@inlined
def write_down(candidates, count, key, score, parent, token, depth, is_open, ranges):
    """Adds a candidate."""
    slot = candidates.order[count]
    candidates.keys[slot], candidates.scores[slot] = key, score
    candidates.parents[slot], candidates.tokens[slot] = parent, token
    candidates.depths[slot], candidates.open[slot] = depth, is_open
    for s in range(len(ranges)):
        candidates.ranges[slot, s, 0], candidates.ranges[slot, s, 1] = ranges[s, 0], ranges[s, 1]
    return count + 1


@inlined
def keep_better_half(candidates, count, worst, parents, segments):
    """If the buffer of candidates is full, keeps the better half. Returns their number, and the new least key required."""
    width = len(candidates.order) // 2 - 1
    if count < 2 * width:
        return count, worst
    sort_best_first(candidates, count, parents, segments)
    return int64(width), candidates.keys[candidates.order[width - 1]]


@inlined
def offer(candidates, count, level, at, token, child, ends, key):
    """Adds the child of an open entry: as an item if rows end here, as a prefix if rows continue. Returns the new count."""
    segments, selections, depth, stop, _ = level
    search, entry, score = at
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
        count = write_down(candidates, count, key, score, entry, token, depth + 1, 0, ends)
    if is_open:
        count = write_down(candidates, count, key, score, entry, token, depth + 1, 1, child)
    return count


@part
def next_likely(line, asked, token):
    """The first token from `token` on whose log-probability is at least `asked`, within the tolerance; NOTHING if there is none."""
    least = float32(asked - SLACK - 1e-6 * abs(asked))
    end = len(line)
    while token < end:
        if token % BLOCK == 0 and token + BLOCK <= end:
            reached = 0
            for i in range(token, token + BLOCK):
                reached += line[i] >= least
            if reached == 0:
                token += BLOCK
                continue
        if line[token] >= least:
            return token
        token += 1
    return int64(NOTHING)


@part
def least_of_best(segment, line, low, width, most):
    """A lower bound for the logits of the `width` best first tokens; -inf if there is no quick one.

    Takes the greatest logit of each of twice as many blocks of tokens, and of these the one that `width` of them reach. `most` is
    scratch for them.
    """
    largest = min(int64(len(line)), segment[LARGEST] - segment[SHIFT] + 1)
    starts = carray(pointer(segment[STARTS]), segment[LARGEST] + 2, np.int32)[segment[SHIFT] :]
    block = -(-largest // (2 * width))
    blocks = int64(0)
    for begin in range(0, largest, block):
        best = float32(NEVER)
        for token in range(begin, min(begin + block, largest)):
            if max(low, int64(starts[token])) < starts[token + 1] and line[token] > best:
                best = line[token]
        most[blocks] = best
        blocks += 1
    for i in range(blocks):
        greater, equal = int64(0), int64(0)
        for j in range(blocks):
            greater += most[j] > most[i]
            equal += most[j] == most[i]
        if greater < width <= greater + equal:
            return most[i]
    return NEVER


@inlined
def expand_rows(candidates, count, worst, level, at, line, taken, ranges, scratch):
    """The children of an entry, for one segment whose items end without a stop token. Returns the number of candidates, and the
    least key required.

    at: search, entry, score. line: its row of logits. taken: the norm, and the penalties of the search.
    """
    segments, selections, depth, _, parents = level
    search, entry, score = at
    norm, penalties = taken
    _, _, child, ends = scratch
    segment, shift = segments[0], segments[0, SHIFT]
    place, high = ranges[0, 0], ranges[0, 1]
    behind = place
    is_narrow = high - place <= len(line) // READ_ROWS
    starts = carray(pointer(segment[STARTS]), segment[LARGEST] + 2, np.int32)
    width = len(candidates.order) // 2 - 1
    if (
        depth == 0
        and worst == NEVER
        and 2 * width <= RANKED
        and len(penalties) == 0
        and selections[search, 0, COUNT] == 0
    ):
        worst = score + (least_of_best(segment, line, place, width, candidates.sorting) - norm)
    token = int64(-1)
    while place < high:
        count, worst = keep_better_half(candidates, count, worst, parents, segments)
        if depth == 0:  # all from the table: the rows need not be read
            token = next_likely(line, worst - score + norm, token + 1)
            if token == NOTHING or token + shift > segment[LARGEST]:
                break
            first, behind = max(ranges[0, 0], int64(starts[token + shift])), int64(starts[token + shift + 1])
            if first >= behind:
                continue
            place = first
        elif is_narrow or worst == NEVER:
            token = cell_at(segment, depth, place) - shift
        else:
            token = next_likely(line, worst - score + norm, token + 1)
            if token == NOTHING:
                break
            place = first_not_less(segment, depth, place, high, token + shift)
            if place == high or cell_at(segment, depth, place) != token + shift:
                continue
        gain = np.float64(line[token]) - norm
        key = score + gain
        if len(penalties):
            key -= penalties[token]
        if not (gain > NEVER and key >= worst):
            # In a narrow range the following equal cells fail, too, one by one.
            place = place + 1 if is_narrow else first_not_less(segment, depth, place, high, token + shift + 1)
            continue
        if depth > 0:
            behind = place + 1
            if behind < high and cell_at(segment, depth, behind) == token + shift:
                behind = first_not_less(segment, depth, place, high, token + shift + 1)
        child[0, 0], child[0, 1] = next_selected(selections[search, 0], place, behind), behind
        if child[0, 0] < behind:
            count = offer(candidates, count, level, (search, entry, score + gain), token, child, ends, key)
        place = behind
    return count, worst


@inlined
def expand(candidates, count, worst, level, at, line, taken, ranges, scratch):
    """The same for several segments, or with a stop token."""
    segments, selections, depth, stop, parents = level
    search, entry, score = at
    norm, penalties = taken
    pos, end, child, ends = scratch
    left = int64(0)
    for s in range(len(segments)):
        pos[s], end[s] = ranges[s, 0], ranges[s, 1]
        left += end[s] - pos[s]
    if stop >= 0 and take_ends(segments, selections[search], depth, pos, end, child):
        gain = np.float64(line[stop]) - norm
        if gain > NEVER and score + gain >= worst:
            own = score + gain
            count = write_down(candidates, count, own, own, entry, NO_TOKEN, depth, 0, child)
    is_narrow = left <= len(line) // READ_ROWS
    token = int64(-1)
    while True:
        count, worst = keep_better_half(candidates, count, worst, parents, segments)
        if is_narrow or worst == NEVER:
            token = next_child(segments, selections[search], depth, pos, end, child)
            if token == NOTHING:
                break
        else:
            token = next_likely(line, worst - score + norm, token + 1)
            if token == NOTHING:
                break
            if not child_of(segments, selections[search], depth, token, pos, end, child):
                continue
        gain = np.float64(line[token]) - norm
        key = score + gain
        if len(penalties):
            key -= penalties[token]
        if gain > NEVER and key >= worst:
            count = offer(candidates, count, level, (search, entry, score + gain), token, child, ends, key)
    return count, worst
