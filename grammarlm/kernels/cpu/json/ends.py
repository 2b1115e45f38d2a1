"""Which states tokens lead to, for token budgets: tokens after which a text can be completed alike form one **class**.

`survey_tokens` reads all tokens of a trie from a thread and writes pairs (token, class). A class is represented by one of its
threads; masks/machines/json/endings/completion.py computes the shortest completion from there. Two threads are alike if no
completion computed for one depends on how they differ: which other keys were read, what was read of a string that may end, ...

Frames and chains that a class needs are kept; the caller rolls them back when it is done.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.rows.tries import beyond, first_child, lists_bytes, push
from grammarlm.kernels.cpu.json.step.blanks import blanks
from grammarlm.kernels.cpu.json.step.frames import begun_like, same_registers
from grammarlm.kernels.cpu.json.step.languages import is_universal
from grammarlm.kernels.cpu.json.step.numbers import number_ends
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.kernels.cpu.json.step.text import BODY, LAST_1
from grammarlm.kernels.cpu.json.step.unique import is_unique, number_ended
from grammarlm.layout.json import (
    BRACKET,
    DEAD,
    ESCAPE,
    FIELD,
    FOLLOWS,
    NO_LANGUAGE,
    ROW,
    At,
    Frame,
    Gap,
    Kind,
    Trie,
    Want,
)
from grammarlm.layout.json_calls import CLASS_WORDS, QUOTED, Survey

from .fields import arena_of, ints, is_short, longs, octets, thread, uints, ulongs, ushorts
from .reads import verdict

DONE = int(Gap.CAN_START)  # the white space state where a run may end
NO_CLASS = -1


@part
def ends_alike(arena, one, other, mark):
    """Can two frames be completed alike, apart from uniqueness? Frames below the mark are compared by number."""
    if one == other:
        return True
    if one < mark or other < mark:
        return False
    frames, a, b = longs(arena, At.FRAMES), one * Frame.LENGTH, other * Frame.LENGTH
    same = frames[a + Frame.PARENT] == frames[b + Frame.PARENT] and frames[a + Frame.NEEDED] == frames[b + Frame.NEEDED]
    return same and same_registers(arena, one, other)


@inlined
def mixed(known, word):
    known = (known ^ uint64(word)) * uint64(0x9E3779B97F4A7C15)
    return known ^ known >> uint64(29)


@part
def frame_hash(arena, f, mark):
    if f < mark:
        return uint64(f)
    frames = longs(arena, At.FRAMES)
    known = uint64(1)
    for i in range(Frame.LENGTH):
        if i != Frame.OTHERS and i != Frame.TEXT:
            known = mixed(known, frames[f * Frame.LENGTH + i])
    return known


@part
def class_of(arena, survey, c, x, y, f):
    """The number of a thread's class, NO_CLASS if there are too many."""
    program = longs(arena, At.PROGRAM)
    kind = c & 31
    known_x, known_y = x, y
    unique = False
    if kind == Kind.NUMBER:
        unique = is_unique(arena, f)
        if number_ends(arena[At.PROGRAM] + (c >> 11 & ROW) * 8, x, y):
            ended = number_ended(arena, f) if unique else f
            if ended >= 0:
                c, x, y, f = thread(Kind.AFTER, 0, 0, 0), int64(0), int64(DONE), ended
                known_x, known_y = x, y
    elif kind == Kind.STRING or kind == Kind.WORD:
        if c >> 5 & 63 == 0:
            row = c >> 11 & ROW
            unique = is_unique(arena, f)
            if kind == Kind.STRING and x == 0 and y >> 24 < program[row]:
                known_y = program[row] - (y >> 24)
            elif kind == Kind.STRING and x == 0 and not unique:
                c, x, y = thread(Kind.AFTER, 1, 0, 0), int64(0), int64(DONE)
                known_x, known_y = x, y
            else:
                c2, x2, _, f2 = step(arena, c, x, y, f, int64(34), int64(0))
                if c2 != DEAD:
                    c, x, y, f = c2 | QUOTED, x2, int64(DONE), f2
                    known_x, known_y = x, y
                elif unique:  # the continuation must not repeat an item
                    text = longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.TEXT]
                    if begun_like(arena, f, text) != 0:
                        known_y = -1 - text
    elif kind == Kind.KEY:
        known_y = y & ESCAPE
        if c >> 5 & 63 == 0:
            c2, x2, _, f2 = step(arena, c, x, y, f, int64(34), int64(0))
            if c2 != DEAD:
                if x & FIELD < x >> 21 & FIELD:
                    known_y = int64(-1)
                else:
                    c, x, y, f = c2 | QUOTED, x2, int64(DONE), f2
                    known_x, known_y = x, y
            elif begun_like(arena, f, y >> 24) != 0:
                known_y = y  # the continuation must not repeat a key
    elif kind != Kind.LITERAL:
        follows = blanks(arena, y, int64(4))
        if follows == FOLLOWS | BRACKET:
            y = int64(DONE)
        elif follows != 0:
            y = int64(Gap.GOES_ON) if follows == FOLLOWS else int64(Gap.CLOSES)
        known_y = y
        if c >> 5 & 63 != 0 and (kind == Kind.KEYS or kind == Kind.ENTRY):  # a new key (item) must come
            known_y |= longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.OTHERS] << 24
    mark = survey[Survey.FRAMES]
    hashed = mixed(mixed(mixed(mixed(uint64(0), c), known_x), known_y), frame_hash(arena, f, mark))
    found, table = longs(survey, Survey.CLASSES), ints(survey, Survey.TABLE)
    size = uint64(survey[Survey.SIZE] - 1)
    slot = hashed & size
    while table[slot] != 0:
        number = int64(table[slot]) - 1
        at = number * CLASS_WORDS
        if found[at] == c and found[at + 4] == known_x and found[at + 5] == known_y and uint64(found[at + 6]) == hashed:
            if ends_alike(arena, found[at + 3], f, mark):
                return number
        slot = (slot + uint64(1)) & size
    number = survey[Survey.COUNT]
    if number >= survey[Survey.CAPACITY]:
        return int64(NO_CLASS)
    survey[Survey.COUNT] = number + 1
    table[slot] = int32(number + 1)
    at = number * CLASS_WORDS
    found[at], found[at + 1], found[at + 2], found[at + 3] = c, x, y, f
    found[at + 4], found[at + 5], found[at + 6] = known_x, known_y, int64(hashed)
    return number


