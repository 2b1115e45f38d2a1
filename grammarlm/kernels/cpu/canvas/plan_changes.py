"""Plans of masked tokens made from those of other patterns: of rows that differ in one token, most states differ in few points.

What comes together in a point hangs on the points that lead to it. So only points that something else leads to are looked at again:
of each the sets, as bits, of all that leads to it. The other points have what they had, by the other pattern's plan, its numbers
being those of the same sets.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import Question, Record, StackSets

from .arrays import lowest
from .changes import MOST_SETS, common_sets, images, list_changed, meet_targets, sets_at, size_of
from .groups import HEAD
from .patterns import RUN, add_to_runs, clear, list_met, note_met, pattern_of, spread
from .plans import plan
from .records import answer, keep_answer, mixed, record, sets_arena, words_of

MASKS, MOST_MASKS = 1 << 12, 1 << 10  # sets of sets, with slots for them
FEWER = 4  # times as many edges are those of all points, or it is not worth it


@inlined
def slot_of_mask(masks, mask):
    at = int64(mixed(uint64(0), uint64(mask)) >> uint64(20)) & (MASKS - 1)
    while masks[at] != 0 and masks[at] != mask:
        at = (at + 1) & (MASKS - 1)
    return at


@part
def group_of_mask(address, masks, groups_of, mask, groups):
    """The group of some sets, in GROUP: made with those of its first ones if need be. Returns how many groups there are."""
    body = carray(pointer(sets_arena(address)[StackSets.BODY]), sets_arena(address)[StackSets.BODY_CAPACITY], np.int32)
    left, before, group = uint64(mask), int64(0), int64(0)
    while left:
        v = lowest(left)
        left &= left - uint64(1)
        before |= int64(1) << v
        at = slot_of_mask(masks, before)
        if masks[at] == 0:
            groups += 1
            masks[at], groups_of[at] = before, groups
            body[HEAD + 2 * groups - 2], body[HEAD + 2 * groups - 1] = group, v
        group = int64(groups_of[at])
    return groups


@inlined
def segment_end(arena, landing, j, q, end, is_forward):
    """Where the points end that are like `q`, plain or not, in a run; `j`: the first landing from there on. Negative: not plain."""
    if q >= arena[StackSets.CONTROLS]:
        return -end
    if not is_forward:
        return min(end, arena[StackSets.CONTROLS])
    if j < arena[StackSets.LANDINGS] and landing[j] == q:
        return -(q + 1)
    stop = min(end, arena[StackSets.CONTROLS])
    return min(stop, int64(landing[j])) if j < arena[StackSets.LANDINGS] else stop


@part
def written_plan(address, runs, groups, is_forward):
    """The body with groups that BODY has so far, and the points of runs: REFINED, STAMP and SETS have the first of each, the one
    behind the last, and the group."""
    arena = sets_arena(address)
    size = arena[StackSets.EVERY_EDGE] + arena[StackSets.POINTS] + 2
    first = carray(pointer(arena[StackSets.REFINED]), size, np.int32)
    last = carray(pointer(arena[StackSets.STAMP]), size, np.int32)
    run_group = carray(pointer(arena[StackSets.SETS]), size, np.int32)
    landing = carray(pointer(arena[StackSets.LANDING]), arena[StackSets.LANDINGS], np.int32)
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    used, at, stamp = int64(0), HEAD + 2 * groups, np.zeros(groups + 1, np.int32)
    for turn in range(2):
        j = int64(0)
        begin = at
        for i in range(runs):
            q, end, g = int64(first[i]), int64(last[i]), int64(run_group[i])
            while q < end:
                while j < arena[StackSets.LANDINGS] and landing[j] < q:
                    j += 1
                stop = segment_end(arena, landing, j, q, end, is_forward)
                if turn == 0:
                    if stop > 0 and stamp[g] == 0:
                        used += 1
                        stamp[g] = used
                        body[at + used - 1] = g
                else:
                    at = add_to_runs(body, begin, at, q, abs(stop), int64(stamp[g]) if stop > 0 else g)
                q = abs(stop)
        at += used if turn == 0 else 0
    body[0], body[1], body[2] = Record.BODY, groups, used
    return record(address, arena[StackSets.BODY], at, int64(1))


@part
def changed_plan(address, state, like, is_forward):
    """The body of the plan of a state's pattern and masked tokens, made from that of a state like it; 0 where that is not known, or
    it is not worth it."""
    kind = int64(Question.PLAN_FORWARD) if is_forward else int64(Question.PLAN_BACKWARD)
    arena = sets_arena(address)
    pattern, other = pattern_of(arena, state), pattern_of(arena, like)
    planned = answer(address, kind, other, int64(-1))
    sizes = len(words_of(arena, state)), len(words_of(arena, like))
    if planned == 0 or sizes[0] > MOST_SETS or sizes[1] > MOST_SETS:
        return int64(0)
    points = arena[StackSets.POINTS]
    image, whole = images(address, state, like), size_of(address, pattern, is_forward)
    changed = list_changed(address, pattern, other, image, is_forward, whole // FEWER)
    if changed < 0:
        return int64(0)
    common = np.zeros(arena[StackSets.COMMON_WORDS] if is_forward else int64(0), np.uint64)
    looked_at = meet_targets(address, changed, is_forward, common)
    if looked_at > whole // FEWER:
        list_met(address)  # cleared
        return int64(0)
    met = carray(pointer(arena[StackSets.MET]), points // 64 + 1, np.uint64)
    common_point = carray(pointer(arena[StackSets.COMMON_POINT]), 64 * arena[StackSets.COMMON_WORDS], np.int32)
    by_set = common_sets(address, pattern, common)
    touched = carray(pointer(arena[StackSets.TOUCHED]), points, np.int32)  # of common points 1 + their place
    for w in range(len(common)):
        bits = common[w]
        while bits:
            place = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            note_met(met, int64(common_point[place]))
            touched[common_point[place]] = 1 + place
    count, every = list_met(address), int64(0)
    for v in range(1, sizes[0] - 1):
        every |= int64(1) << int64(v)
    # which sets come together in each point that something else leads to
    reached = carray(pointer(arena[StackSets.REACHED]), points, np.int32)
    size = arena[StackSets.EVERY_EDGE] + points + 2
    group = carray(pointer(arena[StackSets.PLACE]), points, np.int32)
    masks, groups_of, groups = np.zeros(MASKS, np.int64), np.zeros(MASKS, np.int32), int64(0)
    spread(address, pattern)
    for k in range(count):
        q = int64(reached[k])
        if touched[q]:
            place, mask = int64(touched[q]) - 1, int64(0)
            touched[q] = 0
            for v in range(1, sizes[0] - 1):
                if by_set[v, place >> 6] >> uint64(place & 63) & uint64(1):
                    mask |= int64(1) << int64(v)
        else:
            mask = sets_at(address, q, is_forward, every)
        group[k] = 0
        if mask and groups < MOST_MASKS:
            groups = group_of_mask(address, masks, groups_of, mask, groups)
            group[k] = groups_of[slot_of_mask(masks, mask)]
    clear(address, pattern)
    # those of the other plan
    theirs = words_of(arena, planned)
    their_groups, their_used = int64(theirs[1]), int64(theirs[2])
    of, of_group = np.zeros(their_groups + 1, np.int64), np.zeros(their_groups + 1, np.int32)
    for g in range(1, their_groups + 1):
        of[g] = of[theirs[HEAD + 2 * g - 2]] | image[theirs[HEAD + 2 * g - 1]]
    first = carray(pointer(arena[StackSets.REFINED]), size, np.int32)
    last = carray(pointer(arena[StackSets.STAMP]), size, np.int32)
    run_group = carray(pointer(arena[StackSets.SETS]), size, np.int32)
    landing = carray(pointer(arena[StackSets.LANDING]), arena[StackSets.LANDINGS], np.int32)
    runs, k, j = int64(0), int64(0), int64(0)
    for i in range(HEAD + 2 * their_groups + their_used, len(theirs), RUN):
        q, end = int64(theirs[i]), int64(theirs[i + 1])
        while q < end:
            while j < arena[StackSets.LANDINGS] and landing[j] < q:
                j += 1
            stop = segment_end(arena, landing, j, q, end, is_forward)
            g = int64(theirs[i + 2])
            if stop > 0:
                g = int64(theirs[HEAD + 2 * their_groups + g - 1])
            stop = abs(stop)
            while k < count and reached[k] < q:
                if group[k]:
                    first[runs], last[runs], run_group[runs] = reached[k], reached[k] + 1, group[k]
                    runs += 1
                k += 1
            while q < stop:
                until = min(stop, int64(reached[k])) if k < count else stop
                if until > q:
                    if of_group[g] == 0 and of[g] and groups < MOST_MASKS:
                        groups = group_of_mask(address, masks, groups_of, of[g], groups)
                        of_group[g] = groups_of[slot_of_mask(masks, of[g])]
                    if of_group[g]:
                        first[runs], last[runs], run_group[runs] = q, until, of_group[g]
                        runs += 1
                    q = until
                else:
                    if group[k]:
                        first[runs], last[runs], run_group[runs] = q, q + 1, group[k]
                        runs += 1
                    q += 1
                    k += 1
    while k < count:
        if group[k]:
            first[runs], last[runs], run_group[runs] = reached[k], reached[k] + 1, group[k]
            runs += 1
        k += 1
    if groups >= MOST_MASKS:
        return int64(0)
    made = written_plan(address, runs, groups, is_forward)
    keep_answer(address, kind, pattern, int64(-1), made)
    return made


@part
def plan_near(address, state, token_class, is_forward, first, second):
    """The body of the plan of a state's pattern; where it is not known, made from that of one of two states like it, 0: none."""
    pattern = pattern_of(sets_arena(address), state)
    if token_class < 0:
        kind = int64(Question.PLAN_FORWARD) if is_forward else int64(Question.PLAN_BACKWARD)
        made = answer(address, kind, pattern, token_class)
        if made == 0 and first:
            made = changed_plan(address, state, first, is_forward)
        if made == 0 and second:
            made = changed_plan(address, state, second, is_forward)
        if made:
            return made
    return plan(address, pattern, token_class, is_forward)
