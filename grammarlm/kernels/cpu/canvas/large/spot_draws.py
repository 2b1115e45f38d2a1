"""Completions drawn exactly, by rejection, each row as one: what it leads to is a state (sets.py), all its controls and stacks.

In a state whose spots (spots.py) have the sum a together, the class of the next token is drawn by what spots say of each; its state
has the sum b, no more than they said, and with what is left the try ends. So a row is drawn with the product of its weights, over
the sum of the beginning, however many derivations it has.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.spots import Spots
from grammarlm.layout.stack_sets import StackSets

from ..bits import has_bit, lowest
from ..sets.patterns import RUN, pattern_of
from ..sets.records import kinds_of, sets_arena, words_of
from ..sets.steps import forward_step
from .spot_sums import class_scores, goal_ahead, kind_weights, spots_ahead
from .spots import spot_numbers, spots_of, terms_of, with_value


@part
def open_spots(address, spots_address, step, state, found):
    """The spots of a state from which a row can go on, perhaps. Returns how many."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    ahead, numbers, count = spots_ahead(spots)[step], spot_numbers(spots, arena), int64(0)
    words = words_of(arena, state)
    runs = words_of(arena, pattern_of(arena, state))
    for i in range(1, len(runs), RUN):
        stacks = words_of(arena, int64(words[1 + runs[i + 2]]))
        for c in range(runs[i], min(int64(runs[i + 1]), arena[StackSets.CONTROLS])):
            for j in range(1, len(stacks), 2):
                spot = int64(numbers[c, stacks[j]])
                if spot >= 0 and ahead[spot] > -np.inf:
                    found[count] = int32(spot)
                    count += 1
    return count


@part
def sum_ahead(spots_address, step, found, count):
    """The log of the sum over some spots."""
    ahead, high, total = spots_ahead(spots_of(spots_address))[step], -np.inf, 0.0
    for n in range(count):
        high = max(high, ahead[found[n]])
    if high == -np.inf:
        return high
    for n in range(count):
        total += np.exp(ahead[found[n]] - high)
    return high + np.log(total)


@part
def drawn_kind(address, spots_address, step, found, count, whole, uniform):
    """The kind of an edge from some spots, whose sum is `whole`."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    ahead, weight, (starts, kinds, goals) = spots_ahead(spots)[step], kind_weights(spots, arena)[step], terms_of(spots)
    left, kind = uniform, int64(-1)
    for n in range(count):
        spot = int64(found[n])
        share = np.exp(ahead[spot] - whole)
        if left >= share and n + 1 < count:
            left -= share
            continue
        for x in range(starts[spot], starts[spot + 1]):
            if weight[kinds[x]] == -np.inf:
                continue
            share = np.exp(weight[kinds[x]] + goal_ahead(spots_address, step + 1, int64(goals[x])) - whole)
            if share > 0.0:
                kind = int64(kinds[x])
                left -= share
                if left < 0.0:
                    return kind
        if kind >= 0:  # but for rounding
            return kind
    return kind


@part
def drawn_of_kind(address, spots_address, step, kind, uniform):
    """A class of a kind."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    kinds, scores, whole = kinds_of(arena), class_scores(spots, arena)[step], kind_weights(spots, arena)[step, kind]
    left, found = uniform, int64(-1)
    for w in range(arena[StackSets.KIND_WORDS]):
        bits = kinds[kind, w]
        while bits:
            k = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            share = np.exp(scores[k] - whole)
            if share > 0.0:
                found = k
                left -= share
                if left < 0.0:
                    return found
    return found


@part
def sum_of_class(address, spots_address, step, found, count, token_class):
    """The log of the sum over all that a class may lead to from some spots."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    every, (starts, kinds, goals), high, total = kinds_of(arena), terms_of(spots), -np.inf, 0.0
    for n in range(count):
        for x in range(starts[found[n]], starts[found[n] + 1]):
            if has_bit(every, int64(kinds[x]), token_class):
                value = goal_ahead(spots_address, step + 1, int64(goals[x]))
                high, total = with_value(high, total, value)
    return high + np.log(total) if total > 0.0 else high


@kernel("int64(int64, int64, int64, int64, int64)", seconds=5)
def spots_draw(address, spots_address, state, uniforms_address, count):
    """Writes the classes of a row from a state, and the state that they lead to: those of the first try that does not end early.
    Tries take uniform numbers, float64 [count], from USED on, and none begins that could run out of them. Returns 1; 0 where all
    tries ended early, or there is no room."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    steps, size = spots[Spots.STEPS], arena[StackSets.CONTROLS] * arena[StackSets.SYMBOLS]
    uniforms = carray(pointer(uniforms_address), count, np.float64)
    row = carray(pointer(spots[Spots.ROW]), steps, np.int32)
    classes = carray(pointer(spots[Spots.FOUND]), steps, np.int32)
    open_here = np.empty(min(size, spots[Spots.SPOTS]), np.int32)
    while spots[Spots.USED] + 3 * steps + 1 <= count:
        used, here, is_open = spots[Spots.USED], state, True
        some = open_spots(address, spots_address, int64(0), here, open_here)
        whole = sum_ahead(spots_address, int64(0), open_here, some)
        for i in range(steps):
            token_class = int64(row[i])
            if token_class < 0:
                kind = drawn_kind(address, spots_address, int64(i), open_here, some, whole, uniforms[used])
                if kind < 0:
                    is_open = False
                    break
                token_class = drawn_of_kind(address, spots_address, int64(i), kind, uniforms[used + 1])
                used += 2
            said = sum_of_class(address, spots_address, int64(i), open_here, some, token_class)
            here = forward_step(address, here, token_class)
            if arena[StackSets.FULL]:
                return int64(0)
            some = open_spots(address, spots_address, int64(i) + 1, here, open_here)
            whole = sum_ahead(spots_address, int64(i) + 1, open_here, some)
            used += 1
            if np.log(uniforms[used - 1]) >= whole - said:
                is_open = False
                break
            classes[i] = int32(token_class)
        if is_open:
            used += 1
            is_open = np.log(uniforms[used - 1]) < -whole
        spots[Spots.USED] = used
        if is_open:
            spots[Spots.END] = here
            return int64(1)
    return int64(0)
