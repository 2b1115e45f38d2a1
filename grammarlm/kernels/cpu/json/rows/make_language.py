"""Computes rows in strings and keys of a language: the tokens that stay in them, and those that close them."""

from numba import int64

from grammarlm.kernels.cpu.jit import copy_bytes, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets, set_bit, thread
from grammarlm.kernels.cpu.json.step.keys import with_other
from grammarlm.kernels.cpu.json.step.languages import after, case_of, goes_on_as_text, is_total, table_of
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.kernels.cpu.json.step.unique import with_text
from grammarlm.layout.json import BARRIER, DEAD, FIELD, SHARED_BIT, At, Kind, Object, Shape, Want

from .closers import BASE_BODY, BASE_ZERO, keep_filtered, other_keys
from .correct import ANY_CASE, differ
from .language_walk import note_ends, run_language
from .rows import copy_base
from .tries import bytes_before, clear_below
from .walk import emptied_filter, filter_closers, visit

FEW_LEFT = 8  # characters: with fewer left, a row has little of an ordinary string's body


@part
def make_string(arena, c, x, y, f, own, row):
    """In a string of a language: the tokens that stay in it, and a filter of those that close it (crossings if unique).

    Returns the base row's index.
    """
    program = longs(arena, At.PROGRAM)
    counted = own if program[own] > 0 or program[own + 1] >= 0 else int64(0)
    if counted == 0 and f == BARRIER and is_total(arena, x):  # any token that stays in a string stays in this one
        copy_base(arena, int64(BASE_BODY), row)
        filter_closers(arena, c, x, y, f)
        return int64(BASE_BODY)
    left = arena[At.MOST_CHARACTERS]
    if program[own + 1] >= 0:
        left = min(left, program[own + 1] - (y >> 24))
    is_body = left >= FEW_LEFT and goes_on_as_text(arena, x)
    base = int64(BASE_BODY if is_body else BASE_ZERO)
    missing = longs(arena, At.MISSING)
    if missing[0] != 0:
        return base
    if is_body and left < arena[At.MOST_CHARACTERS]:
        body = longs(arena, At.LIMITED)[left]
        if body == 0:
            arena[At.WANTED] |= Want.LIMITED | left << 8
            return base
        copy_bytes(row.ctypes.data, body, 4 * arena[At.BASE_WORDS])
    else:
        copy_base(arena, base, row)
    closings, escapes = run_language(arena, x, counted, y >> 24, int64(0), is_body, row)
    if missing[0] != 0:
        return base
    if max(closings, escapes) > arena[At.NOTED_CAPACITY]:
        arena[At.WANTED] |= Want.NOTED
        return base
    closed, escaped, filtered = longs(arena, At.CLOSED), longs(arena, At.ESCAPED), emptied_filter(arena)
    closing, next_closing = ints(arena, At.CLOSING), int64(0)
    for i in range(closings):
        while closing[3 * next_closing] < closed[3 * i]:  # both are sorted, and every closing node is in the list
            next_closing += 1
        for j in range(closing[3 * next_closing + 1], closing[3 * next_closing + 1] + closing[3 * next_closing + 2]):
            set_bit(filtered, j)
    arena[At.FILTER_ON] = 1 if closings > 0 else 0
    if f != BARRIER:  # the row is not cached: the real frame continues after the quote
        arena[At.FILTER_ON] = 0
        for i in range(closings):  # as if the string were new: `strike` corrects it
            visit(arena, closed[3 * i], thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f, row)
    for i in range(escapes):
        if is_body:
            clear_below(arena, escaped[3 * i], row)
        g = f if f == BARRIER else with_path(arena, escaped[3 * i], f)
        c2, x2, y2, f2 = step(
            arena, thread(Kind.STRING, 0, own, 0), escaped[3 * i + 1], escaped[3 * i + 2] << 24, g, int64(92), int64(0)
        )
        if c2 != DEAD:
            visit(arena, escaped[3 * i], c2, x2, y2, f2, row)
    return base


@part
def probe_strings(arena, node):
    """Notes missing first states of the languages of a node's strings."""
    program = longs(arena, At.PROGRAM)
    if node < 0:
        return
    for i in range(program[node]):
        if program[node + 2 + 2 * i] == Shape.STRING:
            start = program[program[node + 3 + 2 * i] + 2]
            if start != 0:
                after(arena, start, int64(97))


@part
def with_path(arena, node, f):
    """The frame of a unique item, extended by the bytes that lead from the root of the vocabulary's trie to the node's parent."""
    offset, above = bytes_before(arena, node)
    data = octets(arena, At.DATA)
    for i in range(above):
        f = with_text(arena, f, int64(data[offset + i]))
    return f


@part
def make_total_key(arena, c, x, y, f, own, row):
    """In a key of a language that any key can continue: the tokens that stay in a string, and a filter of those that close it."""
    program = longs(arena, At.PROGRAM)
    other_keys(arena, program[program[own + Object.CASES]], with_other(arena, f, y >> 24), own, row)
    filter_closers(arena, c, x, y, f)
    keep_filtered(arena, row)
    if x & FIELD < x >> 21 & FIELD:
        differ(arena, int64(-1), c, x, y, f, int64(ANY_CASE), row)


@part
def make_key(arena, c, x, y, f, own, usual, is_body, row):
    """In a key, where other keys are of a language. `usual` is the case that the row was computed for, 0: none."""
    program = longs(arena, At.PROGRAM)
    missing = longs(arena, At.MISSING)
    cases = program[own + Object.CASES]
    for i in range(program[own + Object.CASE_COUNT]):
        probe_strings(arena, program[cases + i])
    if missing[0] != 0:
        return  # the walk would have to restart
    state = c >> 35
    if usual != 0 and program[cases - 1] != 0 and table_of(arena, state)[(state & (SHARED_BIT - 1)) * 256 + 0x61] > 0:
        closings, escapes = note_ends(arena, state, usual)
    else:
        closings, escapes = run_language(arena, state, int64(0), int64(0), usual, is_body, row)
    if usual == 0 and missing[0] != 0:
        return
    if max(closings, escapes) > arena[At.NOTED_CAPACITY]:
        arena[At.WANTED] |= Want.NOTED
        return
    closed, escaped = longs(arena, At.CLOSED), longs(arena, At.ESCAPED)
    after_key = with_other(arena, f, y >> 24)
    for i in range(closings):
        case = case_of(arena, closed[3 * i + 1])
        if usual != 0:
            clear_below(arena, closed[3 * i], row)
        if case != 0:
            colon = thread(Kind.COLON, 0, program[cases + case - 1], 0)
            visit(arena, closed[3 * i], colon, int64(0), int64(0), after_key, row)
    for i in range(escapes):
        c2, x2, y2, f2 = step(arena, thread(Kind.KEY, 0, own, escaped[3 * i + 1]), int64(0), y, f, int64(92), int64(0))
        if usual != 0 or is_body:
            clear_below(arena, escaped[3 * i], row)
        if c2 != DEAD:
            visit(arena, escaped[3 * i], c2, x2, y2, f2, row)
    if x & FIELD < x >> 21 & FIELD:
        differ(arena, int64(-1), c, x, y, f, int64(ANY_CASE), row)
