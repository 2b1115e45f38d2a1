"""method="beam": beam search for the most probable texts of a grammar.

    out = gl.generate(model, prompt, schema=Person, method="beam", beams=5)
    out.score                   # log of the probability that the model by itself writes this text, its end included

Each level keeps the best `beams` of finished texts and open prefixes together: a finished text keeps its score and competes.
The score is the model's own, the sum of log-probabilities over the full vocabulary, not renormalised after masking; so a prefix
that leads to what the model finds unlikely drops out, and if no level was truncated the first answer is the most probable text
of the language. There is no length normalisation. Ties go to the smaller token ids. A repetition_penalty changes the
probabilities that are summed; filters (top_k, ...) are refused.

    outs = gl.generate(model, prompt, schema=Person, method="beam", beams=6, groups=3, diversity=0.5, n=3)

With several groups the beams are divided among them, and at each token one group chooses after another: what k beams of earlier
groups have chosen at this place counts as k times `diversity` nats more expensive (Hamming diversity). The mask comes first, so
nothing that it forbids comes back, and scores are those without: the penalty decides which texts a group keeps, not what they
are. One group finds what beam search finds; all groups share their forwards.

Purpose: several answers. Forwards: one a token, of as many rows as there are beams. Law: none, nothing is drawn. Not where
answers should be typical: the most probable text rarely is. where= is asked about no more than is needed.

Beams are token sequences: a text with several tokenizations may occur several times. No two of a group's are equal; equal ones
of several groups are one answer.

A text ends with a stop id; where there are several, their probabilities are added: they end the same text.

(Item sets have a search of their own, `beam_search` in retrieval/beam.py, which knows all their prefixes beforehand.)

Source of the groups: Diverse Beam Search (Decoding Diverse Solutions from Neural Sequence Models).
"""

from __future__ import annotations

import math
from collections import Counter

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer, check_number
from grammarlm.decoding.tree.tree import Candidate, Tree, added

from .search import search


@search
def beam(tree: Tree, n: int, *, beams: int = 5, groups: int = 1, diversity: float = 0.5) -> list[Candidate]:
    """The n best texts that a search with so many beams finds, in so many groups; nothing is sampled."""
    check_integer("beams", beams, 1, MOST_ANSWERS)
    check_integer("groups", groups, 1, beams)
    check_number("diversity", diversity, lambda nats: 0 <= nats < math.inf, "0 (none) or more, in nats")
    if n > beams:
        raise ValueError(
            f"n={n} with beams={beams}; a search ends with as many answers as it has beams: beams={n} or more"
        )
    if tree.sampling.temperature:
        raise ValueError('temperature= with method="beam", which draws nothing; leave it out, or take method="smc"')
    sizes = [beams // groups + (number < beams % groups) for number in range(groups)]
    kept = [[tree.root] for _ in sizes]
    while True:
        growing = [one for group in kept for one in group if not one.is_over]
        if not growing:
            return sorted({(one.text, one.is_over): one for group in kept for one in group}.values())
        tree.read(growing)
        chosen: Counter[int] = Counter()
        for number, size in enumerate(sizes):
            penalties = {token: diversity * times for token, times in chosen.items()}
            kept[number] = grown(tree, kept[number], size, penalties, chosen)


def grown(
    tree: Tree, group: list[Candidate], size: int, penalties: dict[int, float], chosen: Counter[int]
) -> list[Candidate]:
    """The best of a group's texts with one more token each, and of those that are over; counts what was added to them."""
    growing = [one for one in group if not one.is_over]
    ranked = [(one.cost, one, False) for one in group if one.is_over]
    texts = {one.text for one in growing}
    level = tree.extend(growing, size, penalties)
    ranked += [(one.cost + penalties.get(added(one, texts), 0.0), one, True) for one in level]
    best = sorted(ranked)[:size]
    chosen.update(added(one, texts) for _, one, is_new in best if is_new)
    return [one for _, one, _ in best]
