"""What rows have ahead of them at most, by spots (spots.py).

The sum over the rows that some stack of a spot can be completed with is no more than that over the classes of a token, times the
sums of the spots in its goal; with the best row it is the same.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.spots import Spots
from grammarlm.layout.stack_sets import StackSets

from ..bits import has_bit, lowest
from ..sets.records import kinds_of, sets_arena, words_of
from .spots import goal_numbers, members_of, spot_numbers, spots_of, terms_of, with_value

LEAST = 1e-140  # in place of smaller factors, so that no product of two is 0
SURE = 1e-110  # a sum from here on is hardly changed by those that were raised to LEAST


@inlined
def spots_ahead(spots):
    shape = spots[Spots.STEPS] + 1, spots[Spots.SPOTS]
    return carray(pointer(spots[Spots.AHEAD]), shape, np.float64)


@inlined
def kind_weights(spots, arena):
    shape = spots[Spots.STEPS], arena[StackSets.KINDS]
    return carray(pointer(spots[Spots.WEIGHT]), shape, np.float64)


@inlined
def class_scores(spots, arena):
    shape = spots[Spots.STEPS], arena[StackSets.CLASSES]
    return carray(pointer(spots[Spots.SCORES]), shape, np.float64)


@part
def sum_of_kind(address, spots_address, step, kind):
    """The log of the sum over the classes of a kind."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    kinds, scores, high, total = kinds_of(arena), class_scores(spots, arena), -np.inf, 0.0
    for again in range(2):
        for w in range(arena[StackSets.KIND_WORDS]):
            bits = kinds[kind, w]
            while bits:
                score = scores[step, int64(w) * 64 + lowest(bits)]
                bits &= bits - uint64(1)
                if again == 0:
                    high = max(high, score)
                else:
                    total += np.exp(score - high)
        if high == -np.inf:
            return high
    return high + np.log(total)


@part
def goal_ahead(spots_address, step, goal):
    """The log of the sum over a goal's spots, or the best of them."""
    spots = spots_of(spots_address)
    ahead = spots_ahead(spots)[step]
    if goal < spots[Spots.SPOTS]:
        return ahead[goal]
    starts, members = members_of(spots)
    high, total = -np.inf, 0.0
    for i in range(starts[goal], starts[goal + 1]):
        high = max(high, ahead[members[i]])
    if high == -np.inf or spots[Spots.IS_SUM] == 0:
        return high
    for i in range(starts[goal], starts[goal + 1]):
        total += np.exp(ahead[members[i]] - high)
    return high + np.log(total)


@part
def bound_by_spots(address, spots_address, step, point, symbol):
    """AHEAD of a control at a boundary, or of a point within the token before it, with a symbol on top."""
    spots = spots_of(spots_address)
    goal = int64(goal_numbers(spots, sets_arena(address))[point, symbol])
    return goal_ahead(spots_address, step, goal) if goal >= 0 else -np.inf


@part
def best_of_kinds(address, spots_address, step, best):
    """WEIGHT of a step and AHEAD of the goals behind it, where the best is asked for."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    weight, kinds, scores = kind_weights(spots, arena)[step], kinds_of(arena), class_scores(spots, arena)[step]
    given = int64(carray(pointer(spots[Spots.ROW]), spots[Spots.STEPS], np.int32)[step])
    for kind in range(arena[StackSets.KINDS]):
        weight[kind] = -np.inf
        if given >= 0:
            if has_bit(kinds, int64(kind), given):
                weight[kind] = 0.0
            continue
        for w in range(arena[StackSets.KIND_WORDS]):
            bits = kinds[kind, w]
            while bits:
                weight[kind] = max(weight[kind], scores[int64(w) * 64 + lowest(bits)])
                bits &= bits - uint64(1)
    for goal in range(spots[Spots.GOALS]):
        best[goal] = goal_ahead(spots_address, step + 1, int64(goal))


@part
def weigh_kinds(address, spots_address, step, factors, of_classes):
    """WEIGHT of a step, and the same as factors, over e to the power of what is returned."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    weight, kinds, scores = kind_weights(spots, arena)[step], kinds_of(arena), class_scores(spots, arena)[step]
    given = int64(carray(pointer(spots[Spots.ROW]), spots[Spots.STEPS], np.int32)[step])
    if given >= 0:
        for kind in range(arena[StackSets.KINDS]):
            is_taken = has_bit(kinds, int64(kind), given)
            factors[kind], weight[kind] = (1.0, 0.0) if is_taken else (0.0, -np.inf)
        return 0.0
    high = -np.inf
    for k in range(arena[StackSets.CLASSES]):
        high = max(high, scores[k])
    for k in range(arena[StackSets.CLASSES]):
        of_classes[k] = max(np.exp(scores[k] - high), LEAST) if scores[k] > -np.inf else 0.0
    for kind in range(arena[StackSets.KINDS]):
        total = 0.0
        for w in range(arena[StackSets.KIND_WORDS]):
            bits = kinds[kind, w]
            while bits:
                total += of_classes[int64(w) * 64 + lowest(bits)]
                bits &= bits - uint64(1)
        factors[kind] = total
        if total >= SURE or total == 0.0:
            weight[kind] = high + np.log(total)
        else:
            weight[kind] = sum_of_kind(address, spots_address, step, int64(kind))
    return high


