"""The forward pass of a lattice: which nodes can be on top in which control, and which are popped where.

Popping a set of nodes unites their parents. In a run of masked positions the sets that a rule pops mostly grow, so what was popped
the last time is kept, and only nodes that are new are looked at.
"""

from numba import int64, uint64

from grammarlm.kernels.cpu.jit import part
from grammarlm.layout.canvas import DONE, ENTRIES_FULL, NODES_FULL, POOL_FULL, ROOT, Lattice

from .arrays import arena_of, bit, ints, longs, lowest, octets, on_top, sets, words, words_for

UNSEEN, WAITING, POPPED, NOTED = 0, 1, 2, 3  # of a point in a step


@part
def widen(address, known, wide):
    """Clears words of what outlasts a step."""
    arena = arena_of(address)
    rows = max(arena[Lattice.RULES], arena[Lattice.POINTS])
    last, result = sets(arena, Lattice.LAST, rows), sets(arena, Lattice.RESULT, rows)
    for w in range(known, wide):
        for r in range(rows):
            last[r, w] = result[r, w] = uint64(0)


@part
def enter_point(address, point, offset, count, wide):
    """Adds nodes (at an offset of POOL) to those on which a point is reached. Returns how many points are listed then."""
    arena = arena_of(address)
    found, has = sets(arena, Lattice.SETS, point + 1), octets(arena, Lattice.HAS, point + 1)
    pool = words(arena, Lattice.POOL, offset + wide)
    if has[point] == UNSEEN:
        has[point] = WAITING
        ints(arena, Lattice.LISTED, count + 1)[count] = point
        for w in range(wide):
            found[point, w] = pool[offset + w]
        return count + 1
    for w in range(wide):
        found[point, w] |= pool[offset + w]
    return count


@part
def enter_points(address, step, wide):
    """The points that edges lead to in a step. Returns how many."""
    arena = arena_of(address)
    edges, controls, points = arena[Lattice.EDGES], arena[Lattice.CONTROLS], arena[Lattice.POINTS]
    edge_control, edge_point = ints(arena, Lattice.EDGE_CONTROL, edges), ints(arena, Lattice.EDGE_POINT, edges)
    class_start = ints(arena, Lattice.CLASS_START, arena[Lattice.CLASSES] + 1)
    class_edges = ints(arena, Lattice.CLASS_EDGES, class_start[arena[Lattice.CLASSES]])
    top_start = longs(arena, Lattice.ON_TOP_START, arena[Lattice.STEPS] + 2)
    top_control = ints(arena, Lattice.ON_TOP_CONTROL, arena[Lattice.ENTRY_CAPACITY])
    top_offset = longs(arena, Lattice.ON_TOP_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    live = octets(arena, Lattice.LIVE_POINTS, arena[Lattice.STEPS] * points)
    place = longs(arena, Lattice.PLACE, points)
    control_start = ints(arena, Lattice.CONTROL_START, controls + 1)
    token_class = int64(ints(arena, Lattice.ROW, arena[Lattice.STEPS])[step])
    count = int64(0)
    if token_class < 0:
        for x in range(top_start[step], top_start[step + 1]):
            for e in range(control_start[top_control[x]], control_start[top_control[x] + 1]):
                if live[step * points + edge_point[e]]:
                    count = enter_point(address, int64(edge_point[e]), top_offset[x], count, wide)
        return count
    for x in range(top_start[step], top_start[step + 1]):
        place[top_control[x]] = top_offset[x]
    for j in range(class_start[token_class], class_start[token_class + 1]):
        e = class_edges[j]
        if place[edge_control[e]] >= 0 and live[step * points + edge_point[e]]:
            count = enter_point(address, int64(edge_point[e]), place[edge_control[e]], count, wide)
    for x in range(top_start[step], top_start[step + 1]):
        place[top_control[x]] = -1
    return count


@part
def pop_set(address, point, slot, symbol, recent, wide):
    """RESULT[slot] = what stands below the nodes with a symbol on which a micro point is reached, or, where the symbol stays, these
    nodes themselves. Returns whether there are any.

    `recent`: the slot that was computed last for the symbol in this step, -1: none.
    """
    arena = arena_of(address)
    rows = max(arena[Lattice.RULES], arena[Lattice.POINTS])
    last, result = sets(arena, Lattice.LAST, rows), sets(arena, Lattice.RESULT, rows)
    found, with_symbol = sets(arena, Lattice.SETS, point + 1), sets(arena, Lattice.WITH_SYMBOL, arena[Lattice.SYMBOLS])
    line = words(arena, Lattice.LINE, wide)
    nodes = uint64(0)
    if symbol <= ROOT:
        for w in range(wide):
            result[slot, w] = found[point, w] & with_symbol[on_top(symbol), w]
            nodes |= result[slot, w]
        return nodes != 0
    gone = uint64(0)
    for w in range(wide):
        line[w] = found[point, w] & with_symbol[symbol, w]
        nodes |= line[w]
        gone |= last[slot, w] & ~line[w]
    if nodes == 0:
        return False
    if recent >= 0:
        differs = uint64(0)
        for w in range(wide):
            differs |= last[recent, w] ^ line[w]
        if differs == 0:
            for w in range(wide):
                last[slot, w], result[slot, w] = line[w], result[recent, w]
            return True
    if gone != 0:
        for w in range(wide):
            last[slot, w] = result[slot, w] = uint64(0)
    pool = words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY])
    offsets = longs(arena, Lattice.NODE_OFFSET, arena[Lattice.NODES])
    for w in range(wide):
        bits = line[w] & ~last[slot, w]
        last[slot, w] = line[w]
        while bits:
            n = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            offset = offsets[n]
            for v in range(max(words_for(n), int64(1))):
                result[slot, v] |= pool[offset + v]
    return True


