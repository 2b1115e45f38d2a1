"""Runs: characters of some byte classes in any order, of a fixed or unlimited number: `[A-Za-z0-9]{8}-`, `[a-z0-9_]+`.

All tokens of such characters alone, up to a length, form a base row that all schemas share. It contains most of what a language
accepts, and subtrees with only such characters need not be walked: 256 nodes of Llama 3.1's trie instead of 59,312 for
`[A-Za-z0-9]+`.
"""

from numba import int32, int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets
from grammarlm.layout.json import SHARED_BIT, At, Want
from grammarlm.layout.json_calls import RUN_ROWS
from grammarlm.layout.json_strings import CHARACTERS_AT, MANY_CHARACTERS

from .languages import note_missing, table_of

LONGEST_RUN, ENDLESS_RUN = 24, 1 << 20  # longest run that is counted; unlimited
LETTERS_LOW, LETTERS_HIGH = int64(0b110000), int64(0b001100)  # the classes of letters


@inlined
def ask_for(arena, state):
    """Notes a missing state, before any walk is begun that would have to restart."""
    note_missing(arena, state)
    arena[At.WANTED] |= Want.WAITS


@part
def run_of(arena, state, left):
    """The run at a state: (byte classes of ASCII, number of characters, does it end there?).

    The run is as many characters of these classes as are allowed from the state, in any order; if it ends there, no more of them
    can follow. `left` is how many characters may follow in all. No classes if a row is not worthwhile. Handles `[A-Za-z0-9]{8}-` as
    well as `[a-z0-9_]+`. Missing states of the run are noted.
    """
    table, classes = table_of(arena, state), octets(arena, At.CLASSES)
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
        later = int64(table[at + (0x61 if run & LETTERS_LOW == LETTERS_LOW else 0x41)])
        for byte in range(0x20, 0x80):
            if run >> int64(classes[byte]) & 1 and int64(table[at + byte]) != later:
                return run, count, False
        if later == now:
            break
        if later < 0:
            return run, count, True
        state, now = now, later
        count += 1
    if count < min(left, int64(LONGEST_RUN)):  # from here on it is a cycle
        count = int64(ENDLESS_RUN)
    return run, min(count, left), count >= left


@part
def base_of_run(arena, run, most):
    """The index of the base row of all tokens of these classes with at most `most` characters, cached; 0: no room."""
    most = min(most, arena[At.MOST_CHARACTERS])
    keys = longs(arena, At.RUN_KEYS)
    for i in range(keys[0]):
        if keys[1 + 2 * i] == run and keys[2 + 2 * i] == most:
            return arena[At.RUN_BASE] + i
    if keys[0] >= RUN_ROWS:
        return int64(0)
    number = keys[0]
    width = arena[At.BASE_WORDS]
    row, alphabets = ints(longs(arena, At.BASES), arena[At.RUN_BASE] + number), longs(arena, At.TOKEN_ALPHABETS)
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
