"""method="awrs" and method="smc": weighted draws, which correct for how the constraint changed the model's distribution.

    out = gl.generate(model, prompt, regex="...", where=compiles, method="awrs", temperature=1.0)
    out.log_weight                               # log of an unbiased estimate of the mass that the constraint left on the way

    out = gl.generate(model, prompt, schema=Person, method="smc", particles=16)
    out.population.weights, out.population.log_evidence, out.population.ess

Both draw from the model's whole distribution at the temperature. Under a grammar the weight of a step is known exactly: the mass
that the mask leaves. Under where= it is estimated by rejection inside the mask (rejection.py), so the number of checks depends only
on how much the predicate refuses of what the grammar allows. The questions of all texts are batched, each asked once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer
from grammarlm.decoding.failures import Ending, message_of
from grammarlm.decoding.logits.exponential_race import ExponentialRace
from grammarlm.decoding.logits.rejection import NO_TOKEN, Drawn, Rejection, run_together
from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.decoding.result import Population, Result
from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.steps import Dead, Steps
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.decoding.tree.tree import Tree
from grammarlm.errors import shorten
from grammarlm.kernels import entries

from .particles import Extension, Particles, Resample, check_threshold, run_particles, systematic
from .searches import check_whole_distribution, search

if TYPE_CHECKING:
    from grammarlm.decoding.request import Request

RESAMPLING = 2**63  # above any position: seeds resampling and the choice among particles


def awrs(request: Request, **options: Any) -> list[Result]:
    """Independent weighted draws; the options are the fields of `Rejection`. At temperature 0 nothing is drawn: the most probable
    token that where= accepts is taken, and there is no weight.

    A text that where= does not let go on has weight 0, and no value ("unsatisfied").
    """
    how = Rejection(**options)
    sampling = request.specs[0].settings.sampling
    how = how if sampling.temperature else replace(how, weights="none")
    check_whole_distribution(sampling, "awrs")
    branches = Branches(request, sampling)
    starts = [text for text in branches.beginnings() for _ in range(request.n)]
    seeds = [sampling.of_sample(slot % request.n) for slot in range(len(starts))]
    draws = Draws(branches, seeds, how, are_independent=True)
    found = run_particles(starts, draws, np.copy, threshold=0)
    is_weighted = how.weights != "none"
    results = []
    for slot, (text, log_weight) in enumerate(zip(found.texts, found.log_weights.tolist(), strict=True)):
        result = draws.result(text, slot, ending=draws.endings.get(slot))
        results.append(replace(result, log_weight=log_weight if is_weighted else None))
    return results


@search
def smc(
    tree: Tree,
    n: int,
    *,
    particles: int = 16,
    threshold: float = 0.5,
    critic: Callable[[list[str]], Sequence[float]] | None = None,
    **options: Any,
) -> list[Result]:
    """Sequential Monte Carlo. With a temperature, answers are drawn from the particles by weight. At temperature 0 the particles
    are those of temperature 1, the answer is the text with the largest weight, and n answers are the n heaviest.

    particles   how many; particles with equal texts share a forward
    threshold   resample when the effective sample size falls below this share of them: 0 never, 1 always
    critic      gets the unfinished texts, returns for each the log of a score that steers the search; the target law stays the same
    options     fields of `Rejection`, where where= is given
    """
    check_integer("particles", particles, 1, MOST_ANSWERS)
    how = Rejection(**options)
    if how.weights == "none":
        raise ValueError('weights="none" with method="smc", which is about weights; leave it out')
    check_threshold(threshold)
    is_drawn, tree.sampling = bool(tree.sampling.temperature), tree.sampling.warm()
    draws = Draws(tree, [tree.sampling.of_sample(slot) for slot in range(particles)], how)
    noise = generator(tree.sampling.seed, RESAMPLING)

    def score(texts: list[TextNode]) -> Sequence[float]:
        assert critic is not None
        try:
            return [float(one) for one in critic([tree.data(text).decode(errors="replace") for text in texts])]
        except Exception as error:
            raise Dead(texts[0], Ending("error", shorten(f"critic= raised {message_of(error)}"))) from error

    found = run_particles(
        [tree.root.text] * particles,
        draws,
        resampling(noise),
        threshold=threshold,
        critic=score if critic is not None else None,
    )
    return answers_of(found, draws, n, noise if is_drawn else None)


def answers_of(found: Particles[TextNode], draws: Draws, n: int, noise: np.random.Generator | None) -> list[Result]:
    """n answers from the particles: drawn by weight, or the heaviest where `noise` is None."""
    law = found.law()
    if not law:
        slot, ending = min(draws.endings.items())
        raise Dead(found.texts[slot], ending)
    texts, branches = list(law), draws.branches
    population = Population(
        texts=[branches.data(text).decode(errors="replace") for text in texts],
        tokens=[text.tokens() for text in texts],
        weights=list(law.values()),
        log_evidence=found.log_evidence,
        ess=found.ess,
        resampled=found.resampled,
    )
    if noise is None:
        ranks = heaviest(population)
        chosen = [ranks[min(at, len(ranks) - 1)] for at in range(n)]
    else:
        chosen = noise.choice(len(texts), size=n, p=np.array(population.weights) / sum(population.weights)).tolist()
    answers = [draws.result(texts[at], 0) for at in chosen]
    return [replace(answer, population=population) for answer in answers]


def heaviest(population: Population) -> list[int]:
    """The index of each text's heaviest tokenization, texts ordered by the total weight of all their tokenizations."""
    totals: dict[str, float] = {}
    first: dict[str, int] = {}
    for at, (text, weight) in enumerate(zip(population.texts, population.weights, strict=True)):
        totals[text] = totals.get(text, 0.0) + weight
        first.setdefault(text, at)
    return [first[text] for text in sorted(totals, key=lambda text: -totals[text])]


def generator(seed: int | None, position: int) -> np.random.Generator:
    """Random numbers independent of the race's, also a function of seed and position alone."""
    assert seed is not None
    return np.random.Generator(np.random.Philox(key=np.array([seed, position], np.uint64)))


def resampling(noise: np.random.Generator) -> Resample:
    return lambda shares: systematic(shares, noise.random())


class Draws:
    """Draws the next token of particles; `samplings[i]` has the seed of slot i.

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
