"""Passes over a row that know no more of it than a part, and ones that know too much (masks/canvas/stack/large/narrow.py says why).

States are plain here, int32 [boundaries, controls]: the set of stacks of each control at each boundary, 0 for none. Only points are
looked at that an edge of the token leads to: of a given token these are some tens, of tens of thousands.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.narrow import Narrow
from grammarlm.layout.stack_sets import StackSets

from ..bits import has_bit, lowest, on_top
from ..sets.feasible import feasible_below, tops_of
from ..sets.operated import before_operation
from ..sets.records import sets_arena
from ..sets.stack_sets import below, kept_or_below, union, with_top
from ..sets.steps import after_rule
from .live_stacks import kept_live
from .narrow_arrays import (
    class_edges_of,
    class_range,
    every_edge,
    every_start,
    few_edges,
    narrow_of,
    pushes_of,
    rules_of,
)

EMPTY = -1  # in HERE: no stacks
NO_SPOTS = 0  # in place of their address: all are live
PLAIN, ANY = -2, -3  # in place of a class: a token that leaves the stack as it is, one of any class


@part
def come(address, narrow_address, spots_address, states, at, point, stacks):
    """Adds stacks to a point: a control of the row of states, or a point within the token. Only those from which it leads to a spot
    that is live at the boundary, unless `spots_address` is 0."""
    if spots_address:
        stacks = kept_live(address, spots_address, at, point, stacks)
        if stacks == 0:
            return
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    controls, first_micro = arena[StackSets.CONTROLS], arena[StackSets.CONTROLS] + arena[StackSets.PUSHES]
    if point < controls:
        states[at, point] = union(address, int64(states[at, point]), stacks)
        return
    here = carray(pointer(narrow[Narrow.HERE]), arena[StackSets.POINTS], np.int32)
    here[point] = union(address, int64(here[point]), stacks)
    if point >= first_micro:
        rank = carray(pointer(narrow[Narrow.RANK]), arena[StackSets.MICROS], np.int32)[point - first_micro]
        met = carray(pointer(narrow[Narrow.MET]), arena[StackSets.MICROS] // 64 + 1, np.uint64)
        met[rank >> 6] |= uint64(1) << uint64(rank & 63)


@part
def follow_points(address, narrow_address, spots_address, states, at):
    """Where stacks go on from points within the token before row `at`: by rules in the order of micro points, then by pushes."""
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    first_micro = controls + pushes
    here = carray(pointer(narrow[Narrow.HERE]), arena[StackSets.POINTS], np.int32)
    met = carray(pointer(narrow[Narrow.MET]), micros // 64 + 1, np.uint64)
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), micros, np.int32)
    starts, symbols, afters = rules_of(arena)
    for w in range(len(met)):
        while met[w]:
            m = int64(order[64 * int64(w) + lowest(met[w])])
            met[w] &= met[w] - uint64(1)
            stacks = int64(here[m])
            here[m] = 0
            for r in range(starts[m - first_micro], starts[m - first_micro + 1]):
                rest = after_rule(address, stacks, int64(symbols[r]))
                if rest:
                    come(address, narrow_address, spots_address, states, at, int64(afters[r]), rest)
    push_symbol, push_after = pushes_of(arena)
    for u in range(pushes - 1, -1, -1):
        stacks = int64(here[controls + u])
        if stacks:
            here[controls + u] = 0
            made = with_top(address, int64(push_symbol[u]), stacks)
            come(address, narrow_address, spots_address, states, at, int64(push_after[u]), made)


@part
def step_right(address, narrow_address, states, at, token_class, others):
    """Row `at` + 1 of states from row `at`, of controls that others have stacks at. A token of the class, of any (ANY), or of any
    of the few."""
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    controls = arena[StackSets.CONTROLS]
    states[at + 1, :] = 0
    if token_class == ANY:
        starts = every_start(arena, narrow)
        to = every_edge(arena)[1]
        for c in range(controls):
            if states[at, c]:
                for e in range(starts[c], starts[c + 1]):
                    come(address, narrow_address, NO_SPOTS, states, at + 1, int64(to[e]), int64(states[at, c]))
    elif token_class < 0:
        from_, to = few_edges(narrow, token_class == PLAIN)
        for e in range(len(from_)):
            if states[at, from_[e]]:
                come(address, narrow_address, NO_SPOTS, states, at + 1, int64(to[e]), int64(states[at, from_[e]]))
    else:
        from_, to = every_edge(arena)
        of = class_edges_of(arena)
        first, last = class_range(arena, token_class)
        for i in range(first, last):
            e = int64(of[i])
            if states[at, from_[e]]:
                come(address, narrow_address, NO_SPOTS, states, at + 1, int64(to[e]), int64(states[at, from_[e]]))
    follow_points(address, narrow_address, NO_SPOTS, states, at + 1)
    for c in range(controls):
        if others[at + 1, c] == 0:
            states[at + 1, c] = 0


@part
def at_point(address, here, states, at, point):
    """What is known of a point within the token before row `at`."""
    if point < sets_arena(address)[StackSets.CONTROLS]:
        return int64(states[at, point])
    return int64(max(here[point], int32(0)))


@part
def completed(address, narrow_address, here, states, at, point):
    """On which stacks a point within the token before row `at` of states can be completed; `here` keeps it, EMPTY for none.
    FULL may be set."""
    arena = sets_arena(address)
    controls, pushes = arena[StackSets.CONTROLS], arena[StackSets.PUSHES]
    first_micro = controls + pushes
    if point < controls:
        return int64(states[at, point])
    if here[point]:
        return int64(max(here[point], int32(0)))
    starts, symbols, afters = rules_of(arena)
    push_symbol, push_after = pushes_of(arena)
    tops = tops_of(arena)
    most = int64(starts[arena[StackSets.MICROS]]) + pushes + 1  # a point waits once for each rule that leads to it
    waiting, count = carray(pointer(narrow_of(narrow_address)[Narrow.WAITING]), most, np.int32), int64(1)
    waiting[0] = point
    while count:
        q = int64(waiting[count - 1])
        if here[q]:
            count -= 1
            continue
        before = count
        if q < first_micro:
            after = int64(push_after[q - controls])
            if after >= controls and here[after] == 0:
                waiting[count] = after
                count += 1
        else:
            for r in range(starts[q - first_micro], starts[q - first_micro + 1]):
                after = int64(afters[r])
                if after >= controls and here[after] == 0:
                    waiting[count] = after
                    count += 1
        if count > before:
            continue
        stacks = int64(0)
        if q < first_micro:
            after = int64(push_after[q - controls])
            stacks = below(address, at_point(address, here, states, at, after), int64(push_symbol[q - controls]))
        else:
            for r in range(starts[q - first_micro], starts[q - first_micro + 1]):
                rest, symbol = at_point(address, here, states, at, int64(afters[r])), int64(symbols[r])
                if rest == 0:
                    continue
                if symbol >= arena[StackSets.SYMBOLS]:
                    more = before_operation(address, rest, symbol - arena[StackSets.SYMBOLS])
                elif not has_bit(tops, q, on_top(symbol)):
                    continue
                elif symbol > ROOT:
                    more = with_top(address, symbol, feasible_below(address, rest, symbol))
                else:
                    more = kept_or_below(address, rest, symbol)
                stacks = union(address, stacks, more)
        here[q] = int32(stacks) if stacks else int32(EMPTY)
        count -= 1
        if arena[StackSets.FULL]:
            return int64(0)
    return int64(max(here[point], int32(0)))


@part
def step_left(address, narrow_address, states, at, token_class, others):
    """Row `at` of states from row `at` + 1, of controls that others have stacks at."""
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    here = carray(pointer(narrow[Narrow.HERE]), arena[StackSets.POINTS], np.int32)
    states[at, :] = 0
    if token_class == ANY:
        starts = every_start(arena, narrow)
        to = every_edge(arena)[1]
        for c in range(arena[StackSets.CONTROLS]):
            if others[at, c] == 0:
                continue
            for e in range(starts[c], starts[c + 1]):
                stacks = completed(address, narrow_address, here, states, at + 1, int64(to[e]))
                if stacks:
                    states[at, c] = union(address, int64(states[at, c]), stacks)
    elif token_class < 0:
        from_, to = few_edges(narrow, token_class == PLAIN)
        for e in range(len(from_)):
            if others[at, from_[e]] == 0:
                continue
            stacks = completed(address, narrow_address, here, states, at + 1, int64(to[e]))
            if stacks:
                states[at, from_[e]] = union(address, int64(states[at, from_[e]]), stacks)
    else:
        from_, to = every_edge(arena)
        of = class_edges_of(arena)
        first, last = class_range(arena, token_class)
        for i in range(first, last):
            e = int64(of[i])
            if others[at, from_[e]] == 0:
                continue
            stacks = completed(address, narrow_address, here, states, at + 1, int64(to[e]))
            if stacks:
                states[at, from_[e]] = union(address, int64(states[at, from_[e]]), stacks)
    here[:] = 0


@inlined
def has_common(bits, row, other):
    common = uint64(0)
    for w in range(len(other)):
        common |= bits[row, w] & other[w]
    return common != 0


@part
def alive(states, at, words):
    """The controls of a row that have stacks, as bits."""
    found = np.zeros(words, np.uint64)
    for c in range(states.shape[1]):
        if states[at, c]:
            found[c >> 6] |= uint64(1) << uint64(c & 63)
    return found


@part
def step_wide(address, narrow_address, states, at, is_right):
    """Tokens that leave the stack as it is are followed; of others no more is known than which controls they lead to (from)."""
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    controls, words = arena[StackSets.CONTROLS], narrow[Narrow.WORDS]
    reaches = carray(pointer(narrow[Narrow.REACHES]), (controls, words), np.uint64)
    wide = carray(pointer(narrow[Narrow.WIDE]), (2, controls), np.int32)
    from_ = carray(pointer(narrow[Narrow.FREE_CONTROL]), narrow[Narrow.FREE_EDGES], np.int32)
    to = carray(pointer(narrow[Narrow.FREE_POINT]), narrow[Narrow.FREE_EDGES], np.int32)
    before, after = (at, at + 1) if is_right else (at + 1, at)
    if is_right:
        found = np.zeros(words, np.uint64)
        for c in range(controls):
            if states[before, c]:
                for w in range(words):
                    found[w] |= reaches[c, w]
        for c in range(controls):
            states[after, c] = wide[0, c] if found[c >> 6] >> uint64(c & 63) & uint64(1) else int32(0)
    else:
        found = alive(states, before, words)
        for c in range(controls):
            states[after, c] = wide[1, c] if has_common(reaches, c, found) else int32(0)
    for e in range(len(from_)):
        source, target = (from_[e], to[e]) if is_right else (to[e], from_[e])
        if states[before, source] and states[before, source] != states[after, target]:
            states[after, target] = union(address, int64(states[after, target]), int64(states[before, source]))


@part
def lead_few(arena, narrow, states, at, most):
    """Lead no more than so many edges on from the controls that have stacks in a row of states?"""
    starts, count = every_start(arena, narrow), int64(0)
    for c in range(arena[StackSets.CONTROLS]):
        if states[at, c]:
            count += starts[c + 1] - starts[c]
            if count > most:
                return False
    return True


@kernel("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64)", seconds=6)
def narrow_pass(
    address, narrow_address, row_address, size, states_address, others_address, place_address, is_right, is_wide
):
    """int32 [size + 1, CONTROLS]: sets by boundary and control, from a place on (int64 [2]: from, to), which moves. Returns FULL.

    Masked tokens of the row (int32 [size]) are -1, or PLAIN; or ANY, which others are taken to be, too, where few edges lead on.
    `others`: as states, from the other side; states are those of controls that have stacks there, too.
    """
    arena, narrow = sets_arena(address), narrow_of(narrow_address)
    row = carray(pointer(row_address), size, np.int32)
    states = carray(pointer(states_address), (size + 1, arena[StackSets.CONTROLS]), np.int32)
    others = carray(pointer(others_address), (size + 1, arena[StackSets.CONTROLS]), np.int32)
    place = carray(pointer(place_address), 2, np.int64)
    while place[0] != place[1]:
        at = place[0] if is_right else place[0] - 1
        token_class = int64(row[at])
        if token_class < 0 and lead_few(arena, narrow, states if is_right else others, at, narrow[Narrow.MOST_EDGES]):
            token_class = int64(ANY)
        if is_wide and token_class < 0 and token_class != ANY:
            step_wide(address, narrow_address, states, at, is_right)
        elif is_right:
            step_right(address, narrow_address, states, at, token_class, others)
        else:
            step_left(address, narrow_address, states, at, token_class, others)
        if arena[StackSets.FULL]:
            break
        place[0] += 1 if is_right else -1
    return arena[StackSets.FULL]
