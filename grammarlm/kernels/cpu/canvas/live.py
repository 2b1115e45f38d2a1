"""Which controls and points can reach the right edge, whatever is on the stack: a bound that keeps the exact passes small."""

import numpy as np
from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.layout.canvas import Lattice

from .arrays import arena_of, ints, octets


@part
def find_live(address):
    """Fills LIVE_CONTROLS and LIVE_POINTS from the last boundary, which is given; those of another row are taken where they are the
    same, and those of the step behind where nothing changes in a run of masked positions."""
    arena = arena_of(address)
    controls, pushes, points = arena[Lattice.CONTROLS], arena[Lattice.PUSHES], arena[Lattice.POINTS]
    first_micro, edges, steps = controls + pushes, arena[Lattice.EDGES], arena[Lattice.STEPS]
    edge_control, edge_point = ints(arena, Lattice.EDGE_CONTROL, edges), ints(arena, Lattice.EDGE_POINT, edges)
    class_start = ints(arena, Lattice.CLASS_START, arena[Lattice.CLASSES] + 1)
    class_edges = ints(arena, Lattice.CLASS_EDGES, class_start[arena[Lattice.CLASSES]])
    push_after = ints(arena, Lattice.PUSH_AFTER, pushes)
    rule_start = ints(arena, Lattice.RULE_START, points - first_micro + 1)
    rule_after = ints(arena, Lattice.RULE_AFTER, arena[Lattice.RULES])
    row = ints(arena, Lattice.ROW, steps)
    live_controls = octets(arena, Lattice.LIVE_CONTROLS, (steps + 1) * controls)
    live_points = octets(arena, Lattice.LIVE_POINTS, steps * points)
    old = np.zeros(controls, np.uint8)
    for i in range(arena[Lattice.LIVE_FROM], -1, -1):
        here, before = i * points, i * controls
        if i + 1 < steps and row[i] < 0 and row[i + 1] < 0:
            same = True
            for c in range(controls):
                same = same and live_controls[before + controls + c] == live_controls[before + 2 * controls + c]
            if same:
                changed = False
                for c in range(controls):
                    changed = changed or live_controls[before + c] != live_controls[before + controls + c]
                    live_controls[before + c] = live_controls[before + controls + c]
                for q in range(points):
                    live_points[here + q] = live_points[here + points + q]
                if not changed and i <= arena[Lattice.LIVE_UNTIL]:
                    return
                continue
        for c in range(controls):
            live_points[here + c] = live_controls[before + controls + c]
            old[c] = live_controls[before + c]
            live_controls[before + c] = 0
        for u in range(pushes):
            live_points[here + controls + u] = live_points[here + push_after[u]]
        for m in range(first_micro, points):
            live_points[here + m] = 0
        is_new = True
        while is_new:
            is_new = False
            for m in range(points - 1, first_micro - 1, -1):
                if live_points[here + m]:
                    continue
                for r in range(rule_start[m - first_micro], rule_start[m - first_micro + 1]):
                    if live_points[here + rule_after[r]]:
                        live_points[here + m] = 1
                        is_new = True
                        break
        token_class = int64(row[i])
        if token_class < 0:
            for e in range(edges):
                live_controls[before + edge_control[e]] |= live_points[here + edge_point[e]]
        else:
            for j in range(class_start[token_class], class_start[token_class + 1]):
                e = class_edges[j]
                live_controls[before + edge_control[e]] |= live_points[here + edge_point[e]]
        if i <= arena[Lattice.LIVE_UNTIL]:
            changed = False
            for c in range(controls):
                changed = changed or live_controls[before + c] != old[c]
            if not changed:
                return