@part
def weigh_goals(spots_address, step, values):
    """The sums of all goals at a boundary, over e to the power of what is returned."""
    spots = spots_of(spots_address)
    ahead, (starts, members), high = spots_ahead(spots)[step], members_of(spots), -np.inf
    for spot in range(spots[Spots.SPOTS]):
        high = max(high, ahead[spot])
    for spot in range(spots[Spots.SPOTS]):
        values[spot] = max(np.exp(ahead[spot] - high), LEAST) if ahead[spot] > -np.inf else 0.0
    for goal in range(spots[Spots.SPOTS], spots[Spots.GOALS]):
        total = 0.0
        for i in range(starts[goal], starts[goal + 1]):
            total += values[members[i]]
        values[goal] = total
    return high


@part
def sum_of_terms(address, spots_address, step, spot):
    """The log of the sum over a spot's terms, where factors are too far apart."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    weight, (starts, kinds, goals), high, total = kind_weights(spots, arena)[step], terms_of(spots), -np.inf, 0.0
    for x in range(starts[spot], starts[spot + 1]):
        if weight[kinds[x]] > -np.inf:
            value = weight[kinds[x]] + goal_ahead(spots_address, step + 1, int64(goals[x]))
            high, total = with_value(high, total, value)
    return high + np.log(total) if total > 0.0 else high


@part
def mark_tops(address, spots_address, step, control, marks, by):
    """Adds to the marks of the symbols that may be on top of a control, from the left (1) and from the right (2)."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    shape = spots[Spots.STEPS] + 1, arena[StackSets.CONTROLS]
    left = int64(carray(pointer(spots[Spots.LEFT]), shape, np.int32)[step, control])
    right = int64(carray(pointer(spots[Spots.RIGHT]), shape, np.int32)[step, control])
    if left == 0 or right == 0:
        return False
    for side in range(2):
        words = words_of(arena, left if side == 0 else right)
        for i in range(1, len(words), 2):
            marks[words[i]] += by * (side + 1)
    return True


@kernel("void(int64, int64, int64, int64)", seconds=4)
def weigh_spots(address, spots_address, first, last):
    """AHEAD at the boundaries from `last - 1` down to `first`, those behind them are known; at the right edge any symbol will do
    that may be on top."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    controls, symbols = arena[StackSets.CONTROLS], arena[StackSets.SYMBOLS]
    numbers, (starts, kinds, goals) = spot_numbers(spots, arena), terms_of(spots)
    factors, of_classes = np.empty(arena[StackSets.KINDS]), np.empty(arena[StackSets.CLASSES])
    values, marks, is_sum = np.empty(spots[Spots.GOALS]), np.zeros(symbols, np.int32), spots[Spots.IS_SUM] != 0
    for step in range(last - 1, first - 1, -1):
        ahead, scale, is_edge = spots_ahead(spots)[step], 0.0, step == spots[Spots.STEPS]
        if not is_edge and not is_sum:
            best_of_kinds(address, spots_address, int64(step), values)
            factors[:] = kind_weights(spots, arena)[step]
        elif not is_edge:
            scale = weigh_goals(spots_address, step + 1, values)
            scale += weigh_kinds(address, spots_address, int64(step), factors, of_classes)
        ahead[:] = -np.inf
        for c in range(controls):
            if not mark_tops(address, spots_address, int64(step), int64(c), marks, 1):
                continue
            for symbol in range(symbols):
                spot = int64(numbers[c, symbol])
                if marks[symbol] != 3 or spot < 0:
                    continue
                if is_edge:
                    ahead[spot] = 0.0
                    continue
                total, best = 0.0, -np.inf
                if not is_sum:
                    for x in range(starts[spot], starts[spot + 1]):
                        best = max(best, factors[kinds[x]] + values[goals[x]])
                    ahead[spot] = best
                    continue
                for x in range(starts[spot], starts[spot + 1]):
                    total += factors[kinds[x]] * values[goals[x]]
                if total >= SURE:
                    ahead[spot] = np.log(total) + scale
                elif total > 0.0:
                    ahead[spot] = sum_of_terms(address, spots_address, int64(step), spot)
            mark_tops(address, spots_address, int64(step), int64(c), marks, -1)