@part
def note_pair(arena, survey, token, number):
    count = survey[Survey.PAIR_COUNT]
    if count < survey[Survey.PAIR_CAPACITY]:
        pairs = ints(survey, Survey.PAIRS)
        pairs[2 * count], pairs[2 * count + 1] = int32(token), int32(number)
    survey[Survey.PAIR_COUNT] = count + 1  # beyond the capacity: the caller makes room and calls again


@part
def note_node(arena, survey, which, node, c, x, y, f):
    """Notes the tokens that end at a node, if any, with the class of the thread there. Was it a new class?"""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    before = survey[Survey.COUNT]
    if which == 0:
        token = int64(uints(trie, base + Trie.TOKEN)[node])
        if token != arena[At.NOTHING]:
            note_pair(arena, survey, token, class_of(arena, survey, c, x, y, f))
    else:
        first = ints(trie, base + Trie.FIRST)
        tokens = ints(trie, base + Trie.LIST)
        if first[node + 1] < first[node + 2]:
            number = class_of(arena, survey, c, x, y, f)
            for i in range(first[node + 1], first[node + 2]):
                note_pair(arena, survey, int64(tokens[i]), number)
    return survey[Survey.COUNT] != before


@part
def forbid_below(arena, survey, node):
    """Marks all tokens in the subtree of a node of the vocabulary's trie as rejected."""
    trie = longs(arena, At.TRIES)
    tokens = uints(trie, Trie.TOKEN)
    end = ints(trie, Trie.END)
    for i in range(node, end[node]):
        if int64(tokens[i]) != arena[At.NOTHING]:
            note_pair(arena, survey, int64(tokens[i]), int64(NO_CLASS))


@part
def is_ordinary(arena, c, x, y, f):
    """Is the part of the key (or item) read so far no prefix of a key with an entry, nor of one read before?"""
    sub = c >> 5 & 63
    if sub != BODY and sub < LAST_1:
        return False
    if c & 31 == Kind.STRING:
        return begun_like(arena, f, longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.TEXT]) == 0
    state = c >> 35
    if (
        x & FIELD < x >> 21 & FIELD
        or state == NO_LANGUAGE
        or (state != 0 and sub == BODY and not is_universal(arena, state))
    ):
        return False
    return begun_like(arena, f, y >> 24) == 0