@part
def pop_points(address, step, count, wide):
    """Follows the micro points. Returns how many points are listed then, or -1 if they are too many."""
    arena = arena_of(address)
    points, first_micro = arena[Lattice.POINTS], arena[Lattice.CONTROLS] + arena[Lattice.PUSHES]
    rule_start = ints(arena, Lattice.RULE_START, points - first_micro + 1)
    rule_symbol = ints(arena, Lattice.RULE_SYMBOL, arena[Lattice.RULES])
    rule_after = ints(arena, Lattice.RULE_AFTER, arena[Lattice.RULES])
    live = octets(arena, Lattice.LIVE_POINTS, arena[Lattice.STEPS] * points)
    found, has = sets(arena, Lattice.SETS, points), octets(arena, Lattice.HAS, points)
    result = sets(arena, Lattice.RESULT, max(arena[Lattice.RULES], points))
    listed, recent = (
        ints(arena, Lattice.LISTED, arena[Lattice.LIST_CAPACITY]),
        longs(arena, Lattice.NUMBERS, arena[Lattice.SYMBOLS]),
    )
    for g in range(arena[Lattice.SYMBOLS]):
        recent[g] = -1
    at = int64(0)
    while at < count:
        m = int64(listed[at])
        at += 1
        if m < first_micro or has[m] == POPPED:
            continue
        has[m] = POPPED
        r, end = int64(rule_start[m - first_micro]), int64(rule_start[m - first_micro + 1])
        while r < end:
            slot, symbol, wanted = r, int64(rule_symbol[r]), False
            while r < end and rule_symbol[r] == symbol:
                wanted = wanted or live[step * points + rule_after[r]] != 0
                r += 1
            if not wanted or not pop_set(
                address, m, slot, symbol, recent[symbol] if symbol > ROOT else int64(-1), wide
            ):
                continue
            if symbol > ROOT:
                recent[symbol] = slot
            for k in range(slot, r):
                after = int64(rule_after[k])
                if not live[step * points + after]:
                    continue
                if has[after] == UNSEEN:
                    if count == len(listed):
                        return int64(-1)
                    has[after] = WAITING
                    listed[count] = after
                    count += 1
                    for w in range(wide):
                        found[after, w] = uint64(0)
                fresh = uint64(0)
                for w in range(wide):
                    fresh |= result[slot, w] & ~found[after, w]
                    found[after, w] |= result[slot, w]
                if fresh != 0 and has[after] == POPPED:
                    if count == len(listed):
                        return int64(-1)
                    has[after] = WAITING
                    listed[count] = after
                    count += 1
    return count


@part
def note_closed(address, step, count, wide):
    """Writes down which nodes are popped in a step, by the point after."""
    arena = arena_of(address)
    points, first_micro = arena[Lattice.POINTS], arena[Lattice.CONTROLS] + arena[Lattice.PUSHES]
    rule_start = ints(arena, Lattice.RULE_START, points - first_micro + 1)
    rule_symbol = ints(arena, Lattice.RULE_SYMBOL, arena[Lattice.RULES])
    rule_after = ints(arena, Lattice.RULE_AFTER, arena[Lattice.RULES])
    live = octets(arena, Lattice.LIVE_POINTS, arena[Lattice.STEPS] * points)
    found, has = sets(arena, Lattice.SETS, points), octets(arena, Lattice.HAS, points)
    with_symbol = sets(arena, Lattice.WITH_SYMBOL, arena[Lattice.SYMBOLS])
    listed, place = ints(arena, Lattice.LISTED, arena[Lattice.LIST_CAPACITY]), longs(arena, Lattice.PLACE, points)
    start = longs(arena, Lattice.CLOSED_START, arena[Lattice.STEPS] + 1)
    point = ints(arena, Lattice.CLOSED_POINT, arena[Lattice.ENTRY_CAPACITY])
    offsets = longs(arena, Lattice.CLOSED_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    pool = words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY])
    used, entry = arena[Lattice.POOL_USED], start[step]
    for t in range(count):
        m = int64(listed[t])
        if m < first_micro or has[m] != POPPED:
            continue
        has[m] = NOTED
        for r in range(rule_start[m - first_micro], rule_start[m - first_micro + 1]):
            symbol, after = int64(rule_symbol[r]), int64(rule_after[r])
            if symbol <= ROOT or not live[step * points + after]:
                continue
            nodes = uint64(0)
            for w in range(wide):
                nodes |= found[m, w] & with_symbol[symbol, w]
            if nodes == 0:
                continue
            if place[after] < 0:
                if used + wide > arena[Lattice.POOL_CAPACITY]:
                    return POOL_FULL
                if entry == arena[Lattice.ENTRY_CAPACITY]:
                    return ENTRIES_FULL
                point[entry], offsets[entry], place[after] = after, used, used
                for w in range(wide):
                    pool[used + w] = uint64(0)
                entry += 1
                used += wide
            offset = place[after]
            for w in range(wide):
                pool[offset + w] |= found[m, w] & with_symbol[symbol, w]
    for x in range(start[step], entry):
        place[point[x]] = -1
    start[step + 1] = entry
    arena[Lattice.POOL_USED] = used
    return DONE


