"""Logits of tokens to scores of classes and back: maxima and sums over classes, and the token within a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from .classes import TokenClasses
from .protocol import MASKED, Draw

LOWEST = np.float32(-1e30)  # in place of -inf, so that sums stay numbers: such tokens are taken where no other can be


def as_logits(logits: Any, length: int, size: int) -> np.ndarray:
    """float32 [length, size]: an array or a torch tensor, on any device."""
    array = logits
    if hasattr(array, "detach"):
        array = array.detach().float().cpu().numpy()
    array = np.asarray(array)
    if array.ndim != 2 or array.shape[0] != length or array.shape[1] < size or array.dtype.kind not in "fiu":
        shape = "x".join(map(str, array.shape))
        raise ValueError(f"the logits are {array.dtype} [{shape}]; this canvas takes numbers [{length}, {size}]")
    return array[:, :size].astype(np.float32, copy=False)


def maxima(classes: TokenClasses, logits: np.ndarray, row: np.ndarray) -> np.ndarray:
    """float32 [L, K]: the highest logit of each class at masked positions, 0 elsewhere."""
    found = np.zeros((len(row), classes.count), np.float32)
    filled = np.flatnonzero(np.diff(classes.starts))
    for i in np.flatnonzero(row == MASKED).tolist():
        ordered = _numbers(logits[i])[classes.order]
        found[i, filled] = np.maximum.reduceat(ordered, classes.starts[filled])
    return found


def log_sums(classes: TokenClasses, logits: np.ndarray, row: np.ndarray) -> np.ndarray:
    """float64 [L, K]: the log of the sum of exp(logit) over each class at masked positions, 0 elsewhere; -inf for none."""
    found = np.zeros((len(row), classes.count))
    filled = np.flatnonzero(np.diff(classes.starts))
    for i in np.flatnonzero(row == MASKED).tolist():
        ordered = _probable(logits[i])[classes.order].astype(np.float64)
        highest = np.maximum.reduceat(ordered, classes.starts[filled])
        highest[np.isneginf(highest)] = 0.0
        shifted = np.exp(ordered - np.repeat(highest, np.diff(classes.starts)[filled]))
        with np.errstate(divide="ignore"):
            found[i, filled] = highest + np.log(np.add.reduceat(shifted, classes.starts[filled]))
    return found


def best_token(classes: TokenClasses, logits: np.ndarray, token_class: int) -> int:
    """The token of a class with the highest logit, of those that are equal the first."""
    members = classes.members(token_class)
    return int(members[np.argmax(_numbers(logits[members]))])


def drawn_token(classes: TokenClasses, logits: np.ndarray, token_class: int, draw: Draw) -> int:
    """A token of a class by the softmax of its logits."""
    members = classes.members(token_class)
    return int(members[draw(logits[members])])


def by_softmax(rng: np.random.Generator) -> Draw:
    """Draws by the softmax of log weights, each from one uniform number."""

    def draw(logs: np.ndarray) -> int:
        sums = np.cumsum(np.exp(logs - logs.max(), dtype=np.float64))
        below = int(np.searchsorted(sums, rng.random() * sums[-1], "right"))
        return min(below, len(logs) - 1)

    return draw


def _numbers(logits: np.ndarray) -> np.ndarray:
    _refuse(logits)
    return np.maximum(logits, LOWEST)


def _probable(logits: np.ndarray) -> np.ndarray:
    _refuse(logits)
    return logits


def _refuse(logits: np.ndarray) -> None:
    if np.isnan(logits).any() or np.isposinf(logits).any():
        raise ValueError("the logits have NaN or +inf at a masked position")
