"""method="trials": as many short continuations as the model finds equally good, of which the least surprising is kept as a whole.

    gl.generate(model, prompt, schema=Person, method="trials", most=6, depth=8)
    gl.generate(model, prompt, schema=Note, method="trials", until=".,;!?", depth=40)

exp(entropy), the perplexity of the choice, is the number of equally probable tokens with this entropy. That many continuations of
`depth` tokens are drawn, at most `most`, and the one with the least perplexity is kept. Where the model is certain it is a single
token. With `until=".!?"` a trial ends after a drawn token with one of these characters, too: where the model chose it, not where
the grammar has it written (boundaries.py).

Purpose: more often right. Forwards: those of the answer, of at most `most` rows. Law: its own, closer to the mode than the model's.
Not where answers must follow the model's law.

Source: CNTP (Cautious Next Token Prediction).
"""

from __future__ import annotations

import math

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer
from grammarlm.decoding.logits.entropy import entropy_of
from grammarlm.decoding.methods.searches.search import search
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.steps import Steps
from grammarlm.decoding.tree.tree import Tree

from .boundaries import Boundaries
from .stepped import Continuation, SteppedAnswer


@search(is_independent=True)
def trials(tree: Tree, n: int, *, most: int = 6, depth: int = 8, until: str | None = None) -> list[Result]:
    """Of exp(entropy) continuations, at most `most`, the one with the least perplexity. At temperature 0 one of them is greedy,
    and the others are drawn at temperature 1.
    """
    ends = None if until is None else Boundaries(until, tree.vocab)
    check_integer("most", most, 1, MOST_ANSWERS)
    check_integer("depth", depth, 1, MOST_ANSWERS)

    samplings = [tree.sampling, *(tree.sampling.warm().of_sample(number) for number in range(1, most))]

    def advance(answer: SteppedAnswer, here: Continuation, steps: Steps) -> Continuation:
        count = min(most, round(math.exp(min(entropy_of(steps.allowed[0]), 50.0))))
        if count < 2:
            return here.take(tree, steps)
        text = steps.texts[0]
        starts = [Continuation(text, each, known={text: steps}) for each in samplings[:count]]
        best = answer.continued(starts, depth, ends)
        return Continuation(best.text, tree.sampling, is_over=best.is_over, ending=best.ending)  # all of it is taken

    return SteppedAnswer(tree).run(advance)
