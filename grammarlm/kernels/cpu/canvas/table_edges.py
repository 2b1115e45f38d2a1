"""The edges of a table from what classes do to states, and edges by class. masks/canvas/stack/table.py says what they are."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, pointer
from grammarlm.layout.stack_sets import Effects, Vectors

from .arrays import lowest


@kernel("int64(int64)", seconds=2)
def table_edges(address):
    """Writes down the edges of all states (layout/stack_sets.py, Effects), or only counts them where there is no room. Returns how
    many."""
    arena = carray(pointer(address), int64(Effects.LENGTH), np.int64)
    states, capacity = arena[Effects.STATES], arena[Effects.CAPACITY]
    entry_start = carray(pointer(arena[Effects.ENTRY_START]), states + 1, np.int64)
    entry_class = carray(pointer(arena[Effects.ENTRY_CLASS]), int64(entry_start[states]), np.int32)
    entry_effect = carray(pointer(arena[Effects.ENTRY_EFFECT]), int64(entry_start[states]), np.int32)
    first_control, first_class, wide = arena[Effects.FIRST_CONTROL], arena[Effects.FIRST_CLASS], arena[Effects.WORDS]
    special_start = carray(pointer(arena[Effects.SPECIAL_START]), arena[Effects.SPECIALS] + 1, np.int32)
    special = carray(pointer(arena[Effects.SPECIAL_POINTS]), int64(special_start[arena[Effects.SPECIALS]]), np.int32)
    accepts = carray(pointer(arena[Effects.ACCEPTS]), states, np.uint8)
    edge_of = carray(pointer(arena[Effects.EDGE_OF]), arena[Effects.POINTS], np.int32)
    controls, points = (
        carray(pointer(arena[Effects.EDGE_CONTROL]), capacity, np.int32),
        carray(pointer(arena[Effects.EDGE_POINT]), capacity, np.int32),
    )
    bits = carray(pointer(arena[Effects.EDGE_BITS]), (capacity, wide), np.uint64)
    edge_of[:] = -1
    count = int64(0)
    for s in range(states):
        first = count
        if accepts[s]:
            if count < capacity:
                controls[count], points[count] = first_control + s, arena[Effects.FINISHED]
                bits[count, arena[Effects.STOP] >> 6] = uint64(1) << uint64(arena[Effects.STOP] & 63)
            count += 1
        for entry in range(entry_start[s], entry_start[s + 1]):
            effect = int64(entry_effect[entry])
            token_class = first_class + int64(entry_class[entry])
            ways, begin = int64(1), int64(0)
            if effect >= states:
                begin = int64(special_start[effect - states])
                ways = int64(special_start[effect - states + 1]) - begin
            for w in range(ways):
                q = first_control + effect if effect < states else int64(special[begin + w])
                if edge_of[q] < first:
                    edge_of[q] = count
                    if count < capacity:
                        controls[count], points[count] = first_control + s, q
                    count += 1
                e = int64(edge_of[q])
                if e < capacity:
                    bits[e, token_class >> 6] |= uint64(1) << uint64(token_class & 63)
    return count


@kernel("void(int64, int64, int64)", seconds=1)
def entries_by_state(vectors_address, address, numbers_address):
    """What classes do to each state: ENTRY_CLASS and ENTRY_EFFECT; without room for these, ENTRY_START. `numbers`: those of the
    classes' vectors (layout/stack_sets.py, Vectors)."""
    vectors_arena = carray(pointer(vectors_address), int64(Vectors.LENGTH), np.int64)
    arena = carray(pointer(address), int64(Effects.LENGTH), np.int64)
    states, classes, most = arena[Effects.STATES], arena[Effects.CLASSES], vectors_arena[Vectors.PLACE_CAPACITY]
    places = carray(pointer(vectors_arena[Vectors.PLACES]), most, np.int32)
    values = carray(pointer(vectors_arena[Vectors.VALUES]), most, np.int32)
    first = carray(pointer(vectors_arena[Vectors.PLACE_START]), vectors_arena[Vectors.CAPACITY] + 1, np.int64)
    numbers = carray(pointer(numbers_address), classes, np.int64)
    start = carray(pointer(arena[Effects.ENTRY_START]), states + 1, np.int64)
    if arena[Effects.ENTRY_CLASS] == 0:
        start[:] = 0
        for k in range(classes):
            for i in range(first[numbers[k]], first[numbers[k] + 1]):
                start[places[i] + 1] += 1
        for s in range(states):
            start[s + 1] += start[s]
        return
    entry_class = carray(pointer(arena[Effects.ENTRY_CLASS]), int64(start[states]), np.int32)
    entry_effect = carray(pointer(arena[Effects.ENTRY_EFFECT]), int64(start[states]), np.int32)
    at = np.empty(states, np.int64)
    for s in range(states):
        at[s] = start[s]
    for k in range(classes):
        for i in range(first[numbers[k]], first[numbers[k] + 1]):
            s = places[i]
            entry_class[at[s]], entry_effect[at[s]] = k, values[i]
            at[s] += 1


@kernel("int64(int64, int64, int64, int64, int64, int64, int64)", seconds=1)
def number_rows(bits_address, rows, wide, of_address, first_address, slots_address, slots):
    """int32 [rows]: the number of each row of words, and int64: the first row of each number. Returns how many. `slots`: a power of
    two, more than twice the rows; int32, zero."""
    bits = carray(pointer(bits_address), (rows, wide), np.uint64)
    of, first = carray(pointer(of_address), rows, np.int32), carray(pointer(first_address), rows, np.int64)
    slot = carray(pointer(slots_address), slots, np.int32)
    count = int64(0)
    for r in range(rows):
        hashed = uint64(0)
        for w in range(wide):
            hashed = (hashed ^ bits[r, w]) * uint64(0x9E3779B97F4A7C15)
            hashed ^= hashed >> uint64(29)
        at = int64(hashed & uint64(slots - 1))
        while slot[at]:
            other = first[slot[at] - 1]
            same = True
            for w in range(wide):
                same = same and bits[r, w] == bits[other, w]
            if same:
                break
            at = (at + 1) & (slots - 1)
        if slot[at] == 0:
            first[count] = r
            count += 1
            slot[at] = count
        of[r] = slot[at] - 1
    return count


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