@part
def survey_thread(arena, survey, c, x, y, f):
    """Surveys all tokens of a trie from one thread; if ORDINARY is set, only those not ordinary in a key (item)."""
    which, ordinary = survey[Survey.WHICH], survey[Survey.ORDINARY] != 0
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    bytes_of = octets(trie, base + Trie.BYTE)
    depth = ushorts(trie, base + Trie.DEPTH)
    end = ints(trie, base + Trie.END)
    wide = ints(trie, base + Trie.WIDE)
    children = ints(trie, base + Trie.CHILDREN)
    stack, pending = longs(arena, At.STACK), longs(arena, At.PENDING)
    allowed = ulongs(arena, At.ALLOWED)
    jumps = longs(arena, At.JUMPS)
    waiting, at = int64(0), int64(-1)
    if which != 0:
        note_node(arena, survey, which, at, c, x, y, f)
    kept_frames, kept_chains = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    while True:
        start = int64(depth[at]) if at >= 0 else int64(0)
        push(arena, start, c, x, y, f)
        node = int64(at + 1)
        stop = int64(end[at]) if at >= 0 else trie[base + Trie.NODES]
        if not ordinary and node < stop and wide[at + 1] >= 0 and lists_bytes(arena, c, x, f, allowed, 4 * start):
            node = first_child(arena, base, at, stop, start)
        while node < stop and arena[At.WANTED] & Want.OUT_OF_ROOM == 0:
            deep = int64(depth[node])
            top = deep * 6
            if waiting == 0:  # the frames of classes and waiting threads are kept
                arena[At.FRAME_COUNT] = max(stack[top - 2], kept_frames)
                arena[At.CHAIN_COUNT] = max(stack[top - 1], kept_chains)
            byte = int64(bytes_of[node])
            c0, x0, y0, f0 = stack[top - 6], stack[top - 5], stack[top - 4], stack[top - 3]
            c2, x2, y2, f2 = step(arena, c0, x0, y0, f0, byte, int64(0))
            if c2 == DEAD:
                if ordinary:
                    forbid_below(arena, survey, node)
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            if ordinary and (c2 & 31 == Kind.KEY or c2 & 31 == Kind.STRING) and c2 & 31 == c0 & 31:
                if is_ordinary(arena, c2, x2, y2, f2):
                    node = beyond(end, allowed, jumps, children, deep, byte, node)
                    continue
            way = int64(0)
            while arena[At.MORE] != 0:
                way += 1
                c3, x3, y3, f3 = step(arena, c0, x0, y0, f0, byte, way)
                if waiting + 1 >= arena[At.PENDING_CAPACITY]:
                    arena[At.WANTED] |= Want.PENDING
                    break
                p = waiting * 5
                pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4] = node, c3, x3, y3, f3
                waiting += 1
            if note_node(arena, survey, which, node, c2, x2, y2, f2):
                kept_frames, kept_chains = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
            last = int64(end[node])
            if last == node + 1:
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            push(arena, deep, c2, x2, y2, f2)
            if not ordinary and wide[node + 1] >= 0 and lists_bytes(arena, c2, x2, f2, allowed, 4 * deep):
                node = first_child(arena, base, node, last, deep)
            else:
                node += 1
        if waiting == 0:
            break
        waiting -= 1
        p = waiting * 5
        at, c, x, y, f = pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4]
        note_node(arena, survey, which, at, c, x, y, f)
        kept_frames, kept_chains = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = kept_frames, kept_chains


@part
def survey_tokens(address, survey_address):
    """Surveys all tokens from a thread. If WANTED or MISSING is set, something is missing and the survey is invalid."""
    arena = arena_of(address)
    survey = carray(pointer(survey_address), int64(Survey.LENGTH), np.int64)
    arena[At.WANTED] = longs(arena, At.MISSING)[0] = 0
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    survey[Survey.COUNT], survey[Survey.PAIR_COUNT], survey[Survey.FRAMES] = 0, 0, frames_before
    table = ints(survey, Survey.TABLE)
    for i in range(survey[Survey.SIZE]):
        table[i] = 0
    survey_thread(arena, survey, survey[Survey.C], survey[Survey.X], survey[Survey.Y], survey[Survey.F])
    if is_short(arena):
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
        return verdict(arena)
    return survey[Survey.PAIR_COUNT]
