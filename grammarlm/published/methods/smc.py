"""SMC (Sequential Monte Carlo Steering of Large Language Models): particles that together follow the model's own law.

    out = gl.generate(model, prompt, schema=Person, method="smc", particles=16)
    out.population.weights, out.population.log_evidence, out.population.ess

It costs as many texts as particles, equal ones once. Of no use where one good answer will do: masking alone is biased, and as
good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer
from grammarlm.decoding.failures import Ending, message_of
from grammarlm.decoding.methods.searches import search
from grammarlm.decoding.result import Population, Result
from grammarlm.decoding.tree.steps import Dead
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.decoding.tree.tree import Tree
from grammarlm.errors import shorten
from grammarlm.published.methods.rejection import Rejection

from .draws import FURTHER, WeightedDraws, generator
from .particles import Particles, check_threshold, run_particles, systematic

RESAMPLING = 2**63  # above any position: seeds resampling and the choice among particles


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
    draws = WeightedDraws(tree, [tree.sampling.of_sample(slot) for slot in range(particles)], how)
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
        lambda shares: systematic(shares, noise.random()),
        threshold=threshold,
        critic=score if critic is not None else None,
    )
    return answers_of(found, draws, n, noise if is_drawn else None)


smc.further = FURTHER  # type: ignore[attr-defined]


def answers_of(
    found: Particles[TextNode], draws: WeightedDraws, n: int, noise: np.random.Generator | None
) -> list[Result]:
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
