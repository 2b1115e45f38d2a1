"""Masks and steps of an automaton on the CPU, for a whole batch per call; `reference_csr` defines them."""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, kernel, pointer
from grammarlm.layout.csr import DEAD, MISS

PLACES = 9  # of a table of addresses: the seven arrays, then words per row, then batch size


@inlined
def _at(table, place, state):
    """An element of one of the arrays over states."""
    return carray(pointer(table[place]), state + 1, np.int32)[state]


@kernel("void(int64, int64, int64, int64)")
def csr_advance(table_address, states_address, tokens_address, asked_address):
    table = carray(pointer(table_address), PLACES, np.int64)
    words, batch = table[7], table[8]
    states = carray(pointer(states_address), batch, np.int32)
    tokens = carray(pointer(tokens_address), batch, np.int64)
    asked = carray(pointer(asked_address), (batch, 2), np.int32)
    for b in range(batch):
        state, token = int64(states[b]), tokens[b]
        if state == MISS:
            continue
        low = int64(_at(table, 3, state))
        end = low + _at(table, 4, state)
        high = end
        while low < high:
            middle = (low + high) >> 1
            if _at(table, 5, middle) < token:
                low = middle + 1
            else:
                high = middle
        target = int32(DEAD)
        if low < end and _at(table, 5, low) == token:
            target = _at(table, 6, low)
        elif token >= 0 and token < 32 * words:
            word = int64(_at(table, 1, state)) * words + (token >> 5)
            if _at(table, 0, word) >> int32(token & 31) & 1:
                target = _at(table, 2, state)
        if target == MISS:
            asked[b, 0], asked[b, 1] = state, token
        states[b] = target


@kernel("void(int64, int64, int64, int64)")
def csr_fill_mask(table_address, states_address, mask_address, stride):
    table = carray(pointer(table_address), PLACES, np.int64)
    words, batch = table[7], table[8]
    states = carray(pointer(states_address), batch, np.int32)
    for b in range(batch):
        state = int64(states[b])
        row_address = mask_address + b * stride
        copy_bytes(row_address, table[0] + int64(_at(table, 1, state)) * words * 4, words * 4)
        row = carray(pointer(row_address), words, np.int32)
        first = int64(_at(table, 3, state))
        for place in range(first, first + _at(table, 4, state)):
            token = _at(table, 5, place)
            bit = int32(1) << int32(token & 31)
            if _at(table, 6, place) == DEAD:
                row[uint64(token) >> uint64(5)] &= ~bit
            else:
                row[uint64(token) >> uint64(5)] |= bit


@kernel("void(int64, int64, int64)")
def csr_gather_rows(places_address, numbers_address, batch):
    places = carray(pointer(places_address), 5, np.int64)
    numbers = carray(pointer(numbers_address), batch, np.int32)
    for b in range(batch):
        if numbers[b] >= 0:
            copy_bytes(places[2] + b * places[3], places[0] + int64(numbers[b]) * places[1], places[4])
