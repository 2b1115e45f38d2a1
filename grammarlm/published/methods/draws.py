"""Draws of the next token with weights, which correct for how the constraint changed the model's distribution.

Under a grammar the weight of a step is known exactly: the mass that the mask leaves. Under where= it is estimated by rejection
inside the mask (rejection.py), so the number of checks depends only on how much the predicate refuses of what the grammar
allows. The questions of all texts are batched, each asked once.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np

from grammarlm.decoding.failures import Ending
from grammarlm.decoding.logits.sampling import Sampling, draw, uniforms
from grammarlm.decoding.predicate import run_together
from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.steps import Dead, Steps
from grammarlm.decoding.tree.text_node import TextNode

from .exponential_race import arrivals
from .particles import Extension
from .rejection import NO_TOKEN, Drawn, Questions, Rejection

FURTHER = frozenset(one.name for one in fields(Rejection))  # options of methods that pass them on


class WeightedDraws:
    """Draws the next token of particles; `samplings[i]` has the seed of slot i.

    `endings` says how texts failed, by slot. Where the particles are not independent answers, an error in one ends all of them
    (Dead).
    """

    def __init__(self, branches: Branches, samplings: list[Sampling], how: Rejection, *, are_independent: bool = False):
        self.branches, self.how = branches, how
        self.endings: dict[int, Ending] = {}
        self._are_independent = are_independent
        self._samplings = [replace(one, temperature=1.0 if one.temperature else 0.0) for one in samplings]

    def __call__(self, texts: list[TextNode], slots: list[int]) -> list[Extension[TextNode]]:
        steps = self.branches.steps(list(dict.fromkeys(texts)))
        steps = steps if self._are_independent else steps.check()
        row_of, left = {text: row for row, text in enumerate(steps.texts)}, steps.log_left()
        with self.branches.timed("sampling_seconds"):
            asking = [
                (text, self._draw(steps.allowed[row_of[text]], text, slot, left[row_of[text]]))
                for text, slot in zip(texts, slots, strict=True)
            ]
            drawn = run_together(asking, self.branches.holds)
            return [
                self._extension(steps, row_of[text], slot, left[row_of[text]], one)
                for text, slot, one in zip(texts, slots, drawn, strict=True)
            ]

    def _draw(self, allowed: np.ndarray, text: TextNode, slot: int, left: float) -> Questions:
        """`left`: the log mass that the grammar left."""
        sampling = self._samplings[slot]
        if left == -math.inf:
            return Drawn()
        if self.branches.specs[text.prompt].where is None:
            return Drawn(draw(allowed, sampling, text.length)[0], left)
        noise = np.full(len(allowed), 0.5, np.float32)  # so that the most probable token arrives first
        if sampling.temperature:
            noise = uniforms(len(allowed), sampling.seed, text.length)
        return (yield from self.how.draw(arrivals(allowed, noise)))

    def _extension(
        self, steps: Steps, row: int, slot: int, left: float, drawn: Drawn | Exception
    ) -> Extension[TextNode]:
        text = steps.texts[row]
        if isinstance(drawn, Exception):
            if not self._are_independent:
                raise Dead(text, Ending.of(drawn))
            self.endings[slot], drawn = Ending.of(drawn), Drawn()
        elif left == -math.inf:
            self.endings[slot] = steps.nothing_left(row)
        elif drawn.token == NO_TOKEN:
            self.endings[slot] = Ending.unsatisfied(text.length, self.branches.data(text))
        if drawn.token == NO_TOKEN or drawn.token in self.branches.stops:
            return Extension(text, drawn.log_weight, True)
        text = steps.take(row, drawn.token, left)
        return Extension(text, drawn.log_weight, self.branches.is_full(text))
