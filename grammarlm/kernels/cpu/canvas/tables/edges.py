"""The edges of a table from what classes do to states, and edges by class. masks/canvas/stack/table.py says what they are.

What a class does is a vector over states (vectors.py), and there are tens of millions of (class, state) in a large schema. They are
read a few states at a time, of each class those that its vector has there, so what is written for these stays in the cache.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.stack_sets import Effects, Vectors

from ..bits import lowest

ALL_DONE, EDGES_FULL, KINDS_FULL = 0, 1, 2
AT_ONCE = 256  # states


@inlined
def vectors_of(vectors_address):
    """The places and effects of all vectors, and where those of each begin."""
    arena = carray(pointer(vectors_address), int64(Vectors.LENGTH), np.int64)
    most = arena[Vectors.PLACE_CAPACITY]
    places = carray(pointer(arena[Vectors.PLACES]), most, np.int32)
    values = carray(pointer(arena[Vectors.VALUES]), most, np.int32)
    return places, values, carray(pointer(arena[Vectors.PLACE_START]), arena[Vectors.CAPACITY] + 1, np.int64)


@kernel("void(int64, int64, int64, int64, int64)", seconds=1)
def special_effects(vectors_address, numbers_address, count, states, found_address):
    """uint8 by special effect: does one of some vectors have it?"""
    _, values, starts = vectors_of(vectors_address)
    numbers = carray(pointer(numbers_address), count, np.int64)
    for k in range(count):
        for i in range(starts[numbers[k]], starts[numbers[k] + 1]):
            if values[i] >= states:
                carray(pointer(found_address + int64(values[i]) - states), 1, np.uint8)[0] = 1


@part
def first_from(places, begin, end, state):
    """The first of ascending places that is no earlier than a state."""
    while begin < end:
        middle = (begin + end) >> 1
        if places[middle] < state:
            begin = middle + 1
        else:
            end = middle
    return begin


@part
def kind_of(address, bits):
    """The number of a set of classes, made if need be; -1 where there is no room."""
    arena = carray(pointer(address), int64(Effects.LENGTH), np.int64)
    capacity, wide, mask = arena[Effects.KIND_CAPACITY], arena[Effects.WORDS], arena[Effects.KIND_SLOTS] - 1
    kinds = carray(pointer(arena[Effects.KIND_CLASSES]), (capacity, wide), np.uint64)
    slots = carray(pointer(arena[Effects.KIND_SLOT]), arena[Effects.KIND_SLOTS], np.int32)
    hashed = uint64(0)
    for w in range(wide):
        hashed = (hashed ^ bits[w]) * uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> uint64(29)
    at = int64(hashed) & mask
    while slots[at]:
        other, same = int64(slots[at]) - 1, True
        for w in range(wide):
            if kinds[other, w] != bits[w]:
                same = False
                break
        if same:
            return other
        at = (at + 1) & mask
    made = arena[Effects.KINDS]
    if made == capacity:
        return int64(-1)
    for w in range(wide):
        kinds[made, w] = bits[w]
    slots[at] = int32(made + 1)
    arena[Effects.KINDS] = made + 1
    return made


@kernel("int64(int64, int64)", seconds=3)
def table_edges(vectors_address, address):
    """Writes down the edges of states (layout/stack_sets.py, Effects) from state DONE on. Returns ALL_DONE, or what is full; what
    there is of the state DONE is left out then."""
    arena = carray(pointer(address), int64(Effects.LENGTH), np.int64)
    states, capacity, wide = arena[Effects.STATES], arena[Effects.CAPACITY], arena[Effects.WORDS]
    classes = arena[Effects.CLASSES]
    places, values, starts = vectors_of(vectors_address)
    numbers = carray(pointer(arena[Effects.NUMBERS]), classes, np.int64)
    first_control, first_class = arena[Effects.FIRST_CONTROL], arena[Effects.FIRST_CLASS]
    special_start = carray(pointer(arena[Effects.SPECIAL_START]), arena[Effects.SPECIALS] + 1, np.int32)
    special = carray(pointer(arena[Effects.SPECIAL_POINTS]), int64(special_start[arena[Effects.SPECIALS]]), np.int32)
    accepts = carray(pointer(arena[Effects.ACCEPTS]), states, np.uint8)
    edge_of = carray(pointer(arena[Effects.EDGE_OF]), arena[Effects.POINTS], np.int32)
    controls = carray(pointer(arena[Effects.EDGE_CONTROL]), capacity, np.int32)
    points = carray(pointer(arena[Effects.EDGE_POINT]), capacity, np.int32)
    kinds = carray(pointer(arena[Effects.EDGE_KIND]), capacity, np.int32)
    next_place, last_place = np.empty(classes, np.int64), np.empty(classes, np.int64)
    for k in range(classes):
        next_place[k] = first_from(places, starts[numbers[k]], starts[numbers[k] + 1], arena[Effects.DONE])
    begin, at = np.zeros(AT_ONCE + 1, np.int64), np.empty(AT_ONCE, np.int64)
    entry_class, entry_effect = np.empty(1, np.int32), np.empty(1, np.int32)
    bits = np.zeros((64, wide), np.uint64)
    while arena[Effects.DONE] < states:
        s0 = arena[Effects.DONE]
        s1 = min(s0 + AT_ONCE, states)
        begin[:] = 0
        for k in range(classes):
            i, end = next_place[k], starts[numbers[k] + 1]
            while i < end and places[i] < s1:
                begin[places[i] - s0 + 1] += 1
                i += 1
            last_place[k] = i
        for n in range(s1 - s0):
            at[n] = begin[n]
            begin[n + 1] += begin[n]
        if begin[s1 - s0] > len(entry_class):
            entry_class = np.empty(2 * begin[s1 - s0], np.int32)
            entry_effect = np.empty(2 * begin[s1 - s0], np.int32)
        for k in range(classes):
            for i in range(next_place[k], last_place[k]):
                n = places[i] - s0
                entry_class[at[n]], entry_effect[at[n]] = int32(k), values[i]
                at[n] += 1
            next_place[k] = last_place[k]
        for s in range(s0, s1):
            first, count, full = arena[Effects.EDGES], int64(0), int64(ALL_DONE)
            if accepts[s] and first == capacity:
                return int64(EDGES_FULL)
            if accepts[s]:
                points[first] = arena[Effects.FINISHED]
                bits[0, :] = uint64(0)
                bits[0, arena[Effects.STOP] >> 6] = uint64(1) << uint64(arena[Effects.STOP] & 63)
                count = int64(1)
            for entry in range(begin[s - s0], begin[s - s0 + 1]):
                effect, token_class = int64(entry_effect[entry]), first_class + int64(entry_class[entry])
                ways, way = int64(1), int64(0)
                if effect >= states:
                    way = int64(special_start[effect - states])
                    ways = int64(special_start[effect - states + 1]) - way
                for w in range(ways):
                    q = first_control + effect if effect < states else int64(special[way + w])
                    e = int64(edge_of[q]) - first
                    if e < 0:
                        e = count
                        if first + e == capacity:
                            full = int64(EDGES_FULL)
                            break
                        if e == len(bits):
                            more = np.zeros((2 * e, wide), np.uint64)
                            for j in range(e):
                                for word in range(wide):
                                    more[j, word] = bits[j, word]
                            bits = more
                        edge_of[q], points[first + e] = int32(first + e), int32(q)
                        bits[e, :] = uint64(0)
                        count += 1
                    bits[e, token_class >> 6] |= uint64(1) << uint64(token_class & 63)
                if full:
                    break
            for e in range(count):
                if full:
                    break
                kind = kind_of(address, bits[e])
                if kind < 0:
                    full = int64(KINDS_FULL)
                    break
                controls[first + e], kinds[first + e] = int32(first_control + s), int32(kind)
            if full:
                for e in range(count):
                    edge_of[points[first + e]] = int32(-1)
                return full
            arena[Effects.EDGES] = first + count
            arena[Effects.DONE] = s + 1
    return int64(ALL_DONE)


@kernel("void(int64)")
def rehash_kinds(address):
    """Fills KIND_SLOT, which is empty."""
    arena = carray(pointer(address), int64(Effects.LENGTH), np.int64)
    count, wide = arena[Effects.KINDS], arena[Effects.WORDS]
    kinds = carray(pointer(arena[Effects.KIND_CLASSES]), (count, wide), np.uint64)
    arena[Effects.KINDS] = 0
    for kind in range(count):
        kind_of(address, kinds[kind])


@kernel("void(int64, int64, int64, int64, int64, int64)", seconds=1)
def classes_by_control(control_address, kind_address, edges, bits_address, wide, out_address):
    """uint64 [controls, wide], zero at first: the classes of all edges of each control."""
    controls = carray(pointer(control_address), edges, np.int32)
    kinds = carray(pointer(kind_address), edges, np.int32)
    for e in range(edges):
        bits = carray(pointer(bits_address + 8 * wide * int64(kinds[e])), wide, np.uint64)
        out = carray(pointer(out_address + 8 * wide * int64(controls[e])), wide, np.uint64)
        for w in range(wide):
            out[w] |= bits[w]


@kernel("void(int64, int64, int64, int64, int64, int64, int64)", seconds=2)
def edges_by_class(kind_address, bits_address, edges, wide, classes, starts_address, out_address):
    """int32 [classes + 1] and the edges of each class, ascending; without room for these, where they start."""
    kinds = carray(pointer(kind_address), edges, np.int32)
    starts = carray(pointer(starts_address), classes + 1, np.int32)
    if out_address == 0:
        starts[:] = 0
    out = carray(pointer(out_address), int64(starts[classes]) if out_address else int64(0), np.int32)
    at = np.zeros(classes, np.int64)
    for k in range(classes):
        at[k] = starts[k]
    for e in range(edges):
        bits = carray(pointer(bits_address + 8 * wide * int64(kinds[e])), wide, np.uint64)
        for w in range(wide):
            left = bits[w]
            while left:
                k = int64(w) * 64 + lowest(left)
                left &= left - uint64(1)
                if out_address == 0:
                    starts[k + 1] += 1
                else:
                    out[at[k]] = e
                    at[k] += 1
    if out_address == 0:
        for k in range(classes):
            starts[k + 1] += starts[k]
