"""The backward pass of a lattice: on which nodes each point can be completed, and to which parents a node can be closed.

Of a point to which frames are closed in one step after the other, what has been gathered for its nodes the last time stays; only
where it can be completed on nodes that are new is it gathered again.
"""

from numba import int64, uint64

from grammarlm.kernels.cpu.jit import part
from grammarlm.layout.canvas import DONE, ENTRIES_FULL, POOL_FULL, ROOT, Lattice

from .arrays import arena_of, bit, ints, longs, lowest, octets, on_top, sets, words, words_for


@part
def add_rule(address, rule, word, bits, count, wide):
    """Adds nodes on which a rule's micro point can be completed. Returns the number of listed points, -1 - it if nothing is new."""
    arena = arena_of(address)
    m = int64(ints(arena, Lattice.RULE_POINT, rule + 1)[rule])
    found, has = sets(arena, Lattice.SETS, m + 1), octets(arena, Lattice.HAS, m + 1)
    if has[m] == 0:
        has[m] = 1
        ints(arena, Lattice.LISTED, count + 1)[count] = m
        count += 1
        for v in range(wide):
            found[m, v] = uint64(0)
    fresh = bits & ~found[m, word]
    found[m, word] |= bits
    return count if fresh != 0 else -1 - count


@part
def begin_step(address, step, wide):
    """The points whose completion is known before frames are closed: controls after the step, pushes, and those before them whose
    rules only ask for what is on top."""
    arena = arena_of(address)
    controls, points = arena[Lattice.CONTROLS], arena[Lattice.POINTS]
    found, has = sets(arena, Lattice.SETS, points), octets(arena, Lattice.HAS, points)
    listed = ints(arena, Lattice.LISTED, arena[Lattice.LIST_CAPACITY])
    before, has_before = sets(arena, Lattice.BEFORE, controls), octets(arena, Lattice.HAS_BEFORE, controls)
    node_count = longs(arena, Lattice.NODE_COUNT, arena[Lattice.STEPS] + 1)
    push, offsets = (
        ints(arena, Lattice.NODE_PUSH, arena[Lattice.NODES]),
        longs(arena, Lattice.NODE_OFFSET, arena[Lattice.NODES]),
    )
    reach = words(arena, Lattice.REACH, arena[Lattice.POOL_CAPACITY])
    count = int64(0)
    for c in range(controls):
        if has_before[c]:
            has[c] = 1
            listed[count] = c
            count += 1
            for w in range(wide):
                found[c, w] = before[c, w]
    for n in range(node_count[step + 1] - 1, node_count[step] - 1, -1):
        q, parents = controls + int64(push[n]), uint64(0)
        for w in range(wide):
            found[q, w] = reach[offsets[n] + w] if w < words_for(n) else uint64(0)
            parents |= found[q, w]
        if parents != 0:
            has[q] = 1
            listed[count] = q
            count += 1
    inverse_start = ints(arena, Lattice.INVERSE_START, points + 1)
    inverse = ints(arena, Lattice.INVERSE_RULES, arena[Lattice.RULES])
    symbol = ints(arena, Lattice.RULE_SYMBOL, arena[Lattice.RULES])
    with_symbol = sets(arena, Lattice.WITH_SYMBOL, arena[Lattice.SYMBOLS])
    known, partly = count, node_count[step] & 63
    for t in range(known):
        q = int64(listed[t])
        for k in range(inverse_start[q], inverse_start[q + 1]):
            if symbol[inverse[k]] > ROOT:
                continue
            g = on_top(int64(symbol[inverse[k]]))
            for w in range(wide):
                nodes = found[q, w] & with_symbol[g, w]
                if w == wide - 1 and partly != 0:
                    nodes &= bit(partly) - uint64(1)  # those that this step makes are not there yet
                if nodes != 0:
                    added = add_rule(address, int64(inverse[k]), w, nodes, count, wide)
                    count = added if added >= 0 else -1 - added
    return count


