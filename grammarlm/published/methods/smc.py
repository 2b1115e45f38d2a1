"""method="smc": particles that together follow the model's own law.

    gl.generate(model, prompt, schema=Person, method="smc", particles=16).population    # texts, weights, log_evidence, ess

Purpose: the model's own law. Forwards: one a token, of a row for each particle, equal ones once. Law: the model's given the
grammar and where=, the closer the more particles. Not where one good answer will do: masking is biased, and as good.

Source: Sequential Monte Carlo Steering of Large Language Models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer, check_number
from grammarlm.decoding.failures import RowFailure, answer_of
from grammarlm.decoding.methods.searches.search import search
from grammarlm.decoding.result import Population, Result
from grammarlm.decoding.tree.steps import Dead
from grammarlm.decoding.tree.tree import Tree

from .draws import FURTHER, WeightedDraws
from .particles import run_particles
from .rejection import Rejection
from .resampling import law_of, log_mean, systematic

RESAMPLING = 2**63  # with the seed: the noise of resampling and of the choice among particles


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
    options     fields of `Rejection` but weights=, where where= is given
    """
    check_integer("particles", particles, 1, MOST_ANSWERS)
    check_number("threshold", threshold, lambda t: 0 <= t <= 1, "from 0 (never resample) to 1 (at every step)")
    is_drawn, tree.sampling = bool(tree.sampling.temperature), tree.sampling.warm()
    draws = WeightedDraws(tree, [tree.sampling.of_sample(slot) for slot in range(particles)], Rejection(**options))
    noise = np.random.Generator(np.random.Philox(key=np.array([tree.sampling.seed, RESAMPLING], np.uint64)))
    found = run_particles(
        [tree.root.text] * particles,
        draws,
        lambda shares: systematic(shares, noise.random()),
        threshold=threshold,
        critic=None if critic is None else lambda texts: judged(critic, list(map(tree.written, texts))),
    )
    law = law_of(found.texts, found.log_weights)
    if not law:
        slot, ending = min(draws.endings.items())
        raise Dead(found.texts[slot], ending)
    texts, tokens, weights = list(map(tree.written, law)), [text.tokens() for text in law], list(law.values())
    population = Population(texts, tokens, weights, log_mean(found.log_weights), found.ess, found.resampled)
    if is_drawn:
        chosen = noise.choice(len(law), size=n, p=np.array(weights) / sum(weights)).tolist()
    else:  # by the weight of all tokenizations of a text, of which the heaviest is the first; where there are fewer, the last again
        ranked = list(law_of(texts, np.log(weights)))
        chosen = [texts.index(ranked[min(at, len(ranked) - 1)]) for at in range(n)]
    return [replace(tree.result(list(law)[at]), population=population) for at in chosen]


smc.further = FURTHER - {"weights"}  # type: ignore[attr-defined]


def judged(critic: Callable[[list[str]], Sequence[float]], texts: list[str]) -> list[float]:
    """The critic's log scores."""
    found: list[float] = answer_of("critic", lambda _: critic(texts), texts[0], lambda scores: list(map(float, scores)))
    if len(found) != len(texts) or not all(map(math.isfinite, found)):
        raise RowFailure(
            f"ValueError: the critic was asked about {len(texts)} texts and gave {str(found)[:100]}; it returns the log of a "
            "score for each, a finite number: a score of 0 would take a text out of the law (that is what where= is for)"
        )
    return found
