"""What a pool's function gets and says: the answers that are being written to one prompt, and what becomes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.decoding.logits.entropy import entropy_of
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.loop.step import Step
from grammarlm.decoding.result import Result


class Path:
    """One of the answers that a pool writes to a prompt. To be read, but for `memory`.

    number      in the order in which the paths of a prompt began. Its random numbers are those of the sample of this number
    tokens      its ids so far, forced ones included; of a fork those of the path that it goes on from, too
    logprobs, model_logprobs    of each, as in a Result
    entropies   of each the entropy, in nats, of what it was drawn from: after masking, before temperature; 0 of forced ones
    logits      float32 [V]: the model's own, before masking, that the last token was drawn from. Only of `@pool(logits=True)`,
                while it runs
    is_fork     did it begin as the fork of another path?
    memory      what the function remembers of it; a fork begins with a copy, which shares its values
    result      the Result, once it is over
    """

    logits: np.ndarray | None = None
    result: Result | None = None

    def __init__(self, number: int, row: Row, parent: Path | None = None):
        self.number = number
        self.tokens, self.logprobs, self.model_logprobs = row.tokens, row.logprobs, row.model_logprobs
        self._pieces = row.pieces
        self.entropies: list[float] = []
        self.memory: dict[str, Any] = {}
        self.inherited = 0  # tokens that another path has written
        self.is_fork = parent is not None
        if parent is not None:
            self.entropies, self.memory, self.logits = list(parent.entropies), dict(parent.memory), parent.logits
            self.inherited = len(row.tokens)

    @property
    def is_over(self) -> bool:
        return self.result is not None

    @property
    def text(self) -> str:
        """So far; a character that is not whole yet is U+FFFD."""
        return b"".join(self._pieces).decode(errors="replace")

    @property
    def written(self) -> int:
        """Tokens that it has added itself."""
        return len(self.tokens) - self.inherited

    def take(self, step: Step) -> None:
        """One more token."""
        self.entropies.append(0.0 if step.is_forced else entropy_of(step.logits))
        self.logits = step.model_logits

    def __repr__(self) -> str:
        return f"<Path {self.number}: {self.text!r:.60}{', over' if self.is_over else ''}>"


class Paths(list[Path]):
    """All paths of a prompt that have not been dropped, in the order of their numbers; those that are over, too.

    spent    tokens that they and the dropped ones have written; what forks share counts once
    budget   of these tokens; None: no more than each path's max_tokens
    """

    def __init__(self, paths: Sequence[Path], spent: int, budget: int | None):
        super().__init__(paths)
        self.spent, self.budget = spent, budget

    @property
    def running(self) -> list[Path]:
        return [path for path in self if not path.is_over]


@dataclass(frozen=True)
class Moves:
    """What becomes of the paths that are not over, before the next forward.

    fork   of each one more path goes on from here, with random numbers of its own; one that is given twice is forked twice
    drop   are not gone on with: no forward reads them any more, and they are no answer
    stop   True: nothing is gone on with, and the answer is chosen among those that are over
    """

    fork: Sequence[Path] = ()
    drop: Sequence[Path] = ()
    stop: bool = False


def mean_probability(logprobs: Sequence[float]) -> float:
    """Their geometric mean, as a probability."""
    return math.exp(sum(logprobs) / len(logprobs)) if logprobs else 1.0