@part
def close_to(address, point, offset, wide):
    """LINE = those of the nodes popped (at an offset of POOL) that have a parent on which the point can be completed; adds these
    parents to what the nodes can be closed to."""
    arena = arena_of(address)
    points = arena[Lattice.POINTS]
    found, line = sets(arena, Lattice.SETS, points), words(arena, Lattice.LINE, wide)
    last, popped = sets(arena, Lattice.LAST, points), sets(arena, Lattice.RESULT, points)
    fresh = longs(arena, Lattice.NUMBERS, wide)
    offsets = longs(arena, Lattice.NODE_OFFSET, arena[Lattice.NODES])
    pool = words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY])
    reach = words(arena, Lattice.REACH, arena[Lattice.POOL_CAPACITY])
    many, some = int64(0), uint64(0)
    for w in range(wide):
        if found[point, w] & ~last[point, w]:
            fresh[many] = w
            many += 1
    for w in range(wide):
        bits, live = pool[offset + w], uint64(0)
        old = popped[point, w]
        while bits:
            mark = bits & (~bits + uint64(1))
            n = int64(w) * 64 + lowest(bits)
            bits ^= mark
            below, length, parents = offsets[n], words_for(n), uint64(0)
            if old & mark:
                for k in range(many):
                    v = fresh[k]
                    if v < length:
                        both = pool[below + v] & found[point, v]
                        reach[below + v] |= both
                        parents |= both
                v = int64(0)
                while parents == 0 and v < length:
                    parents = pool[below + v] & found[point, v]
                    v += 1
            else:
                for v in range(length):
                    both = pool[below + v] & found[point, v]
                    reach[below + v] |= both
                    parents |= both
            if parents != 0:
                live |= mark
        line[w] = live
        some |= live
        popped[point, w] = pool[offset + w]
    for w in range(wide):
        last[point, w] = found[point, w]
    return some != 0


