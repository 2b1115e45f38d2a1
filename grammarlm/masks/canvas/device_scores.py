"""The scores of a row whose logits are on a GPU: they stay there, and K numbers a position come from it."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from .classes import TokenClasses
from .protocol import MASKED, Draw
from .scores import Scores, SoftmaxDraw, check_shape, raised, wrong_logits

ON_DEVICE = "grammarlm.kernels.gpu"  # imported by name, and only for tensors of a GPU: masks are made without torch


def scores_of(classes: TokenClasses, logits: Any, row: np.ndarray) -> Scores | DeviceScores:
    """The scores of a row, made where its logits are."""
    return (DeviceScores if is_on_device(logits) else Scores)(classes, logits, row)


def is_on_device(logits: Any) -> bool:
    """Are they on a GPU, and the kernels for it here? Without these, logits are copied to the host."""
    if not getattr(logits, "is_cuda", False):
        return False
    try:
        import_module(f"{ON_DEVICE}.canvas_scores")
    except ImportError:
        return False
    return True


class DeviceScores:
    """As Scores. Maxima and best tokens are the same; log-sums, and so draws, are those of float32."""

    def __init__(self, classes: TokenClasses, logits: Any, row: np.ndarray):
        check_shape(logits.shape, logits.dtype, len(row), len(classes.of))
        device = str(logits.device)
        if device not in classes.copies:
            cut = import_module(f"{ON_DEVICE}.class_scores").pieces_of
            classes.copies[device] = cut(classes.order, classes.starts, logits.device)
        self._classes, self._length = classes, len(row)
        self._holes = np.flatnonzero(row == MASKED).tolist()
        self._rows = import_module(f"{ON_DEVICE}.canvas_scores").DeviceRows(logits, classes.copies[device], self._holes)

    @cached_property
    def highest(self) -> np.ndarray:
        """float32 [L, K]: the highest logit of each class at masked positions, 0 elsewhere; -inf for none."""
        found = np.zeros((self._length, self._classes.count), np.float32)
        found[self._holes] = self._rows.highest
        wrong = np.isnan(found).any(1)
        if wrong.any():
            raise wrong_logits(int(wrong.argmax()))
        return found

    @property
    def maxima(self) -> np.ndarray:
        """float32 [L, K], as `highest`, but no class that has ids is at -inf."""
        return raised(self.highest, self._classes)

    @cached_property
    def log_sums(self) -> np.ndarray:
        """float64 [L, K]: the log of the sum of exp(logit) over each class at masked positions, 0 elsewhere; -inf for none."""
        found = np.zeros(self.highest.shape)
        found[self._holes] = self._rows.log_sums
        return found

    def tokens(self, chosen: np.ndarray, draw: Draw | None) -> list[int]:
        """At each masked position a token of its class in `chosen`, int [L]: the best one, or one that is drawn."""
        kinds = chosen[self._holes].tolist()
        found: list[int]
        if draw is None:
            found = self._rows.best_tokens(kinds)
        elif isinstance(draw, SoftmaxDraw):
            found = self._rows.drawn_tokens(kinds, [draw.uniform() for _ in kinds])
        else:
            found = [self._drawn(index, kind, draw) for index, kind in enumerate(kinds)]
        return found

    def _drawn(self, index: int, kind: int, draw: Draw) -> int:
        """By a draw that wants to see the logits of the class."""
        members = self._classes.members(kind)
        logits = self._rows.logits_of(index, members)
        return int(members[draw(logits.astype(np.float64))])
