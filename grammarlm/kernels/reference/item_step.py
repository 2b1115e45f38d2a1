"""Definition of the GPU item step in plain numpy: see kernels/gpu/item_step.py."""

from __future__ import annotations

import numpy as np

from grammarlm.layout.items import END


def best_children(
    cells: np.ndarray, ranges: np.ndarray, logits: np.ndarray, depth: int, stop: int, keep: int, is_allowed: bool
) -> tuple[list[list[tuple[int, float]]], np.ndarray]:
    """For each prefix (first row, logit) of its `keep` best children, and the norms: float64 [E]."""
    found, norms = [], []
    for (low, high), row in zip(ranges.tolist(), logits, strict=True):
        children = []
        for at in range(low, high):
            cell = int(cells[depth, at])
            if at > low and cells[depth, at - 1] == cell:
                continue
            value = float(row[stop if cell == END else cell - 1]) if cell != END or stop >= 0 else -np.inf
            if value > -np.inf:
                children.append((at, value))
        counted = np.array([value for _, value in children] if is_allowed else row, np.float64)
        peak = counted.max(initial=-np.inf)
        norms.append(peak + np.log(np.exp(counted - peak).sum()) if peak > -np.inf else -np.inf)
        found.append(sorted(children, key=lambda child: (-child[1], child[0]))[:keep])
    return found, np.array(norms)


def spans(cells: np.ndarray, starts: np.ndarray, highs: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The end of each child, and the first of its rows that continue."""
    ends, opens = starts.copy(), starts.copy()
    following = cells[min(depth + 1, len(cells) - 1)]
    for i, (start, high) in enumerate(zip(starts.tolist(), highs.tolist(), strict=True)):
        end = start
        while end < high and cells[depth, end] == cells[depth, start]:
            end += 1
        ends[i] = end
        opens[i] = next((row for row in range(start, end) if following[row] != END), end)
    return ends, opens