@part
def close_frames(address, step, count, wide):
    """The micro points that can be completed. Returns the number of listed points."""
    arena = arena_of(address)
    points, controls, pushes = arena[Lattice.POINTS], arena[Lattice.CONTROLS], arena[Lattice.PUSHES]
    has = octets(arena, Lattice.HAS, points)
    line, with_symbol = words(arena, Lattice.LINE, wide), sets(arena, Lattice.WITH_SYMBOL, arena[Lattice.SYMBOLS])
    start = longs(arena, Lattice.CLOSED_START, arena[Lattice.STEPS] + 1)
    point = ints(arena, Lattice.CLOSED_POINT, arena[Lattice.ENTRY_CAPACITY])
    offsets = longs(arena, Lattice.CLOSED_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    inverse_start = ints(arena, Lattice.INVERSE_START, points + 1)
    inverse = ints(arena, Lattice.INVERSE_RULES, arena[Lattice.RULES])
    symbol = ints(arena, Lattice.RULE_SYMBOL, arena[Lattice.RULES])
    loops = False
    for x in range(start[step], start[step + 1]):
        loops = loops or point[x] >= controls + pushes
    is_new = True
    while is_new:
        is_new = False
        for x in range(start[step], start[step + 1]):
            after = int64(point[x])
            if has[after] == 0 or not close_to(address, after, offsets[x], wide):
                continue
            for k in range(inverse_start[after], inverse_start[after + 1]):
                g = int64(symbol[inverse[k]])
                if g <= ROOT:
                    continue
                for w in range(wide):
                    nodes = line[w] & with_symbol[g, w]
                    if nodes != 0:
                        added = add_rule(address, int64(inverse[k]), w, nodes, count, wide)
                        is_new = is_new or added >= 0
                        count = added if added >= 0 else -1 - added
        is_new = is_new and loops
    return count


@part
def keep_points(address, step, count, wide):
    """Writes down the points of a step."""
    arena = arena_of(address)
    points = arena[Lattice.POINTS]
    found = sets(arena, Lattice.SETS, points)
    listed = ints(arena, Lattice.LISTED, arena[Lattice.LIST_CAPACITY])
    start, end = (
        longs(arena, Lattice.BACK_START, arena[Lattice.STEPS]),
        longs(arena, Lattice.BACK_END, arena[Lattice.STEPS]),
    )
    point = ints(arena, Lattice.BACK_POINT, arena[Lattice.ENTRY_CAPACITY])
    offsets = longs(arena, Lattice.BACK_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    pool, used = words(arena, Lattice.BACK_POOL, arena[Lattice.BACK_CAPACITY]), arena[Lattice.BACK_USED]
    entry = end[step + 1] if step + 1 < arena[Lattice.STEPS] else int64(0)
    start[step] = entry
    if entry + count > arena[Lattice.ENTRY_CAPACITY]:
        return ENTRIES_FULL
    if used + count * wide > arena[Lattice.BACK_CAPACITY]:
        return POOL_FULL
    for t in range(count):
        point[entry], offsets[entry] = listed[t], used
        for w in range(wide):
            pool[used + w] = found[listed[t], w]
        entry += 1
        used += wide
    end[step], arena[Lattice.BACK_USED] = entry, used
    return DONE


@part
def end_step(address, step, count, wide):
    """The controls before a step: those of which an edge leads to a point that can be completed, on nodes that they can have on
    top."""
    arena = arena_of(address)
    edges, controls, points = arena[Lattice.EDGES], arena[Lattice.CONTROLS], arena[Lattice.POINTS]
    edge_control, edge_point = ints(arena, Lattice.EDGE_CONTROL, edges), ints(arena, Lattice.EDGE_POINT, edges)
    class_start = ints(arena, Lattice.CLASS_START, arena[Lattice.CLASSES] + 1)
    class_edges = ints(arena, Lattice.CLASS_EDGES, class_start[arena[Lattice.CLASSES]])
    found, has = sets(arena, Lattice.SETS, points), octets(arena, Lattice.HAS, points)
    before, has_before = sets(arena, Lattice.BEFORE, controls), octets(arena, Lattice.HAS_BEFORE, controls)
    listed = ints(arena, Lattice.LISTED, arena[Lattice.LIST_CAPACITY])
    top_start = longs(arena, Lattice.ON_TOP_START, arena[Lattice.STEPS] + 2)
    top_control = ints(arena, Lattice.ON_TOP_CONTROL, arena[Lattice.ENTRY_CAPACITY])
    top_offset = longs(arena, Lattice.ON_TOP_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    pool = words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY])
    for c in range(controls):
        has_before[c] = 0
    for x in range(top_start[step], top_start[step + 1]):
        c = top_control[x]
        has_before[c] = 1
        for w in range(wide):
            before[c, w] = uint64(0)
    control_start = ints(arena, Lattice.CONTROL_START, controls + 1)
    token_class = int64(ints(arena, Lattice.ROW, arena[Lattice.STEPS])[step])
    if token_class < 0:
        for x in range(top_start[step], top_start[step + 1]):
            c = top_control[x]
            for e in range(control_start[c], control_start[c + 1]):
                if has[edge_point[e]]:
                    for w in range(wide):
                        before[c, w] |= found[edge_point[e], w]
    else:
        for j in range(class_start[token_class], class_start[token_class + 1]):
            c, q = edge_control[class_edges[j]], edge_point[class_edges[j]]
            if has_before[c] and has[q]:
                for w in range(wide):
                    before[c, w] |= found[q, w]
    some = False
    for x in range(top_start[step], top_start[step + 1]):
        c, nodes = top_control[x], uint64(0)
        for w in range(wide):
            before[c, w] &= pool[top_offset[x] + w]
            nodes |= before[c, w]
        has_before[c] = nodes != 0
        some = some or nodes != 0
    for t in range(count):
        has[listed[t]] = 0
    return some


@part
def pass_backward(address):
    """From the last boundary, whose sets are given in BEFORE, to the first. Returns DONE, or what is full; the row can be completed
    iff BEFORE has a control then."""
    arena = arena_of(address)
    node_count = longs(arena, Lattice.NODE_COUNT, arena[Lattice.STEPS] + 1)
    points = arena[Lattice.POINTS]
    last, popped = sets(arena, Lattice.LAST, points), sets(arena, Lattice.RESULT, points)
    for w in range(words_for(node_count[arena[Lattice.STEPS]])):
        for q in range(points):
            last[q, w] = popped[q, w] = uint64(0)
    arena[Lattice.BACK_USED] = 0
    for step in range(arena[Lattice.STEPS] - 1, -1, -1):
        wide = words_for(node_count[step])
        count = close_frames(address, step, begin_step(address, step, wide), wide)
        full = keep_points(address, step, count, wide)
        if full != DONE:
            return full
        end_step(address, step, count, wide)
    return DONE
