"""Logits of tokens to scores of classes and back: maxima and sums over classes, and the token within a class.

kernels/reference/canvas.py says what the kernels compute; device_scores.py does the same where logits are on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of

from .classes import TokenClasses
from .protocol import MASKED, Draw

LOWEST = -1e30  # in place of -inf, so that sums stay numbers: such tokens are taken where no other can be


class SoftmaxDraw:
    """Draws by the softmax of log weights, each from one uniform number."""

    def __init__(self, rng: np.random.Generator):
        self.uniform = rng.random

    def uniforms(self, count: int) -> np.ndarray:
        """float64 [count]."""
        return np.asarray(self.uniform(count))

    def __call__(self, logs: np.ndarray) -> int:
        sums = np.cumsum(np.exp(logs - logs.max()), dtype=np.float64)
        below = int(np.searchsorted(sums, self.uniform() * sums[-1], "right"))
        return min(below, int(np.flatnonzero(np.diff(sums, prepend=0.0))[-1]))


class Scores:
    """Logits by class, for the masked positions of a row."""

    def __init__(self, classes: TokenClasses, logits: Any, row: np.ndarray):
        self._classes, self._row = classes, row
        self._logits = _as_logits(logits, len(row), len(classes.of))
        self._holes = np.flatnonzero(row == MASKED).tolist()
        entries.load("canvas")

    @cached_property
    def _highest(self) -> tuple[np.ndarray, np.ndarray]:
        """`highest`, and int32 [L, K]: the first token of each class that has it, -1 where it is -inf."""
        classes = self._classes
        found = np.zeros((len(self._row), classes.count), np.float32)
        first = np.empty(found.shape, np.int32)
        of, size = address_of(classes.of), len(classes.of)
        for i in self._holes:
            out = address_of(found[i]), address_of(first[i])
            if entries.class_maxima(address_of(self._logits[i]), of, size, *out, classes.count):
                raise wrong_logits(i)
        return found, first

    @property
    def highest(self) -> np.ndarray:
        """float32 [L, K]: the highest logit of each class at masked positions, 0 elsewhere; -inf for none."""
        return self._highest[0]

    @property
    def maxima(self) -> np.ndarray:
        """float32 [L, K], as `highest`, but no class that has ids is at -inf."""
        return raised(self.highest, self._classes)

    @cached_property
    def log_sums(self) -> np.ndarray:
        """float64 [L, K]: the log of the sum of exp(logit) over each class at masked positions, 0 elsewhere; -inf for none."""
        classes, highest = self._classes, self.highest
        found = np.zeros(highest.shape)
        of, size = address_of(classes.of), len(classes.of)
        for i in self._holes:
            entries.class_sums(
                address_of(self._logits[i]), of, size, address_of(highest[i]), address_of(found[i]), classes.count
            )
        return found

    def tokens(self, chosen: np.ndarray, draw: Draw | None) -> list[int]:
        """At each masked position a token of its class in `chosen`, int [L]: the best one, or one that is drawn."""
        places = [(i, int(chosen[i])) for i in self._holes]
        return [self.best_token(*place) if draw is None else self.drawn_token(*place, draw) for place in places]

    def best_token(self, position: int, token_class: int) -> int:
        """The token of a class with the highest logit, of those that are equal the first."""
        first = int(self._highest[1][position, token_class])
        return first if first >= 0 else int(self._classes.members(token_class)[0])

    def drawn_token(self, position: int, token_class: int, draw: Draw) -> int:
        """A token of a class by the softmax of its logits."""
        members, logits = self._classes.members(token_class), self._logits[position]
        if not isinstance(draw, SoftmaxDraw):
            return int(members[draw(logits[members].astype(np.float64))])
        highest = float(self.highest[position, token_class])
        target = draw.uniform() * float(np.exp(self.log_sums[position, token_class] - highest))
        bounds = np.array([highest, target])
        place = entries.drawn_member(address_of(logits), address_of(members), len(members), address_of(bounds))
        return int(members[place])


def raised(highest: np.ndarray, classes: TokenClasses) -> np.ndarray:
    """LOWEST in place of -inf, where the class has ids."""
    return np.where(np.isneginf(highest) & (classes.sizes > 0), np.float32(LOWEST), highest)


def wrong_logits(position: int) -> ValueError:
    return ValueError(f"the logits have NaN or +inf at the masked position {position}")


def check_shape(shape: Sequence[int], dtype: Any, length: int, size: int, are_numbers: bool = True) -> None:
    if len(shape) != 2 or shape[0] != length or shape[1] < size or not are_numbers:
        found = "x".join(map(str, shape))
        raise ValueError(f"the logits are {dtype} [{found}]; this canvas takes numbers [{length}, {size}]")


def _as_logits(logits: Any, length: int, size: int) -> np.ndarray:
    """float32 [length, size], each row contiguous: of an array or a torch tensor, on any device."""
    array = logits
    if hasattr(array, "detach"):
        array = array.detach().float().cpu().numpy()
    array = np.asarray(array)
    check_shape(array.shape, array.dtype, length, size, array.dtype.kind in "fiu")
    array = array.astype(np.float32, copy=False)
    return array if array.strides[1] == array.itemsize else np.ascontiguousarray(array)
