"""method="lookahead": looks ahead where the model is uncertain.

    gl.generate(model, prompt, schema=Person, method="lookahead", entropy=1.0, width=3, depth=5)

Where the entropy of the masked distribution (in nats) exceeds a threshold, each of the `width` most probable tokens is continued
greedily by `depth` tokens, and the token is taken whose continuation is the most probable, by its mean log-probability. Elsewhere
the next token is chosen as usual.

Purpose: more often right. Forwards: one a token, and `depth` of `width` rows at an uncertain place. Law: its own; where it is
certain, "masked". Not where any of the tokens would do, as in names.

Source: AdaDec (Towards Better Code Generation: Adaptive Decoding with Uncertainty Guidance).
"""

from __future__ import annotations

from dataclasses import replace

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer, check_number
from grammarlm.decoding.logits.entropy import entropy_of
from grammarlm.decoding.methods.searches.search import search
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.steps import Dead, Steps
from grammarlm.decoding.tree.tree import Tree, came_to_nothing, continuations

from .stepped import Continuation, SteppedAnswer


@search(is_independent=True)
def lookahead(tree: Tree, n: int, *, entropy: float = 1.0, width: int = 3, depth: int = 5) -> list[Result]:
    """Where the entropy exceeds `entropy` nats: of the `width` most probable tokens, the one with the best continuation."""
    check_number("entropy", entropy, lambda h: h >= 0, "0 (at every choice) or more")
    check_integer("width", width, 1, MOST_ANSWERS)
    check_integer("depth", depth, 0, MOST_ANSWERS)

    def advance(answer: SteppedAnswer, here: Continuation, steps: Steps) -> Continuation:
        if entropy_of(steps.allowed[0]) <= entropy:
            return here.take(tree, steps)
        return looked_at(answer, steps, width, depth)

    return SteppedAnswer(tree).run(advance)


def looked_at(answer: SteppedAnswer, steps: Steps, width: int, depth: int) -> Continuation:
    """The best of the most probable tokens, with the distributions after it that are known by now."""
    tree, text, left = answer.tree, steps.texts[0], steps.log_left()
    rivals = continuations(tree, steps, [0.0], width)
    if not rivals:
        raise Dead(text, came_to_nothing(tree, steps, left))
    greedy = replace(answer.sampling, temperature=0.0)
    followed = []
    for one in rivals[:width]:
        own = steps.log_end(0, tree.stops) if one.text == text else float(steps.model[0, one.text.token])
        followed.append(Continuation(one.text, greedy, own, 1, one.is_over))
    starts = {id(one): (one.text, one.is_over) for one in followed}
    best = answer.continued(followed, depth)
    start, is_over = starts[id(best)]
    return Continuation(start, answer.sampling, is_over=is_over, known=best.known)