@part
def push_nodes(address, step, count, wide):
    """Makes the nodes of a step, and writes down which can be on top after it."""
    arena = arena_of(address)
    controls, pushes, points = arena[Lattice.CONTROLS], arena[Lattice.PUSHES], arena[Lattice.POINTS]
    push_symbol, push_after = ints(arena, Lattice.PUSH_SYMBOL, pushes), ints(arena, Lattice.PUSH_AFTER, pushes)
    found, has = sets(arena, Lattice.SETS, points), octets(arena, Lattice.HAS, points)
    with_symbol = sets(arena, Lattice.WITH_SYMBOL, arena[Lattice.SYMBOLS])
    listed = ints(arena, Lattice.LISTED, arena[Lattice.LIST_CAPACITY])
    capacity = arena[Lattice.NODE_CAPACITY]
    symbols, push = ints(arena, Lattice.NODE_SYMBOL, capacity), ints(arena, Lattice.NODE_PUSH, capacity)
    offsets, pool = (
        longs(arena, Lattice.NODE_OFFSET, capacity),
        words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY]),
    )
    reach = words(arena, Lattice.REACH, arena[Lattice.POOL_CAPACITY])
    used, n = arena[Lattice.POOL_USED], arena[Lattice.NODES]
    for u in range(pushes - 1, -1, -1):
        q = controls + u
        if has[q] == UNSEEN:
            continue
        if n == capacity:
            return NODES_FULL
        if used + wide > arena[Lattice.POOL_CAPACITY] or count == len(listed):
            return POOL_FULL
        symbols[n], push[n], offsets[n] = push_symbol[u], u, used
        for w in range(words_for(n)):
            pool[used + w] = found[q, w]
            reach[used + w] = uint64(0)
        used += words_for(n)
        if words_for(n + 1) > wide:
            for t in range(count):
                found[listed[t], wide] = uint64(0)
            for g in range(arena[Lattice.SYMBOLS]):
                with_symbol[g, wide] = uint64(0)
            wide += 1
        with_symbol[push_symbol[u], n >> 6] |= bit(n)
        after = int64(push_after[u])
        if has[after] == UNSEEN:
            has[after] = WAITING
            listed[count] = after
            count += 1
            for w in range(wide):
                found[after, w] = uint64(0)
        found[after, n >> 6] |= bit(n)
        n += 1
    start = longs(arena, Lattice.ON_TOP_START, arena[Lattice.STEPS] + 2)
    control = ints(arena, Lattice.ON_TOP_CONTROL, arena[Lattice.ENTRY_CAPACITY])
    top_offset = longs(arena, Lattice.ON_TOP_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    entry = start[step + 1]
    for c in range(controls):
        if has[c] == UNSEEN:
            continue
        if used + wide > arena[Lattice.POOL_CAPACITY]:
            return POOL_FULL
        if entry == arena[Lattice.ENTRY_CAPACITY]:
            return ENTRIES_FULL
        control[entry], top_offset[entry] = c, used
        for w in range(wide):
            pool[used + w] = found[c, w]
        entry += 1
        used += wide
    start[step + 2] = entry
    for t in range(count):
        has[listed[t]] = UNSEEN
    longs(arena, Lattice.NODE_COUNT, arena[Lattice.STEPS] + 1)[step + 1] = n
    arena[Lattice.POOL_USED], arena[Lattice.NODES] = used, n
    return DONE


@part
def pass_forward(address):
    """From boundary 0, whose sets are given, to the last. Returns DONE, or what is full."""
    arena = arena_of(address)
    known = int64(0)
    for step in range(arena[Lattice.STEPS]):
        wide = words_for(arena[Lattice.NODES])
        widen(address, known, wide)
        known = wide
        count = pop_points(address, step, enter_points(address, step, wide), wide)
        if count < 0:
            return POOL_FULL
        full = note_closed(address, step, count, wide)
        if full == DONE:
            full = push_nodes(address, step, count, wide)
        if full != DONE:
            return full
    return DONE
