"""Sets of stacks and states without the stacks of more than so many symbols."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Question, Record, StackSets

from .patterns import list_runs, pattern_of
from .plans import finish_shape, shape, state_of
from .records import answer, keep_answer, record, sets_arena, words_of
from .stack_sets import LONGEST_FRAME


@part
def lowered(address, stacks, height):
    """Of a set, the stacks of at most so many symbols. Answers are kept as 1 + the set."""
    if stacks == 0:
        return int64(0)
    known = answer(address, Question.LOWERED, stacks, height)
    if known:
        return known - 1
    arena = sets_arena(address)
    frames = carray(pointer(arena[StackSets.FRAMES]), (arena[StackSets.FRAME_CAPACITY], LONGEST_FRAME), np.int64)
    pairs = carray(pointer(arena[StackSets.PAIRS]), arena[StackSets.PAIR_CAPACITY], np.int32)
    frames[0, 0], frames[0, 1], frames[0, 2] = stacks, 1, 0  # a set, its next word, where its words begin among PAIRS
    pairs[0] = Record.SET
    depth, used, made = int64(0), int64(1), int64(-1)
    while depth >= 0:
        here, at, start = frames[depth, 0], frames[depth, 1], frames[depth, 2]
        words, left = words_of(arena, here), height - depth
        if used + len(words) + 2 > arena[StackSets.PAIR_CAPACITY] or depth + 2 > arena[StackSets.FRAME_CAPACITY]:
            arena[StackSets.FULL] = 2
        if arena[StackSets.FULL]:
            return int64(0)
        descends = False
        while at < len(words):
            symbol = int64(words[at])
            if symbol == ROOT:
                pairs[used], pairs[used + 1] = symbol, words[at + 1]
                used += 2
            elif left > 0:
                below = int64(words[at + 1])
                if made < 0:
                    known = answer(address, Question.LOWERED, below, left - 1)
                    if known == 0:
                        frames[depth, 1] = at
                        depth += 1
                        frames[depth, 0], frames[depth, 1], frames[depth, 2] = below, 1, used
                        pairs[used] = Record.SET
                        used += 1
                        descends = True
                        break
                    made = known - 1
                if made > 0:
                    pairs[used], pairs[used + 1] = symbol, made
                    used += 2
                made = int64(-1)
            at += 2
        if descends:
            continue
        count = used - start
        made = record(address, arena[StackSets.PAIRS] + 4 * start, count, int64(1)) if count > 1 else int64(0)
        keep_answer(address, Question.LOWERED, here, left, made + 1)
        used = start
        depth -= 1
    return made


@part
def lowered_state(address, state, height):
    """A state without the stacks of more than so many symbols."""
    found = answer(address, Question.LOWERED_STATE, state, height)
    if found:
        return found
    arena = sets_arena(address)
    count, is_same = int64(len(words_of(arena, state))) - 2, True
    chosen = carray(pointer(arena[StackSets.CHOSEN]), arena[StackSets.EDGES] + arena[StackSets.POINTS] + 2, np.int32)
    chosen[0] = 0
    for i in range(count):
        stacks = int64(words_of(arena, state)[2 + i])
        chosen[1 + i] = lowered(address, stacks, height)
        is_same = is_same and chosen[1 + i] == stacks
    if arena[StackSets.FULL]:
        return int64(0)
    if is_same:
        keep_answer(address, Question.LOWERED_STATE, state, height, state)
        return state
    pattern = pattern_of(arena, state)
    shaped = shape(address, pattern, count)
    if arena[StackSets.FULL]:
        return int64(0)
    made = int64(carray(pointer(arena[StackSets.VALUE]), arena[StackSets.RECORD_CAPACITY], np.int32)[shaped])
    if made == 0:
        made = finish_shape(address, shaped, list_runs(address, pattern, int64(1)))
    if arena[StackSets.FULL]:
        return int64(0)
    low = state_of(address, made)
    keep_answer(address, Question.LOWERED_STATE, state, height, low)
    return low
