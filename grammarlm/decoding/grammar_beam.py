"""method="beam": beam search for the most probable texts of a grammar.

    out = gl.generate(model, prompt, schema=Person, method="beam", beams=5)
    out.score                   # log of the probability that the model by itself writes this text, its end included

Each level keeps the best `beams` of finished texts and open prefixes together: a finished text keeps its score and competes. The
score is the model's own, the sum of log-probabilities over the full vocabulary, not renormalised after masking; so a prefix that
leads to what the model finds unlikely drops out, and if no level was truncated the first answer is the most probable text of the
language. There is no length normalisation. Ties go to the smaller token ids. A repetition_penalty changes the probabilities that
are summed; filters (top_k, ...) are refused.

Beams are token sequences: a text with several tokenizations may occur several times.

A text ends with a stop id; where there are several, their probabilities are added: they end the same text.

(Item sets have a search of their own, `beam_search` in beam.py, which knows all their prefixes beforehand.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .arguments import check_integer
from .branches import Branches, Dead, Steps, answers_of_prompt, log_sum
from .failures import Ending
from .result import Result
from .text_node import TextNode
from .weighted import check_whole_distribution

if TYPE_CHECKING:
    from .request import Request


@dataclass(frozen=True, order=True)
class Candidate:
    """Ordered best first."""

    cost: float  # minus the score
    text: TextNode
    is_over: bool = False


def beam(request: Request, *, beams: int = 5) -> list[Result]:
    """The n best texts that a search with so many beams finds; nothing is sampled."""
    check_integer("beams", beams, 1)
    if request.n > beams:
        raise ValueError(
            f"n={request.n} with beams={beams}; a search ends with as many answers as it has beams: beams={request.n} or more"
        )
    sampling = request.tasks[0].sampling
    if sampling.temperature:
        raise ValueError('temperature= with method="beam", which draws nothing; leave it out, or take method="smc"')
    check_whole_distribution(sampling, "beam")
    results: list[Result] = []
    for part in request.parts(1):
        branches = Branches(part, sampling)

        def find(branches: Branches = branches) -> list[Result]:
            found = search(branches, beams)
            best = [found[min(rank, len(found) - 1)] for rank in range(request.n)]
            return [answer(branches, one) for one in best]

        results += answers_of_prompt(branches, request.n, find)
    return results


def answer(branches: Branches, one: Candidate) -> Result:
    result = branches.result(one.text)
    return replace(result, score=-one.cost)


def search(branches: Branches, beams: int) -> list[Candidate]:
    """The finished texts kept in the end, best first; Dead where there are none."""
    kept = [Candidate(0.0, text) for text in branches.beginnings()]
    while not all(one.is_over for one in kept):
        growing = [one for one in kept if not one.is_over]
        steps = branches.steps([one.text for one in growing]).check()
        left = steps.log_left()
        scores = -np.array([[one.cost] for one in growing]) + steps.allowed.astype(np.float64)
        rivals = [one for one in kept if one.is_over] + ended(branches, steps, scores)
        kept = sorted(rivals + grown(branches, steps, scores, beams))[:beams]
        if not kept:
            raise Dead(growing[0].text, came_to_nothing(branches, steps, left))
    return kept


def came_to_nothing(branches: Branches, steps: Steps, left: list[float]) -> Ending:
    """How the first of these texts ends, none of which can go on; `left` is the log mass that the grammar allowed of each."""
    if left[0] == -np.inf:
        return steps.nothing_left(0)
    text = steps.texts[0]
    return Ending.unsatisfied(text.length, branches.data(text))


def ended(branches: Branches, steps: Steps, scores: np.ndarray) -> list[Candidate]:
    """The texts that may end here; sets the scores of the stop ids to -inf."""
    stops = [stop for stop in branches.stops if stop < scores.shape[1]]
    ends = [log_sum(row) for row in scores[:, stops]]
    scores[:, stops] = -np.inf
    found = [Candidate(-end, text, True) for end, text in zip(ends, steps.texts, strict=True) if end > -np.inf]
    accepted = branches.held([(one.text, stops[0]) for one in found])
    return [one for one, is_fine in zip(found, accepted, strict=True) if is_fine]


def grown(branches: Branches, steps: Steps, scores: np.ndarray, beams: int) -> list[Candidate]:
    """The best texts with one more token that where= accepts; the predicate is called on no more than needed."""
    found: list[Candidate] = []
    while len(found) < beams:
        best = leaders(steps.texts, scores, beams - len(found))
        if not best:
            break
        answers = branches.held([(steps.texts[row], token) for row, token in best])
        for (row, token), is_fine in zip(best, answers, strict=True):
            if is_fine:
                text = steps.take(row, token, log_sum(steps.allowed[row]))
                found.append(Candidate(-float(scores[row, token]), text, branches.is_full(text)))
            scores[row, token] = -np.inf
    return found


def leaders(texts: list[TextNode], scores: np.ndarray, count: int) -> list[tuple[int, int]]:
    """(row, token) of the best scores above -inf, best first; ties in the order of texts and tokens."""
    flat = scores.reshape(-1)
    least = np.partition(flat, -count)[-count] if count < len(flat) else -np.inf
    rows, tokens = np.nonzero((scores >= least) & (scores > -np.inf))
    ranks = sorted(range(len(texts)), key=texts.__getitem__)
    rank = {row: at for at, row in enumerate(ranks)}
    order = sorted(zip(rows.tolist(), tokens.tolist(), strict=True), key=lambda at: (-scores[at], rank[at[0]], at[1]))
    return order[:count]
