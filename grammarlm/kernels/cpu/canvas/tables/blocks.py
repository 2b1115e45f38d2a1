"""Partition refinement: the coarsest partition in which states of a block do alike (masks/canvas/tables/automaton.py).

States are compared by hashes, which the caller checks."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.json_canvas import POP, PUSH
from grammarlm.layout.stack_sets import Refine

FIRST_STATE = 2  # word of a part: a symbol's state, then a state
MIX = 0x9E3779B97F4A7C15


@inlined
def scrambled(word):
    found = (word ^ word >> uint64(30)) * uint64(0xBF58476D1CE4E5B9)
    found = (found ^ found >> uint64(27)) * uint64(0x94D049BB133111EB)
    return found ^ found >> uint64(31)


@kernel("int64(int64, int64, int64, int64)", seconds=1)
def byte_columns(table_address, states, hashes_address, like_address):
    """Adds to HASHES (uint64 [256]) those of the columns of a table int32 [states, 256]. Or, given LIKE (int64 [256]): is each
    column like that one?"""
    table = carray(pointer(table_address), (states, 256), np.int32)
    if like_address:
        like = carray(pointer(like_address), 256, np.int64)
        for s in range(states):
            for b in range(256):
                if table[s, b] != table[s, like[b]]:
                    return int64(0)
        return int64(1)
    hashes = carray(pointer(hashes_address), 256, np.uint64)
    for s in range(states):
        weight = scrambled(uint64(s + 1) * uint64(MIX))
        for b in range(256):
            hashes[b] += uint64(int64(table[s, b])) * weight
    return int64(1)


@inlined
def matters(operation, word):
    """Does a word of a special step name a state?"""
    return operation == PUSH if word == FIRST_STATE else operation != POP


@inlined
def name_of(block):
    return scrambled(uint64(block + 1) * uint64(MIX))


@part
def name_specials(address, names):
    """Each special step by all that it may do, behind the names of `states` states and of no step."""
    arena = carray(pointer(address), int64(Refine.LENGTH), np.int64)
    states = arena[Refine.STATES]
    block = carray(pointer(arena[Refine.BLOCK]), states, np.int64)
    parts = carray(pointer(arena[Refine.PART]), (arena[Refine.PARTS], 4), np.int64)
    for i in range(arena[Refine.SPECIALS]):
        names[i] = uint64(0)
    for i in range(len(parts)):
        done = uint64(parts[i, 1])
        for word in range(FIRST_STATE, 4):
            if matters(parts[i, 1], word):
                done = scrambled(done + name_of(block[parts[i, word]]))
        names[parts[i, 0]] += scrambled(done)


@part
def steps_into(address):
    """The states with a step to each state, or with a special one that it matters to: where those of each begin, and these."""
    arena = carray(pointer(address), int64(Refine.LENGTH), np.int64)
    states, columns = arena[Refine.STATES], arena[Refine.COLUMNS]
    steps = carray(pointer(arena[Refine.STEPS]), (states, columns), np.int32)
    parts = carray(pointer(arena[Refine.PART]), (arena[Refine.PARTS], 4), np.int64)
    first = np.zeros(arena[Refine.SPECIALS] + 1, np.int64)  # parts are sorted by special steps
    for i in range(len(parts)):
        first[parts[i, 0] + 1] = i + 1
    for i in range(arena[Refine.SPECIALS]):
        first[i + 1] = max(first[i + 1], first[i])
    start, last = np.zeros(states + 1, np.int64), np.empty(states, np.int64)
    found = np.empty(0, np.int32)
    for fills in range(2):
        at = start[:states].copy()
        last[:] = -1
        for s in range(states):
            for c in range(columns):
                step = int64(steps[s, c])
                if step == states:
                    continue
                begin, end = int64(0), int64(1)
                if step > states:
                    begin, end = first[step - states - 1], first[step - states]
                for i in range(begin, end):
                    for word in range(FIRST_STATE, 4):
                        to = step
                        if step > states:
                            to = parts[i, word]
                            if not matters(parts[i, 1], word):
                                continue
                        if last[to] != s:
                            last[to] = s
                            if fills:
                                found[at[to]] = s
                                at[to] += 1
                            else:
                                start[to + 1] += 1
        if not fills:
            for s in range(states):
                start[s + 1] += start[s]
            found = np.empty(start[states], np.int32)
    return start, found


@part
def number_in_order(block):
    """Blocks are numbered anew, in the order of the first state of each. Returns how many there are."""
    number, found = np.full(len(block), -1, np.int64), int64(0)
    for s in range(len(block)):
        if number[block[s]] < 0:
            number[block[s]] = found
            found += 1
        block[s] = number[block[s]]
    return found


@kernel("int64(int64)", seconds=3)
def refine_blocks(address):
    """Fills BLOCK, whose numbers begin at 0 in the order of states. Returns how many there are.

    A turn looks at states with a step into a block that is new: all others do what they did, and so does what is left of a block.
    Those parts of it that do something else become new blocks; the largest keeps the number if nothing is left.
    """
    arena = carray(pointer(address), int64(Refine.LENGTH), np.int64)
    states, columns = arena[Refine.STATES], arena[Refine.COLUMNS]
    steps = carray(pointer(arena[Refine.STEPS]), (states, columns), np.int32)
    weights = carray(pointer(arena[Refine.WEIGHTS]), columns, np.uint64)
    block = carray(pointer(arena[Refine.BLOCK]), states, np.int64)
    names, special = np.empty(states + 1, np.uint64), np.empty(arena[Refine.SPECIALS], np.uint64)  # names by block
    into_start, into = steps_into(address)
    slots = int64(4)
    while slots < 4 * states:
        slots *= 2
    slot, used = np.zeros(slots, np.int32), np.empty(states, np.int64)
    hashes, part_of = np.empty(states, np.uint64), np.empty(states, np.int64)
    part_state, part_size, part_block = (
        np.empty(states, np.int64),
        np.empty(states, np.int64),
        np.empty(states, np.int64),
    )
    size, seen, largest = np.zeros(states + 1, np.int64), np.zeros(states + 1, np.int64), np.empty(states + 1, np.int64)
    blocks = number_in_order(block)
    for s in range(states):
        size[block[s]] += 1
    for b in range(states):
        names[b] = name_of(b)
    names[states] = name_of(states)  # of no step: there is no such block
    turn_of, turn = np.zeros(states, np.int64), int64(0)
    asked, changed = np.arange(states), np.empty(states, np.int64)
    count = int64(states)
    while count > 0:
        turn += 1
        name_specials(address, special)
        parts = int64(0)
        for i in range(count):
            s = asked[i]
            hashed = uint64(0)
            for c in range(columns):
                step = int64(steps[s, c])
                if step < states:
                    hashed += names[block[step]] * weights[c]
                elif step == states:
                    hashed += names[states] * weights[c]
                else:
                    hashed += special[step - states - 1] * weights[c]
            hashes[s] = hashed
            b = block[s]
            at = int64((hashed ^ names[b]) >> uint64(20)) & (slots - 1)
            while slot[at]:
                p = int64(slot[at]) - 1
                if hashes[part_state[p]] == hashed and part_block[p] == b:
                    break
                at = (at + 1) & (slots - 1)
            if slot[at] == 0:
                slot[at] = parts + 1
                used[parts], part_state[parts], part_size[parts], part_block[parts] = at, s, 0, b
                parts += 1
            part_of[s] = int64(slot[at]) - 1
            part_size[part_of[s]] += 1
            seen[b] += 1
        for p in range(parts):
            slot[used[p]] = 0
            largest[part_block[p]] = -1
        for p in range(parts):
            b = part_block[p]
            if seen[b] == size[b] and (largest[b] < 0 or part_size[p] > part_size[largest[b]]):
                largest[b] = p
        for p in range(parts):
            seen[part_block[p]] = 0
        for p in range(parts):
            b = part_block[p]
            if largest[b] != p:
                part_block[p] = blocks
                size[blocks] = part_size[p]
                size[b] -= part_size[p]
                blocks += 1
        changes = int64(0)
        for i in range(count):
            s = asked[i]
            if part_block[part_of[s]] != block[s]:
                block[s] = part_block[part_of[s]]
                changed[changes] = s
                changes += 1
        count = int64(0)
        for i in range(changes):
            for j in range(into_start[changed[i]], into_start[changed[i] + 1]):
                s = int64(into[j])
                if turn_of[s] != turn:
                    turn_of[s] = turn
                    asked[count] = s
                    count += 1
    return number_in_order(block)
