"""The distributions of the next token after each of some texts, and how a text fails."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from grammarlm.decoding.failures import Ending, RowFailure, nothing_left

from .text_node import TextNode, TokenScores


class Dead(Exception):
    """A text failed, and the answers to its prompt with it: a search over several texts cannot go on without one of them."""

    def __init__(self, text: TextNode, ending: Ending):
        super().__init__(ending.error)
        self.text, self.ending = text, ending


@dataclass(frozen=True)
class Steps:
    """The distributions of the next token after each of some texts. Arrays are float32 [rows, V], log-probabilities.

    `model`    the model's own
    `drawn`    the sampling distribution, softmax(logits / temperature) with penalties: sums to 1
    `allowed`  the same, -inf where the grammar forbids: its total mass is what the grammar left
    `failures` texts that cannot go on, though the grammar allows something: all of `allowed` is -inf there
    """

    texts: list[TextNode]
    model: np.ndarray
    drawn: np.ndarray
    allowed: np.ndarray
    failures: dict[TextNode, RowFailure] = field(default_factory=dict)
    _taken: dict[tuple[int, int], TextNode] = field(default_factory=dict, repr=False)  # by row and token
    _left: dict[int, float] = field(default_factory=dict, repr=False)  # sums of rows, which many of its tokens ask for
    _removed: dict[int, float] = field(default_factory=dict, repr=False)

    def check(self) -> Steps:
        """Raises Dead if one of the texts cannot go on."""
        for text, failure in self.failures.items():
            raise Dead(text, Ending.of(failure))
        return self

    def nothing_left(self, row: int) -> Ending:
        """How a text ends whose `allowed` is -inf everywhere."""
        text = self.texts[row]
        return Ending.of(self.failures.get(text) or nothing_left(text.length, self.model.shape[1]))

    def log_left(self) -> list[float]:
        """The log of the mass that the grammar left, at most 0."""
        return [min(self.log_allowed(row), 0.0) for row in range(len(self.texts))]

    def know(self, row: int, left: float, removed: float) -> None:
        """What `log_allowed` and `mass_removed` are, from whoever knows."""
        self._left[row], self._removed[row] = left, removed

    def log_allowed(self, row: int) -> float:
        """The same of one row, as it was added up."""
        if row not in self._left:
            self._left[row] = log_sum(self.allowed[row])
        return self._left[row]

    def log_end(self, row: int, stops: Iterable[int]) -> float:
        """Log-probability that the text ends here: the sum over all stop ids."""
        return log_sum(self.model[row, [stop for stop in stops if stop < self.model.shape[1]]])

    def split(self) -> list[Steps]:
        """One Steps for each text."""
        rows = zip(self.texts, self.model, self.drawn, self.allowed, strict=True)
        return [Steps([text], model[None], drawn[None], allowed[None]) for text, model, drawn, allowed in rows]

    def part(self, texts: Sequence[TextNode]) -> Steps:
        """Those of some of the texts."""
        if list(texts) == self.texts:
            return self
        row_of = {text: row for row, text in enumerate(self.texts)}
        rows = [row_of[text] for text in texts]
        failures = {text: self.failures[text] for text in texts if text in self.failures}
        found = Steps(list(texts), self.model[rows], self.drawn[rows], self.allowed[rows], failures)
        for at, row in enumerate(rows):
            found.know(at, self.log_allowed(row), self.mass_removed(row))
        return found

    def take(self, row: int, token: int, log_left: float) -> TextNode:
        """The text of this row with the token appended; `log_left` is the log mass that it was drawn from."""
        found = self._taken.get((row, token))
        if found is None:
            own, allowed = float(self.model[row, token]), float(self.allowed[row, token])
            scores = TokenScores(min(allowed - log_left, 0.0), own, self.mass_removed(row))
            found = self._taken[row, token] = self.texts[row].child(token, scores)
        return found

    def mass_removed(self, row: int) -> float:
        """The probability, at temperature 1, of the forbidden tokens."""
        if row not in self._removed:
            left = np.where(self.allowed[row] > -np.inf, self.model[row], -np.inf)
            self._removed[row] = max(0.0, -math.expm1(log_sum(left)))
        return self._removed[row]


# ------------------------------------------------------------------ rows of numbers


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32)
    return shifted


def log_sum(row: np.ndarray) -> float:
    """Log-sum-exp of one row; -inf where all are -inf."""
    top = float(row.max(initial=-np.inf))
    return top + math.log(float(np.exp(row - row.dtype.type(top)).sum(dtype=np.float64))) if top > -math.inf else top
