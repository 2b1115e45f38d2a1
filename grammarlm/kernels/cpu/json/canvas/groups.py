"""Bytes that a state treats alike: the step of one is that of all.

Bytes of a group are alike by what JSON says of them in the state's place; in a language also its automaton must lead to the same
state, and bytes with which one of the keys or words that are begun goes on stand alone.
"""

import numpy as np
from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import longs, octets
from grammarlm.layout.json import FIELD, NO_LANGUAGE, ROW, At, Key, Kind, Object
from grammarlm.layout.json_canvas import RANGE, STATE_WORDS, Explore
from grammarlm.layout.json_strings import BACKSLASH, BODY, LAST_1, LOW_BACKSLASH, LOW_U

ALONE = 255  # a byte of no group
SYNTAX, NUMBERS, TEXT, ESCAPED, DIGITS, CONTINUED = range(6)  # places
LONE_BYTES = {
    SYNTAX: b' \t\r\n"0123456789-+.eE,:[]{}truefalsn',
    NUMBERS: b" \t\r\n0123456789-+.eE,]}",
    ESCAPED: b'"\\/bfnrtu',
    DIGITS: b"0123456789abcdefABCDEF",
}


def _groups() -> np.ndarray:
    """uint8 [place, 256]: the group of each byte, ALONE: none."""
    found = np.zeros((6, 256), np.uint8)
    for place, lone in LONE_BYTES.items():
        found[place, list(lone)] = ALONE
    lengths = np.array(
        [0, 0x20, 0x80, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4, 0xF5]
    )  # how a character may begin
    found[TEXT] = np.searchsorted(lengths, np.arange(256), side="right")
    found[TEXT, [0xEE, 0xEF]] = found[TEXT, 0xE1]
    found[TEXT, list(b'"\\')] = ALONE
    found[CONTINUED] = np.searchsorted(np.array([0x80, 0x90, 0xA0, 0xC0]), np.arange(256), side="right")
    return found


GROUPS = _groups()


@inlined
def place_of(kind, sub):
    """The row of GROUPS."""
    found = int64(SYNTAX)
    if kind == Kind.NUMBER:
        found = int64(NUMBERS)
    elif kind == Kind.STRING or kind == Kind.WORD or kind == Kind.KEY:
        if sub == BODY:
            found = int64(TEXT)
        elif sub >= LAST_1:
            found = int64(CONTINUED)
        elif sub == BACKSLASH or sub == LOW_BACKSLASH or sub == LOW_U:
            found = int64(ESCAPED)
        else:
            found = int64(DIGITS)
    return found


@part
def mark_next(arena, table, low, high, read, lone):
    """The bytes with which one of some keys goes on."""
    program, blob = longs(arena, At.PROGRAM), octets(arena, At.BLOB)
    for i in range(low, high):
        key = table + i * Key.LENGTH
        if program[key + Key.SIZE] > read:
            lone[blob[program[key + Key.BYTES] + read]] = 1


@part
def mark_lone(arena, work, state, lone):
    """Marks the bytes that stand alone in a state. Returns the state of a language on which the step hangs, too; -1: none."""
    states, program = longs(work, Explore.STATES), longs(arena, At.PROGRAM)
    at = state * STATE_WORDS
    c, x, track = states[at], states[at + 5], states[at + 4] & int64(RANGE)
    kind, row = c & 31, c >> 11 & ROW
    if kind == Kind.STRING:
        return x if x != 0 else int64(-1)
    if kind != Kind.KEY and kind != Kind.WORD:
        return int64(-1)
    table = program[row + Object.KEYS] if kind == Kind.KEY else row
    mark_next(arena, table, x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD, lone)
    if kind == Kind.WORD:
        return int64(-1)
    mark_next(arena, work[Explore.WORDS], track & FIELD, track >> 21 & FIELD, track >> 42 & FIELD, lone)
    language = c >> 35
    return language if 0 < language < NO_LANGUAGE else int64(-1)
