"""What a token does to the state of a row: forward, to the points within it, and backward.

Where micro points go round in a circle, what they do is repeated until nothing changes. That ends: forward a stack has as many
symbols as it has, and backward sets have stacks of `height` symbols at most, or those that something leads to are so high.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Question, StackSets

from ..bits import has_bit, on_top
from .feasible import feasible_below, tops_of
from .gathered import WHOLE, add_set, set_of_symbols
from .groups import HEAD
from .heights import lowered
from .operated import before_operation, operated
from .patterns import RUN, list_runs, pattern_of, runs_at
from .plans import finish_shape, plan, points_at, shape, state_of
from .records import answer, keep_answer, sets_arena, words_of
from .stack_sets import below, kept_or_below, union, with_top


@part
def unite_needed(address, body_of, state, is_forward):
    """SETS, of those groups alone that points have: where sets have hundreds of symbols, those of the others would be most."""
    arena = sets_arena(address)
    size = arena[StackSets.EDGES] + arena[StackSets.POINTS] + 2
    sets = carray(pointer(arena[StackSets.SETS]), size, np.int32)
    by_symbol = carray(pointer(arena[StackSets.BY_SYMBOL]), arena[StackSets.SYMBOLS], np.int32)
    chain = np.empty(arena[StackSets.POINTS] + 1, np.int32)
    landing_of = carray(pointer(arena[StackSets.LANDING_OF]), arena[StackSets.CONTROLS], np.int32)
    body, own = words_of(arena, body_of), words_of(arena, state)
    groups, used = int64(body[1]), int64(body[2])
    for g in range(1, groups + 1):
        sets[g] = 0
    for i in range(used):
        sets[body[HEAD + 2 * groups + i]] = WHOLE
    if is_forward:
        for i in range(points_at(body), len(body), RUN):
            for q in range(body[i], body[i + 1]):
                if q >= arena[StackSets.CONTROLS] or landing_of[q] >= 0:
                    sets[body[i + 2]] = WHOLE
                    break
    sets[0] = 0
    for g in range(1, groups + 1):
        if sets[g] == 0:
            continue
        if body[HEAD + 2 * g - 2] == 0:
            sets[g] = own[1 + body[HEAD + 2 * g - 1]]
            continue
        here, count = int64(g), int64(0)
        while here:
            known = here < g and sets[here] > 0
            chain[count] = sets[here] if known else own[1 + body[HEAD + 2 * here - 1]]
            count += 1
            here = 0 if known else int64(body[HEAD + 2 * here - 2])
        for i in range(count - 1, -1, -1):  # chains share their beginnings, so that what is united is known
            add_set(address, by_symbol, int64(chain[i]))
        sets[g] = set_of_symbols(address, by_symbol)
        if arena[StackSets.FULL]:
            break


@part
def unite(address, body_of, state, is_forward):
    """SETS: the union of each group of a plan; CHOSEN: those of plain points. Returns how many."""
    arena = sets_arena(address)
    size = arena[StackSets.EDGES] + arena[StackSets.POINTS] + 2
    sets, chosen = (
        carray(pointer(arena[StackSets.SETS]), size, np.int32),
        carray(pointer(arena[StackSets.CHOSEN]), size, np.int32),
    )
    sets[0] = 0
    body = words_of(arena, body_of)
    groups, used = int64(body[1]), int64(body[2])
    if arena[StackSets.OPERATIONS]:
        unite_needed(address, body_of, state, is_forward)
        groups = int64(0)
    for g in range(1, groups + 1):
        added = int64(words_of(arena, state)[1 + body[HEAD + 2 * g - 1]])
        sets[g] = union(address, int64(sets[body[HEAD + 2 * g - 2]]), added)
    for i in range(used):
        chosen[1 + i] = sets[body[HEAD + 2 * int64(body[1]) + i]]
    chosen[0] = 0
    return used


@part
def place_controls(address, planned, used):
    """The runs of controls after a step forward (patterns.py): plain ones have the sets of their groups, landings those behind.
    Returns how many."""
    arena = sets_arena(address)
    body, controls, landings = words_of(arena, planned), arena[StackSets.CONTROLS], arena[StackSets.LANDINGS]
    first, last, place = runs_at(arena)
    landing = carray(pointer(arena[StackSets.LANDING]), landings, np.int32)
    j, count = int64(0), int64(0)
    for i in range(points_at(body), len(body), RUN):
        q, end = int64(body[i]), min(int64(body[i + 1]), controls)
        while q < end:
            while q < end and j < landings and landing[j] <= q:
                first[count], last[count], place[count] = landing[j], landing[j] + 1, 1 + used + j
                q += 1 if landing[j] == q else 0
                j += 1
                count += 1
            stop = min(end, int64(landing[j])) if j < landings else end
            if q < stop:
                first[count], last[count], place[count] = q, stop, body[i + 2]
                count += 1
                q = stop
    while j < landings:
        first[count], last[count], place[count] = landing[j], landing[j] + 1, 1 + used + j
        j += 1
        count += 1
    return count


@part
def put_special(address, body_of, sets):
    """HERE of all points that a step forward goes on with: the sets of their groups."""
    arena = sets_arena(address)
    body, controls, landings = words_of(arena, body_of), arena[StackSets.CONTROLS], arena[StackSets.LANDINGS]
    here = carray(pointer(arena[StackSets.HERE]), arena[StackSets.POINTS], np.int32)
    landing = carray(pointer(arena[StackSets.LANDING]), landings, np.int32)
    for i in range(landings):
        here[landing[i]] = 0
    for q in range(controls, arena[StackSets.POINTS]):
        here[q] = 0
    j = int64(0)
    for i in range(points_at(body), len(body), RUN):
        while j < landings and landing[j] < body[i + 1]:
            if landing[j] >= body[i]:
                here[landing[j]] = sets[body[i + 2]]
            j += 1
        for q in range(max(int64(body[i]), controls), body[i + 1]):
            here[q] = sets[body[i + 2]]


@part
def put_landings(address, state):
    """HERE of all landings: the sets that they have in a state."""
    arena = sets_arena(address)
    words, sets = words_of(arena, pattern_of(arena, state)), words_of(arena, state)
    here = carray(pointer(arena[StackSets.HERE]), arena[StackSets.POINTS], np.int32)
    landing, i = carray(pointer(arena[StackSets.LANDING]), arena[StackSets.LANDINGS], np.int32), int64(1)
    for j in range(arena[StackSets.LANDINGS]):
        while i < len(words) and words[i + 1] <= landing[j]:
            i += RUN
        is_there = i < len(words) and words[i] <= landing[j]
        here[landing[j]] = sets[1 + words[i + 2]] if is_there else 0


@part
def after_rule(address, stacks, symbol):
    """What a rule leaves of a set: below its symbol, or after its operation."""
    symbols = sets_arena(address)[StackSets.SYMBOLS]
    if symbol < symbols:
        return kept_or_below(address, stacks, symbol)
    return operated(address, stacks, symbol - symbols)


@part
def come_together(address, by_symbol, here, first, following, sets, point):
    """HERE of a point, with what has come to it."""
    at = int64(first[point])
    if at < 0:
        return int64(here[point])
    if here[point] == 0 and following[at] < 0:
        here[point] = sets[at]
    else:
        if here[point]:
            add_set(address, by_symbol, int64(here[point]))
        while at >= 0:
            add_set(address, by_symbol, int64(sets[at]))
            at = int64(following[at])
        here[point] = set_of_symbols(address, by_symbol)
    return int64(here[point])


@part
def lead_on(address, here):
    """HERE of all points, after that of those that edges lead to. What comes to a point is united once it is all there."""
    arena = sets_arena(address)
    controls, pushes, points = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.POINTS]
    first_micro = controls + pushes
    by_symbol = carray(pointer(arena[StackSets.BY_SYMBOL]), arena[StackSets.SYMBOLS], np.int32)
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), arena[StackSets.MICROS], np.int32)
    rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(rule_start[arena[StackSets.MICROS]])
    rule_symbol = carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32)
    rule_after = carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32)
    push_symbol = carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32)
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    landing = carray(pointer(arena[StackSets.LANDING]), arena[StackSets.LANDINGS], np.int32)
    first, following = np.full(points, -1, np.int32), np.empty(rules + pushes, np.int32)
    sets, count = np.empty(rules + pushes, np.int32), int64(0)
    for i in range(arena[StackSets.MICROS]):
        m = int64(order[i])
        stacks = come_together(address, by_symbol, here, first, following, sets, m)
        if stacks == 0:
            continue
        for r in range(rule_start[m - first_micro], rule_start[m - first_micro + 1]):
            symbol, after = int64(rule_symbol[r]), int64(rule_after[r])
            rest = after_rule(address, stacks, symbol)
            if rest and rest != here[after]:
                sets[count], following[count], first[after] = rest, first[after], count
                count += 1
    for u in range(pushes - 1, -1, -1):
        stacks = come_together(address, by_symbol, here, first, following, sets, controls + u)
        if stacks:
            after = int64(push_after[u])
            sets[count], following[count] = with_top(address, int64(push_symbol[u]), stacks), first[after]
            first[after] = count
            count += 1
    for i in range(arena[StackSets.LANDINGS]):
        come_together(address, by_symbol, here, first, following, sets, int64(landing[i]))


@part
def forward_step(address, state, token_class):
    """The state after a token."""
    found = answer(address, Question.FORWARD, state, token_class)
    if found:
        return found
    arena = sets_arena(address)
    planned = plan(address, pattern_of(arena, state), token_class, True)
    if arena[StackSets.FULL]:
        return int64(0)
    used = unite(address, planned, state, True)
    controls, pushes, points = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.POINTS]
    size = arena[StackSets.EDGES] + points + 2
    sets, chosen = (
        carray(pointer(arena[StackSets.SETS]), size, np.int32),
        carray(pointer(arena[StackSets.CHOSEN]), size, np.int32),
    )
    here = carray(pointer(arena[StackSets.HERE]), points, np.int32)
    landing = carray(pointer(arena[StackSets.LANDING]), arena[StackSets.LANDINGS], np.int32)
    put_special(address, planned, sets)
    first_micro = controls + pushes
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), arena[StackSets.MICROS], np.int32)
    rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(rule_start[arena[StackSets.MICROS]])
    symbols, afters = (
        carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32),
        carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32),
    )
    if arena[StackSets.OPERATIONS]:
        lead_on(address, here)
    else:
        again = True
        while again:
            again = False
            for i in range(arena[StackSets.MICROS]):
                m = int64(order[i])
                stacks = int64(here[m])
                if stacks == 0:
                    continue
                for r in range(rule_start[m - first_micro], rule_start[m - first_micro + 1]):
                    rest, after = kept_or_below(address, stacks, int64(symbols[r])), int64(afters[r])
                    if rest:
                        known = int64(here[after])
                        here[after] = union(address, known, rest)
                        again = again or (after >= first_micro and here[after] != known)
            again = again and arena[StackSets.HAS_CIRCLES] != 0 and arena[StackSets.FULL] == 0
        push_symbol, push_after = (
            carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32),
            carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32),
        )
        for u in range(pushes - 1, -1, -1):
            stacks = int64(here[controls + u])
            if stacks:
                after = int64(push_after[u])
                here[after] = union(address, int64(here[after]), with_top(address, int64(push_symbol[u]), stacks))
    for i in range(arena[StackSets.LANDINGS]):
        chosen[1 + used + i] = here[landing[i]]
    shaped = shape(address, planned, used + arena[StackSets.LANDINGS])
    if arena[StackSets.FULL]:
        return int64(0)
    made = int64(carray(pointer(arena[StackSets.VALUE]), arena[StackSets.RECORD_CAPACITY], np.int32)[shaped])
    if made == 0:
        made = finish_shape(address, shaped, place_controls(address, planned, used))
    if arena[StackSets.FULL]:
        return int64(0)
    after_state = state_of(address, made)
    keep_answer(address, Question.FORWARD, state, token_class, after_state)
    return after_state


@part
def micro_before(address, here, micro, tops, height):
    """On which stacks a micro point can be completed, by what is known of the points after it."""
    arena = sets_arena(address)
    m = micro - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES]
    rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(rule_start[arena[StackSets.MICROS]])
    symbols = carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32)
    afters = carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32)
    stacks = int64(0)
    for r in range(rule_start[m], rule_start[m + 1]):
        rest, symbol = int64(here[afters[r]]), int64(symbols[r])
        if rest == 0:
            continue
        if symbol >= arena[StackSets.SYMBOLS]:
            more = before_operation(address, rest, symbol - arena[StackSets.SYMBOLS])
        elif not has_bit(tops, micro, on_top(symbol)):
            continue
        elif symbol > ROOT:
            more = with_top(address, symbol, feasible_below(address, rest, symbol))
        else:
            more = kept_or_below(address, rest, symbol)
        stacks = union(address, stacks, more)
    return lowered(address, stacks, height) if height else stacks


@part
def inner_state(address, state, height):
    """From the state behind a token: on which stacks each point within it can be completed. `height`: where micro points go round
    in a circle, stacks of more symbols are left out, unless it is 0."""
    if sets_arena(address)[StackSets.HAS_CIRCLES] == 0:
        height = int64(0)
    found = answer(address, Question.INNER, state, height)
    if found:
        return found
    arena = sets_arena(address)
    controls, pushes, points = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.POINTS]
    if points == controls:
        return state
    pattern = pattern_of(arena, state)
    here = carray(pointer(arena[StackSets.HERE]), points, np.int32)
    put_landings(address, state)
    push_symbol, push_after = (
        carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32),
        carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32),
    )
    for u in range(pushes):
        here[controls + u] = below(address, int64(here[push_after[u]]), int64(push_symbol[u]))
    first_micro = controls + pushes
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), arena[StackSets.MICROS], np.int32)
    tops, again = tops_of(arena), True
    here[first_micro:] = 0
    while again:
        again = False
        for i in range(arena[StackSets.MICROS] - 1, -1, -1):
            m = int64(order[i])
            stacks = micro_before(address, here, m, tops, height)
            again = again or stacks != here[m]
            here[m] = stacks
        again = again and arena[StackSets.HAS_CIRCLES] != 0 and arena[StackSets.FULL] == 0
    count = int64(len(words_of(arena, state))) - 2
    chosen = carray(pointer(arena[StackSets.CHOSEN]), arena[StackSets.EDGES] + points + 2, np.int32)
    sets = words_of(arena, state)
    for i in range(count):
        chosen[1 + i] = sets[2 + i]
    for q in range(controls, points):
        chosen[1 + count + q - controls] = here[q]
    shaped = shape(address, pattern, count + points - controls)
    if arena[StackSets.FULL]:
        return int64(0)
    made = int64(carray(pointer(arena[StackSets.VALUE]), arena[StackSets.RECORD_CAPACITY], np.int32)[shaped])
    if made == 0:
        runs, (first, end, place) = list_runs(address, pattern, int64(1)), runs_at(arena)
        for q in range(controls, points):
            first[runs], end[runs], place[runs] = q, q + 1, 1 + count + q - controls
            runs += 1
        made = finish_shape(address, shaped, runs)
    if arena[StackSets.FULL]:
        return int64(0)
    inner = state_of(address, made)
    keep_answer(address, Question.INNER, state, height, inner)
    return inner


@part
def backward_step(address, inner, token_class):
    """From the state within a token of a class: on which stacks each control before it can be completed."""
    found = answer(address, Question.BACKWARD, inner, token_class)
    if found:
        return found
    arena = sets_arena(address)
    planned = plan(address, pattern_of(arena, inner), token_class, False)
    if arena[StackSets.FULL]:
        return int64(0)
    used = unite(address, planned, inner, False)
    shaped = shape(address, planned, used)
    if arena[StackSets.FULL]:
        return int64(0)
    made = int64(carray(pointer(arena[StackSets.VALUE]), arena[StackSets.RECORD_CAPACITY], np.int32)[shaped])
    if made == 0:
        made = finish_shape(address, shaped, list_runs(address, planned, points_at(words_of(arena, planned))))
    if arena[StackSets.FULL]:
        return int64(0)
    before = state_of(address, made)
    keep_answer(address, Question.BACKWARD, inner, token_class, before)
    return before
