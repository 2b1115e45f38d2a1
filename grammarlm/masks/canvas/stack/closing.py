"""The costs of closing frames for all points and symbols at once: what tail.py defines, as arrays."""

from __future__ import annotations

import numpy as np

from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.protocol import FINISHED

from .table import ROOT, StackTable, on_top, stays

FAR = 1 << 20


def closing_costs(table: StackTable, reached: np.ndarray) -> np.ndarray:
    """int32 [points, symbols, reached + 1]: fewest tokens from a point until the symbol on top is popped, by the point reached; the
    last column: until the row ends with nothing on the stack. FAR: never."""
    ends = len(reached)
    place = {int(point): at for at, point in enumerate(reached)}
    costs = np.full((table.points, table.symbols, ends + 1), FAR, np.int32)
    costs[FINISHED, ROOT, ends] = 0
    kept = []
    for point, symbol, after in table.rules:
        if stays(symbol):
            kept.append((point, on_top(symbol), after))
        else:
            costs[point, symbol, place[after]] = 0
    control = np.array([c for c, _ in table.edges])
    target = np.array([q for _, q in table.edges])
    price = np.array([STOP not in of for of in table.edge_classes]).astype(np.int32)
    starts = np.flatnonzero(np.diff(control, prepend=-1))
    owners = control[starts]
    while True:
        before = costs.copy()
        for point, symbol, after in kept:
            np.minimum(costs[point, symbol], costs[after, symbol], out=costs[point, symbol])
        for push, (symbol, after) in enumerate(table.pushes):
            first = costs[after, symbol, :ends]
            ways = np.flatnonzero(first < FAR)
            if len(ways):
                through = first[ways, None, None] + costs[reached[ways]]
                here = costs[table.controls + push]
                np.minimum(here, through.min(0), out=here)
        through = costs[target] + price[:, None, None]
        costs[owners] = np.minimum(costs[owners], np.minimum.reduceat(through, starts))
        np.minimum(costs, FAR, out=costs)
        if (costs == before).all():
            return costs
