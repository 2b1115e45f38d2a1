"""Runs: characters of some classes in any order, as many as the language says, or as one likes: `[A-Za-z0-9]{8}-`, `[a-z0-9_]+`.

All tokens of such characters alone, with at most so many of them, are a base row that all schemas share. Most of what a language
takes is in it, and what holds nothing else need not be walked: 256 nodes of Llama 3.1's trie instead of 59,312 for `[A-Za-z0-9]+`.
"""

import numpy as np
from numba import carray, int32, int64

from ...layout.json import SHARED_BIT, WAITS, At
from .jit import inlined, part, pointer
from .json_languages import CHARACTERS_AT, MANY_CHARACTERS, note_missing, table_of

RUN_ROWS = 256  # base rows of runs that are kept
LONGEST_RUN, ENDLESS_RUN = 24, 1 << 20  # characters that are counted; and as many as anyone likes
LETTERS_LOW, LETTERS_HIGH = int64(0b110000), int64(0b001100)  # the classes of letters


@inlined
def ask_for(arena, state):
    """The state is lacking, and no others that are not named: no walk is begun that would have to begin anew."""
    note_missing(arena, state)
    arena[At.WANTED] |= WAITS


@part
def run_of(arena, state, left):
    """A run: (classes of ASCII, characters, does it end there?). As many characters of these classes as that may come in the state,
    in any order, and where it ends no more of them; `left` is how many may come in all. No classes where that is not worth a row.

    So it is in `[A-Za-z0-9]{8}-` as in `[a-z0-9_]+`. States of the run that are not made yet are noted.
    """
    table, classes = table_of(arena, state), carray(pointer(arena[At.CLASSES]), 256, np.uint8)
    none = int64(0)
    at = (state & (SHARED_BIT - 1)) * 256
    if table[at] == 0:
        ask_for(arena, state)
        return none, none, False
    first = int64(table[at + 0x61])
    if first <= 0:
        first = int64(table[at + 0x41])
    if first <= 0:
        return none, none, False
    run = int64((1 << CHARACTERS_AT) - 1)
    for byte in range(0x20, 0x80):
        if int64(table[at + byte]) != first:
            run &= ~(int64(1) << int64(classes[byte]))
    if run & LETTERS_LOW != LETTERS_LOW and run & LETTERS_HIGH != LETTERS_HIGH:
        return none, none, False
    count, now = int64(1), first
    while now != state and count < min(left, int64(LONGEST_RUN)):
        at = (now & (SHARED_BIT - 1)) * 256
        if table[at] == 0:
            ask_for(arena, now)
            return none, none, False
        behind = int64(table[at + (0x61 if run & LETTERS_LOW == LETTERS_LOW else 0x41)])
        for byte in range(0x20, 0x80):
            if run >> int64(classes[byte]) & 1 and int64(table[at + byte]) != behind:
                return run, count, False
        if behind == now:
            break
        if behind < 0:
            return run, count, True
        state, now = now, behind
        count += 1
    if count < min(left, int64(LONGEST_RUN)):  # from here on it goes round
        count = int64(ENDLESS_RUN)
    return run, min(count, left), count >= left


@part
def base_of_run(arena, run, most):
    """The number of the base row of all tokens of these classes with at most so many characters; 0: there is no room for it."""
    most = min(most, arena[At.MOST_CHARACTERS])
    keys = carray(pointer(arena[At.RUN_KEYS]), 1 + 2 * RUN_ROWS, np.int64)
    for i in range(keys[0]):
        if keys[1 + 2 * i] == run and keys[2 + 2 * i] == most:
            return arena[At.RUN_BASE] + i
    if keys[0] >= RUN_ROWS:
        return int64(0)
    number = keys[0]
    width = arena[At.BASE_WORDS]
    row = carray(pointer(arena[At.RUN_ROWS] + 4 * width * number), width, np.int32)
    alphabets = carray(pointer(arena[At.TOKEN_ALPHABETS]), 32 * width, np.int64)
    outside = ~run & ~(int64(MANY_CHARACTERS) << int64(CHARACTERS_AT))
    for word in range(width):
        bits = int32(0)
        for i in range(32):
            found = alphabets[32 * word + i]
            if found & outside == 0 and found >> CHARACTERS_AT & MANY_CHARACTERS <= most:
                bits |= int32(1) << int32(i)
        row[word] = bits
    keys[1 + 2 * number], keys[2 + 2 * number] = run, most
    keys[0] = number + 1
    return arena[At.RUN_BASE] + number
