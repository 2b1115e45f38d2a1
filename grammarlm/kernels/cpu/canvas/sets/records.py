"""Interned runs of words: equal words, one number (layout/stack_sets.py). Once FULL is set nothing is written; then all
is made larger, and what was asked is asked again."""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import StackSets

MIX = 0x9E3779B97F4A7C15


@inlined
def sets_arena(address):
    return carray(pointer(address), int64(StackSets.LENGTH), np.int64)


@inlined
def mixed(hashed, word):
    found = (hashed ^ uint64(word)) * uint64(MIX)
    return found ^ (found >> uint64(29))


@part
def record(address, words_address, count, adds):
    """The number of a record of `count` words; 0 where there is none and none can be made, or `adds` is 0."""
    arena = sets_arena(address)
    words = carray(pointer(words_address), count, np.int32)
    hashed = uint64(count)
    for i in range(1, count, 2):
        hashed = mixed(hashed, uint64(np.uint32(words[i - 1])) | uint64(np.uint32(words[i])) << uint64(32))
    if count & 1:
        hashed = mixed(hashed, uint64(np.uint32(words[count - 1])))
    slots, mask = carray(pointer(arena[StackSets.SLOT]), arena[StackSets.SLOTS], np.int32), arena[StackSets.SLOTS] - 1
    capacity = arena[StackSets.RECORD_CAPACITY]
    hashes, starts = (
        carray(pointer(arena[StackSets.HASH]), capacity, np.uint64),
        carray(pointer(arena[StackSets.START]), capacity + 1, np.int64),
    )
    kept = carray(pointer(arena[StackSets.WORD]), arena[StackSets.WORD_CAPACITY], np.int32)
    at = int64(hashed) & mask
    while slots[at]:
        n = int64(slots[at])
        if hashes[n] == hashed and starts[n + 1] - starts[n] == count:
            same, first = True, starts[n]
            for i in range(count):
                if kept[first + i] != words[i]:
                    same = False
                    break
            if same:
                return n
        at = (at + 1) & mask
    if adds == 0 or arena[StackSets.FULL]:
        return int64(0)
    n, used = arena[StackSets.RECORDS], arena[StackSets.WORDS]
    if n == capacity or used + count > arena[StackSets.WORD_CAPACITY]:
        arena[StackSets.FULL] = 1
        return int64(0)
    for i in range(count):
        kept[used + i] = words[i]
    hashes[n], starts[n], starts[n + 1] = hashed, used, used + count
    carray(pointer(arena[StackSets.VALUE]), capacity, np.int32)[n] = 0
    slots[at] = n
    arena[StackSets.RECORDS], arena[StackSets.WORDS] = n + 1, used + count
    return n


@inlined
def question(kind, a, b):
    """What is asked as one word: numbers of records are below MOST_RECORDS (masks/canvas/stack/sets.py), a class may be MASKED."""
    return uint64(kind) << uint64(56) | uint64(a) << uint64(28) | uint64(int64(b) + 1)


@inlined
def slot_of(word, mask):
    return int64((word ^ word >> uint64(23)) * uint64(MIX) >> uint64(20)) & mask


@part
def answer(address, kind, a, b):
    """The value that was kept for a question, 0: none."""
    arena = sets_arena(address)
    mask, word = arena[StackSets.ANSWER_SLOTS] - 1, question(kind, a, b)
    asked = carray(pointer(arena[StackSets.ASKED]), arena[StackSets.ANSWER_SLOTS], np.uint64)
    at = slot_of(word, mask)
    while asked[at] != 0:
        if asked[at] == word:
            return int64(carray(pointer(arena[StackSets.ANSWER]), arena[StackSets.ANSWER_SLOTS], np.int32)[at])
        at = (at + 1) & mask
    return int64(0)


@part
def keep_answer(address, kind, a, b, value):
    arena = sets_arena(address)
    if arena[StackSets.FULL]:
        return
    if 2 * arena[StackSets.ANSWERS] >= arena[StackSets.ANSWER_SLOTS]:
        arena[StackSets.FULL] = 3
        return
    put_answer(address, question(kind, a, b), value)


@part
def put_answer(address, word, value):
    """There is room, and the question has no answer so far."""
    arena = sets_arena(address)
    mask = arena[StackSets.ANSWER_SLOTS] - 1
    asked = carray(pointer(arena[StackSets.ASKED]), arena[StackSets.ANSWER_SLOTS], np.uint64)
    at = slot_of(word, mask)
    while asked[at] != 0 and asked[at] != word:
        at = (at + 1) & mask
    if asked[at] == 0:
        arena[StackSets.ANSWERS] += 1
    asked[at] = word
    carray(pointer(arena[StackSets.ANSWER]), arena[StackSets.ANSWER_SLOTS], np.int32)[at] = int32(value)


@inlined
def three_words(address, first, second, third):
    """Where they lie until they are a record."""
    found = address + int64(8) * int64(StackSets.PAIR)
    words = carray(pointer(found), 3, np.int32)
    words[0], words[1], words[2] = int32(first), int32(second), int32(third)
    return found


@inlined
def length_of(arena, n):
    starts = carray(pointer(arena[StackSets.START]), n + 2, np.int64)
    return starts[n + 1] - starts[n]


@inlined
def words_of(arena, n):
    """The words of a record."""
    starts = carray(pointer(arena[StackSets.START]), n + 2, np.int64)
    first = starts[n]
    return carray(pointer(arena[StackSets.WORD] + 4 * first), starts[n + 1] - first, np.int32)


@inlined
def kinds_of(arena):
    """uint64 [KINDS, KIND_WORDS]: the classes that take the edges of each kind."""
    size = arena[StackSets.KINDS], arena[StackSets.KIND_WORDS]
    return carray(pointer(arena[StackSets.KIND_CLASSES]), size, np.uint64)
