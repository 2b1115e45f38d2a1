"""What ends a number, by a search in depth: bytes are tried where the number is live, under a cap on its digits that leaves room
for no more than may still be written. So a digit is live only if the end is near, and the search hardly ever turns back."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.kernels.cpu.json.step.number_values import NOWHERE, PLUS, has_idle_zero, word
from grammarlm.kernels.cpu.json.step.numbers import number_ends, number_step
from grammarlm.layout.json import At
from grammarlm.layout.json_calls import Rests
from grammarlm.layout.numbers import (
    AT_ZERO,
    COUNT,
    COUNT_MASK,
    EXPONENT,
    FRACTION,
    INTEGER,
    NOUGHTS,
    PLACE,
    POWER,
    Bound,
    Flag,
    Number,
)

from .fields import arena_of

LETTERS = np.frombuffer(b"0123456789.e-+", np.uint8)
MOST_STEPS = 20_000
LEADING = (  # columns that lead to what is behind a row
    int(Number.EXCLUDED_AT),
    int(Number.POSITIVE + Bound.LOW_AT),
    int(Number.POSITIVE + Bound.HIGH_AT),
    int(Number.NEGATIVE + Bound.LOW_AT),
    int(Number.NEGATIVE + Bound.HIGH_AT),
)


@part
def rests_of_number(address, order_address):
    """Writes texts that end a number, each with a newline behind it, and returns their size."""
    order = carray(pointer(order_address), int64(Rests.LENGTH), np.int64)
    row, tight = arena_of(address)[At.PROGRAM] + order[Rests.ROW] * 8, order_address + int64(Rests.TIGHT) * 8
    for i in range(Number.LENGTH):
        order[Rests.TIGHT + i] = word(row, int64(i))
    for i in LEADING:
        order[Rests.TIGHT + i] += (row - tight) // 8  # what they lead to is not copied
    longest, spare = order[Rests.LONGEST], int64(0)  # bytes of an exponent
    if order[Rests.WITH_EXPONENT]:
        spare = int64(4 if word(row, int64(Number.FLAGS)) & Flag.TIDY else 2)
    else:
        order[Rests.TIGHT + Number.BELOW], order[Rests.TIGHT + Number.ABOVE] = NOWHERE, -NOWHERE
    texts = carray(pointer(order[Rests.TEXTS]), (longest + 1) * order[Rests.MOST], np.uint8)
    stack = np.empty((longest + 1, 3), np.int64)  # state, next letter to try
    stack[0, 0], stack[0, 1], stack[0, 2] = order[Rests.X], order[Rests.Y], 0
    path = np.empty(longest + 1, np.uint8)
    path[longest] = 10
    depth, steps, found, used = int64(0), int64(0), int64(0), int64(0)
    while depth >= 0 and steps < MOST_STEPS and found < order[Rests.MOST]:
        x, y, at = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        is_shortest = depth == 0 or not _has_spare_zero(x)
        if at == 0 and depth >= order[Rests.SHORTEST] and is_shortest and _is_end(tight, x, y, spare):
            texts[used : used + depth] = path[:depth]
            texts[used + depth] = 10
            used += depth + 1
            found += 1
        if depth == longest or at == len(LETTERS):
            depth -= 1
            continue
        phase, count = x & 15, (x >> COUNT) & COUNT_MASK
        more = longest - depth - (spare if phase < EXPONENT else 0)
        if phase < INTEGER:
            count = int64(0)
            zeros = x >> PLACE if phase == NOUGHTS else int64(0)
            order[Rests.TIGHT + Number.LEAST] = max(word(row, int64(Number.LEAST)), -1 - zeros - more)
        order[Rests.TIGHT + Number.DIGITS] = min(word(row, int64(Number.DIGITS)), count + more)
        letter = int64(LETTERS[at])
        stack[depth, 2] += 1
        steps += 1
        if letter == PLUS + 48 and word(row, int64(Number.FLAGS)) & Flag.TIDY == 0:
            continue
        x, y = number_step(tight, x, y, letter)
        is_apart = INTEGER <= x & 15 <= FRACTION and (x >> PLACE) != AT_ZERO  # no exponent can follow
        if x >= 0 and not (spare and is_apart):
            path[depth] = letter
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = x, y, 0
    return used


@part
def _is_end(row, x, y, spare):
    """May the number end here, with an exponent if there is room for one?"""
    return (spare == 0 or x & 15 == POWER) and number_ends(row, x, y)


@part
def _has_spare_zero(x):
    """Could the number end a zero before?"""
    phase = x & 15
    return (phase == NOUGHTS and x >> PLACE > 1) or (phase == FRACTION and has_idle_zero(x))
