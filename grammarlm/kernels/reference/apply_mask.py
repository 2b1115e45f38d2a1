"""Definitions of the kernels in plain numpy: a kernel is correct iff it equals these."""

import numpy as np


def mask_bits(mask: np.ndarray, width: int) -> np.ndarray:
    """bool [rows, width] of an int32 mask [rows, words]: bit t % 32 of word t // 32, least significant first; 0 beyond the mask."""
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), axis=1, bitorder="little").astype(bool)
    if bits.shape[1] < width:
        bits = np.pad(bits, ((0, 0), (0, width - bits.shape[1])))
    return bits[:, :width]


def apply_mask(logits: np.ndarray, mask: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """A copy of logits [B, V] with -inf where the mask forbids; rows[i] = mask row of logits row i, -1 = leave it unchanged."""
    out = logits.copy()
    rows = np.arange(len(logits)) if rows is None else rows
    bits = mask_bits(mask, logits.shape[1])
    for i, row in enumerate(rows):
        if row >= 0:
            out[i, ~bits[row]] = -np.inf
    return out


def allowed_sum(values: np.ndarray, mask: np.ndarray | None) -> float:
    """The sum of those float32 values [V] whose bit is set in the mask, int32 [words]; of all if it is None."""
    chosen = values if mask is None else values[mask_bits(mask[None], len(values))[0]]
    return float(chosen.astype(np.float64).sum())


def best_values(values: np.ndarray, count: int) -> np.ndarray:
    """The indexes of the `count` greatest of float32 [V] above -inf, best first; ties in order."""
    order = np.argsort(-values, kind="stable")
    return order[values[order] > -np.inf][:count]
