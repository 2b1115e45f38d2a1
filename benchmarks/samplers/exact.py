"""One sampler on one task: how far from the law its rows are, at how many tokens a step, how many are outside of the language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import grammarlm as gl
from grammarlm.decoding.diffusion.denoiser import Denoiser
from grammarlm.decoding.diffusion.filling import Filling, Plan
from grammarlm.decoding.diffusion.holes import MASKED, Holes
from grammarlm.masks.constraint import Constraint

from .laws import MASK, TASKS, Model, Row
from .outcomes import ScriptedDraws, distance, outcomes

# What a sampler is measured with; blocks and windows are smaller than the rows, or they would change nothing.
OPTIONS: dict[str, dict[str, Any]] = {
    "adablock": {"block": 3},
    "bounded": {"block": 3},
    "leap": {"relaxed": 0.5, "w": 2},
    "sched": {"tau": 3.0, "floor": 0.5},
    "prophet": {"gaps": (3.0, 1.5, 0.5)},
    "regions": {"regions": [(0, 2), (2, 9)]},
    "blocks": {"block": 3},
    "window": {"window": 3, "buffer": 1},
    "stream": {"window": 3},
    "freedave": {"d": 2},
    "s2d2": {"verify": "always"},
}


@dataclass(frozen=True)
class Figure:
    """`steps` is what was asked for; the others are means over all outcomes."""

    steps: int
    tokens_a_step: float
    calls: float
    total_variation: float
    invalid: float  # probability of rows outside of the language


@cache
def constraint_of(task: str) -> Constraint:
    return gl.compile(TASKS[task].grammar, TASKS[task].vocab)


def measure(task: str, sampler: str, steps: int, *, constrained: bool) -> Figure:
    """Exact: no sampling."""
    one = TASKS[task]
    plan = Plan.of(sampler, None, OPTIONS.get(sampler, {}))
    constraint = constraint_of(task) if constrained else None
    model = Model(one)

    def play(draws: ScriptedDraws) -> tuple[Row, int, int]:
        reader = Denoiser(model, one.vocab.size, MASK)
        run = Filling(reader, one.vocab, constraint, draws, plan, steps).run(Holes(np.full(one.length, MASKED)))
        return tuple(run.row.tolist()), len(run.trace), reader.calls

    found = outcomes(play)
    law: dict[Row, float] = {}
    for (row, _, _), p in found.items():
        law[row] = law.get(row, 0.0) + p
    return Figure(
        steps,
        one.length / sum(p * count for (_, count, _), p in found.items()),
        sum(p * calls for (_, _, calls), p in found.items()),
        distance(law, one.rows),
        sum(p for row, p in law.items() if row not in one.rows),
    )
