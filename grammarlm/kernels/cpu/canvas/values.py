"""The values of all live places of a row, from left to right: sums over derivations, or the best of them, in logs.

A place is (step, point, node); its value is that of all ways to it since the node was pushed. The reference, which says more,
is tests/oracles/derivations.py.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.canvas import DONE, ROOT, VALUES_FULL, Lattice

from .arrays import arena_of, bit, floats, ints, longs, lowest, on_top, words, words_for


@part
def offer(address, point, node, value):
    """One more way to a place of this step."""
    if value == -np.inf:
        return
    arena = arena_of(address)
    at = point * arena[Lattice.NODES] + node
    highest = floats(arena, Lattice.HIGHEST, at + 1)
    if arena[Lattice.IS_SUM]:
        total = floats(arena, Lattice.SUM, at + 1)
        if value <= highest[at]:
            total[at] += np.exp(value - highest[at])
        else:
            total[at] = total[at] * np.exp(highest[at] - value) + 1.0 if highest[at] > -np.inf else 1.0
            highest[at] = value
    elif value > highest[at]:
        highest[at] = value


@part
def settle(address, point, node):
    """The value of a place, -inf where there is no way to it; it is forgotten."""
    arena = arena_of(address)
    at = point * arena[Lattice.NODES] + node
    highest = floats(arena, Lattice.HIGHEST, at + 1)
    value = highest[at]
    highest[at] = -np.inf
    if arena[Lattice.IS_SUM] and value > -np.inf:
        total = floats(arena, Lattice.SUM, at + 1)
        value += np.log(total[at])
        total[at] = 0.0
    return value


@part
def edge_weight(address, step, edge):
    """Of all classes that take an edge, where the token is masked."""
    arena = arena_of(address)
    if ints(arena, Lattice.ROW, step + 1)[step] >= 0:
        return 0.0
    start = ints(arena, Lattice.EDGE_START, edge + 2)
    classes = ints(arena, Lattice.EDGE_CLASSES, start[edge + 1])
    scores = carray(pointer(arena[Lattice.SCORES]), (arena[Lattice.STEPS], arena[Lattice.CLASSES]), np.float64)
    highest = -np.inf
    for k in range(start[edge], start[edge + 1]):
        highest = max(highest, scores[step, classes[k]])
    if arena[Lattice.IS_SUM] and highest > -np.inf:
        total = 0.0
        for k in range(start[edge], start[edge + 1]):
            total += np.exp(scores[step, classes[k]] - highest)
        highest += np.log(total)
    return highest


@part
def read_edges(address, step, back, taken, wide):
    """The places that edges lead to. `back`: where each point's nodes are in BACK_POOL, -1: it cannot be completed; `taken`:
    scratch, zero for each edge."""
    arena = arena_of(address)
    edges, controls, nodes = arena[Lattice.EDGES], arena[Lattice.CONTROLS], arena[Lattice.NODES]
    edge_point = ints(arena, Lattice.EDGE_POINT, edges)
    class_start = ints(arena, Lattice.CLASS_START, arena[Lattice.CLASSES] + 1)
    class_edges = ints(arena, Lattice.CLASS_EDGES, class_start[arena[Lattice.CLASSES]])
    start = longs(arena, Lattice.ON_TOP_START, arena[Lattice.STEPS] + 2)
    top_control = ints(arena, Lattice.ON_TOP_CONTROL, arena[Lattice.ENTRY_CAPACITY])
    top_offset = longs(arena, Lattice.ON_TOP_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    pool = words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY])
    completed = words(arena, Lattice.BACK_POOL, arena[Lattice.BACK_CAPACITY])
    current = floats(arena, Lattice.CURRENT, controls * nodes)
    control_start = ints(arena, Lattice.CONTROL_START, controls + 1)
    token_class = int64(ints(arena, Lattice.ROW, arena[Lattice.STEPS])[step])
    if token_class >= 0:
        for j in range(class_start[token_class], class_start[token_class + 1]):
            taken[class_edges[j]] = 1
    for x in range(start[step], start[step + 1]):
        c = int64(top_control[x])
        for e in range(control_start[c], control_start[c + 1]):
            q = int64(edge_point[e])
            if back[q] < 0 or (token_class >= 0 and taken[e] == 0):
                continue
            weight, is_known = 0.0, False
            for w in range(wide):
                bits = pool[top_offset[x] + w] & completed[back[q] + w]
                while bits:
                    n = int64(w) * 64 + lowest(bits)
                    bits &= bits - uint64(1)
                    value = current[c * nodes + n]
                    if value > -np.inf:
                        if not is_known:
                            weight, is_known = edge_weight(address, step, int64(e)), True
                        offer(address, q, n, value + weight)
    if token_class >= 0:
        for j in range(class_start[token_class], class_start[token_class + 1]):
            taken[class_edges[j]] = 0


@part
def pop_nodes(address, step, back, wide):
    """The places that pops lead to, from the highest node down. Writes down the values of micro points."""
    arena = arena_of(address)
    points, first_micro = arena[Lattice.POINTS], arena[Lattice.CONTROLS] + arena[Lattice.PUSHES]
    rule_start = ints(arena, Lattice.RULE_START, points - first_micro + 1)
    rule_symbol, rule_after = (
        ints(arena, Lattice.RULE_SYMBOL, arena[Lattice.RULES]),
        ints(arena, Lattice.RULE_AFTER, arena[Lattice.RULES]),
    )
    symbols = ints(arena, Lattice.NODE_SYMBOL, arena[Lattice.NODES])
    completed = words(arena, Lattice.BACK_POOL, arena[Lattice.BACK_CAPACITY])
    start = longs(arena, Lattice.MICRO_START, arena[Lattice.STEPS] + 1)
    point, node = (
        ints(arena, Lattice.MICRO_POINT, arena[Lattice.VALUE_CAPACITY]),
        ints(arena, Lattice.MICRO_NODE, arena[Lattice.VALUE_CAPACITY]),
    )
    values = floats(arena, Lattice.MICRO_VALUE, arena[Lattice.VALUE_CAPACITY])
    into_start, into_end = (
        longs(arena, Lattice.INTO_START, arena[Lattice.NODES]),
        longs(arena, Lattice.INTO_END, arena[Lattice.NODES]),
    )
    into_node, into = (
        ints(arena, Lattice.INTO_NODE, arena[Lattice.VALUE_CAPACITY]),
        floats(arena, Lattice.INTO_VALUE, arena[Lattice.VALUE_CAPACITY]),
    )
    entry = start[step]
    for w in range(wide - 1, -1, -1):
        some = uint64(0)
        for m in range(first_micro, points):
            if back[m] >= 0:
                some |= completed[back[m] + w]
        for b in range(63, -1, -1):
            mark = uint64(1) << uint64(b)
            if some & mark == 0:
                continue
            n = int64(w) * 64 + b
            for m in range(first_micro, points):
                if back[m] < 0 or completed[back[m] + w] & mark == 0:
                    continue
                value = settle(address, m, n)
                if value == -np.inf:
                    continue
                if entry == arena[Lattice.VALUE_CAPACITY]:
                    return VALUES_FULL
                point[entry], node[entry], values[entry] = m, n, value
                entry += 1
                for r in range(rule_start[m - first_micro], rule_start[m - first_micro + 1]):
                    after = int64(rule_after[r])
                    if on_top(rule_symbol[r]) != symbols[n] or back[after] < 0:
                        continue
                    if rule_symbol[r] <= ROOT:
                        if completed[back[after] + w] & mark:
                            offer(address, after, n, value)
                        continue
                    for k in range(into_start[n], into_end[n]):
                        p = int64(into_node[k])
                        if completed[back[after] + (p >> 6)] & bit(p):
                            offer(address, after, p, value + into[k])
    start[step + 1] = entry
    return DONE


@part
def settle_step(address, step, back, wide):
    """Values of the controls after a step, and of the ways into the nodes that it makes."""
    arena = arena_of(address)
    controls, nodes, steps = arena[Lattice.CONTROLS], arena[Lattice.NODES], arena[Lattice.STEPS]
    capacity = arena[Lattice.VALUE_CAPACITY]
    completed = words(arena, Lattice.BACK_POOL, arena[Lattice.BACK_CAPACITY])
    count = longs(arena, Lattice.NODE_COUNT, steps + 1)
    push, push_after = ints(arena, Lattice.NODE_PUSH, nodes), ints(arena, Lattice.PUSH_AFTER, arena[Lattice.PUSHES])
    into_start, into_end = longs(arena, Lattice.INTO_START, nodes), longs(arena, Lattice.INTO_END, nodes)
    into_node, into = ints(arena, Lattice.INTO_NODE, capacity), floats(arena, Lattice.INTO_VALUE, capacity)
    current = floats(arena, Lattice.CURRENT, controls * nodes)
    start = longs(arena, Lattice.VALUE_START, steps + 2)
    point, node = ints(arena, Lattice.VALUE_POINT, capacity), ints(arena, Lattice.VALUE_NODE, capacity)
    values = floats(arena, Lattice.VALUE, capacity)
    for x in range(start[step], start[step + 1]):
        current[int64(point[x]) * nodes + node[x]] = -np.inf
    known = into_end[count[step] - 1] if count[step] > 0 else int64(0)
    for n in range(count[step], count[step + 1]):
        q = controls + int64(push[n])
        into_start[n] = known
        if back[q] >= 0:
            for w in range(words_for(n)):
                bits = completed[back[q] + w] if w < wide else uint64(0)
                while bits:
                    p = int64(w) * 64 + lowest(bits)
                    bits &= bits - uint64(1)
                    value = settle(address, q, p)
                    if value > -np.inf:
                        if known == capacity:
                            return VALUES_FULL
                        into_node[known], into[known] = p, value
                        known += 1
        for p in range(count[step], n):  # nodes of this very step: a token that pushes several
            value = settle(address, q, p)
            if value > -np.inf:
                if known == capacity:
                    return VALUES_FULL
                into_node[known], into[known] = p, value
                known += 1
        into_end[n] = known
        if known > into_start[n]:
            offer(address, int64(push_after[push[n]]), n, 0.0)
    entry = start[step + 1]
    for c in range(controls):
        if back[c] >= 0:
            for w in range(wide):
                bits = completed[back[c] + w]
                while bits:
                    n = int64(w) * 64 + lowest(bits)
                    bits &= bits - uint64(1)
                    value = settle(address, c, n)
                    if value > -np.inf:
                        if entry == capacity:
                            return VALUES_FULL
                        point[entry], node[entry], values[entry] = c, n, value
                        entry += 1
        for n in range(count[step], count[step + 1]):
            if push_after[push[n]] == c and into_end[n] > into_start[n]:
                value = settle(address, c, n)
                if value > -np.inf:
                    if entry == capacity:
                        return VALUES_FULL
                    point[entry], node[entry], values[entry] = c, n, value
                    entry += 1
    start[step + 2] = entry
    for x in range(start[step + 1], entry):
        current[int64(point[x]) * nodes + node[x]] = values[x]
    return DONE


@kernel("int64(int64, int64, int64)", seconds=6)
def lattice_values(address, first, last):
    """The values of a row whose passes are done, of steps `first` to before `last`: those of the steps before are known.

    Returns DONE or VALUES_FULL: then the arrays are made larger, and it begins again. The values at boundary 0 and the ways into
    its nodes are given.
    """
    arena = arena_of(address)
    points, steps, nodes = arena[Lattice.POINTS], arena[Lattice.STEPS], arena[Lattice.NODES]
    start, end = longs(arena, Lattice.BACK_START, steps), longs(arena, Lattice.BACK_END, steps)
    back_point = ints(arena, Lattice.BACK_POINT, arena[Lattice.ENTRY_CAPACITY])
    back_offset = longs(arena, Lattice.BACK_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    count = longs(arena, Lattice.NODE_COUNT, steps + 1)
    value_start, capacity = longs(arena, Lattice.VALUE_START, steps + 2), arena[Lattice.VALUE_CAPACITY]
    point, node = ints(arena, Lattice.VALUE_POINT, capacity), ints(arena, Lattice.VALUE_NODE, capacity)
    values, current = (
        floats(arena, Lattice.VALUE, capacity),
        floats(arena, Lattice.CURRENT, arena[Lattice.CONTROLS] * nodes),
    )
    if first == 0:
        for x in range(value_start[0], value_start[1]):
            current[int64(point[x]) * nodes + node[x]] = values[x]
    back, taken = np.full(points, -1, np.int64), np.zeros(arena[Lattice.EDGES], np.uint8)
    for step in range(first, min(last, steps)):
        for x in range(start[step], end[step]):
            back[back_point[x]] = back_offset[x]
        wide = words_for(count[step])
        read_edges(address, step, back, taken, wide)
        full = pop_nodes(address, step, back, wide)
        if full == DONE:
            full = settle_step(address, step, back, wide)
        if full != DONE:
            return int64(full)
        for x in range(start[step], end[step]):
            back[back_point[x]] = -1
    return int64(DONE)
