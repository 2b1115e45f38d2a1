"""The best completion and an exact sample over the live edges of a row. Each row has one path: the automaton is deterministic."""

from __future__ import annotations

import numpy as np

from grammarlm.masks.canvas.protocol import Draw

from .table import FiniteTable

WORST = -np.inf


def best(table: FiniteTable, live: list[np.ndarray], start: int, scores: np.ndarray) -> np.ndarray:
    """Max-plus from the right, then the way from the left: of equal edges the first."""
    edges, value = table.edges, np.where(table.accepting, 0.0, 0.0)
    taken = []
    for i in range(len(live) - 1, -1, -1):
        here = live[i]
        control = edges.control[here]
        sums = scores[i, edges.token_class[here]] + value[edges.target[here]]
        starts = np.flatnonzero(np.diff(control, prepend=-1))
        highest = np.maximum.reduceat(sums, starts)
        is_best = np.flatnonzero(sums == np.repeat(highest, np.diff(starts, append=len(sums))))
        owners, first = np.unique(control[is_best], return_index=True)
        value = np.full(table.controls, WORST)
        value[owners] = highest
        choice = np.zeros(table.controls, np.int64)
        choice[owners] = here[is_best[first]]
        taken.append(choice)
    found = np.zeros(len(live), np.int32)
    for i, choice in enumerate(reversed(taken)):
        edge = choice[start]
        found[i], start = edges.token_class[edge], int(edges.target[edge])
    return found


def sample(table: FiniteTable, live: list[np.ndarray], start: int, scores: np.ndarray, draw: Draw) -> np.ndarray:
    """Sum-product from the right, then edge by edge from the left. In logs: what is improbable here may be all there is."""
    edges, value = table.edges, np.zeros(table.controls)
    sums = []
    for i in range(len(live) - 1, -1, -1):
        here = live[i]
        control = edges.control[here]
        logs = scores[i, edges.token_class[here]] + value[edges.target[here]]
        sums.append(logs)
        starts = np.flatnonzero(np.diff(control, prepend=-1))
        value = np.full(table.controls, WORST)
        value[control[starts]] = np.logaddexp.reduceat(logs, starts)
    if np.isneginf(value[start]):
        raise ValueError("the logits give every completion of the row the probability 0")
    found = np.zeros(len(live), np.int32)
    for i, logs in enumerate(reversed(sums)):
        first, end = np.searchsorted(edges.control[live[i]], [start, start + 1])
        edge = live[i][first + draw(logs[first:end])]
        found[i], start = edges.token_class[edge], int(edges.target[edge])
    return found
