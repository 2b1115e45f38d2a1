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

(Item sets have a search of their own, `beam_search` in retrieval/beam.py, which knows all their prefixes beforehand.)
"""

from __future__ import annotations

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer
from grammarlm.decoding.tree.tree import Candidate, Tree

from .search import search


@search
def beam(tree: Tree, n: int, *, beams: int = 5) -> list[Candidate]:
    """The n best texts that a search with so many beams finds; nothing is sampled."""
    check_integer("beams", beams, 1, MOST_ANSWERS)
    if n > beams:
        raise ValueError(
            f"n={n} with beams={beams}; a search ends with as many answers as it has beams: beams={n} or more"
        )
    if tree.sampling.temperature:
        raise ValueError('temperature= with method="beam", which draws nothing; leave it out, or take method="smc"')
    kept = [tree.root]
    while not all(one.is_over for one in kept):
        growing = [one for one in kept if not one.is_over]
        kept = sorted([one for one in kept if one.is_over] + tree.extend(growing, beams))[:beams]
    return kept
