"""WeightedDraws of the next token with weights, which correct for how the constraint changed the model's distribution.

Under a grammar the weight of a step is known exactly: the mass that the mask leaves. Under where= it is estimated by rejection
inside the mask (rejection.py), so the number of checks depends only on how much the predicate refuses of what the grammar
allows. The questions of all texts are batched, each asked once.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np

from grammarlm.decoding.failures import Ending
from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.steps import Dead, Steps
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.kernels import entries
from grammarlm.published.methods.exponential_race import ExponentialRace
from grammarlm.published.methods.rejection import NO_TOKEN, Drawn, Rejection, run_together

from .particles import Extension


def generator(seed: int | None, position: int) -> np.random.Generator:
    """Random numbers independent of the race's, also a function of seed and position alone."""
    assert seed is not None
    return np.random.Generator(np.random.Philox(key=np.array([seed, position], np.uint64)))


FURTHER = frozenset(one.name for one in fields(Rejection))  # options of methods that pass them on


class WeightedDraws:
    """WeightedDraws the next token of particles; `samplings[i]` has the seed of slot i.

    `endings` says how texts failed, by slot. Where the particles are not independent answers, an error in one ends all of them
    (Dead).
    """

    def __init__(self, branches: Branches, samplings: list[Sampling], how: Rejection, *, are_independent: bool = False):
        self.branches, self.how = branches, how
        self.endings: dict[int, Ending] = {}
        self._are_independent = are_independent
        self._samplings = [replace(one, temperature=1.0 if one.temperature else 0.0) for one in samplings]
        self._checks = [0] * len(samplings)

    def __call__(self, texts: list[TextNode], slots: list[int]) -> list[Extension[TextNode]]:
        steps = self.branches.steps(list(dict.fromkeys(texts)))
        row_of = {text: row for row, text in enumerate(steps.texts)}
        return self.extend(steps, [row_of[text] for text in texts], slots)

    def extend(self, steps: Steps, rows: list[int], slots: list[int]) -> list[Extension[TextNode]]:
        """The draw of each slot, from its row of these steps."""
        with self.branches.timed("sampling_seconds"):
            left = steps.log_left()
            drawn = self._draw(steps if self._are_independent else steps.check(), rows, slots, left)
            return [self._extension(steps, row, left[row], one) for row, one in zip(rows, drawn, strict=True)]

    def _draw(self, steps: Steps, rows: list[int], slots: list[int], left: list[float]) -> list[Drawn]:
        drawn = [Drawn(NO_TOKEN, -math.inf)] * len(rows)
        asking = []
        for at, (row, slot) in enumerate(zip(rows, slots, strict=True)):
            text = steps.texts[row]
            if left[row] == -math.inf:
                self.endings[slot] = steps.nothing_left(row)
                continue
            if self.branches.specs[text.prompt].where is None:
                token, _ = draw(steps.allowed[row], self._samplings[slot], text.length)
                drawn[at] = Drawn(token, left[row])
            else:
                asking.append((at, text, self.how.draw(self._race(steps.allowed[row], slot, text.length))))
        answers = run_together([(text, questions) for _, text, questions in asking], self.branches.holds)
        for (at, text, _), one in zip(asking, answers, strict=True):
            drawn[at] = one
            self._checks[slots[at]] += one.checks
            if one.token == NO_TOKEN:
                self._came_to_nothing(text, slots[at], one)
        return drawn

    def _came_to_nothing(self, text: TextNode, slot: int, drawn: Drawn) -> None:
        """Records how a text ends where the predicate refuses all tokens, or raised."""
        ending = Ending.unsatisfied(text.length, self.branches.data(text))
        if drawn.failure is not None:
            ending = Ending.of(drawn.failure)
            if not self._are_independent:
                raise Dead(text, ending)
        self.endings[slot] = ending

    def _race(self, log_p: np.ndarray, slot: int, position: int) -> ExponentialRace:
        """At temperature 0 all tokens have the same noise, so that the most probable arrives first."""
        sampling = self._samplings[slot]
        if not sampling.temperature:
            return ExponentialRace(log_p, np.full(len(log_p), 0.5, np.float32), np.random.default_rng)
        blocks = (len(log_p) + 3) // 4
        uniform = np.empty(4 * blocks, np.float32)
        entries.fill_uniform(uniform.ctypes.data, blocks, sampling.seed, position)
        return ExponentialRace(log_p, uniform[: len(log_p)], lambda: generator(sampling.seed, position))

    def _extension(self, steps: Steps, row: int, log_left: float, drawn: Drawn) -> Extension[TextNode]:
        text = steps.texts[row]
        if drawn.token == NO_TOKEN or drawn.token in self.branches.stops:
            return Extension(text, drawn.log_weight, True)
        text = steps.take(row, drawn.token, log_left)
        return Extension(text, drawn.log_weight, self.branches.is_full(text))

    def result(self, text: TextNode, slot: int, *, ending: Ending | None = None) -> Result:
        result = self.branches.result(text, ending=ending, number=slot)
        result.stats.checks = sum(self._checks)
        return result
