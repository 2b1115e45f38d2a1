"""method="lookahead" and method="trials": spend more forwards where the model is uncertain, and only there.

    gl.generate(model, prompt, schema=Person, method="lookahead", entropy=1.0, width=3, depth=5)
    gl.generate(model, prompt, schema=Person, method="trials", most=6, depth=8)

**lookahead.** Where the entropy of the masked distribution (in nats) exceeds a threshold, each of the `width` most probable tokens
is continued greedily by `depth` tokens, and the token is taken whose continuation is the most probable, by its mean
log-probability. Elsewhere the next token is chosen as usual.

**trials.** exp(entropy), the perplexity of the choice, is the number of equally probable tokens with this entropy. That many
continuations of `depth` tokens are drawn, at most `most`, and the one with the least perplexity is kept as a whole. Where the model
is certain it is a single token.

Uncertainty is measured after masking; but the log-probabilities that decide are the model's own, before masking: after it the way
into a dead end, where a single token is left, would look perfectly certain.

The continuations share their forwards, one batch for each step, and the distributions along the chosen one are not computed again.
A text that ends is a continuation like the others, its end a token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer, check_number
from grammarlm.decoding.failures import Ending
from grammarlm.decoding.logits.rejection import Rejection
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.steps import Dead, Steps, log_sum
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.decoding.tree.tree import Tree, came_to_nothing, ended, grown

from .searches import search
from .weighted import Draws


@dataclass
class Continuation:
    """A continuation: its text, its log-probability under the model, and the known distributions after each of its prefixes."""

    text: TextNode
    log_p: float = 0.0
    length: int = 0
    is_over: bool = False
    ending: Ending | None = None  # where it has failed
    known: dict[TextNode, Steps] = field(default_factory=dict)  # each with a single row

    def merit(self) -> float:
        """The mean log-probability: minus the log of the perplexity."""
        return self.log_p / max(self.length, 1)

    def take(self, draws: Draws, steps: Steps, slot: int) -> None:
        """Draws one more token, or the end."""
        extension = draws.extend(steps, [0], [slot])[0]
        if extension.log_weight == -math.inf:
            self.log_p, self.is_over, self.ending = -math.inf, True, draws.endings[slot]
            return
        if extension.text == self.text:
            self.log_p += steps.log_end(0, draws.branches.stops)
        else:
            self.log_p += float(steps.model[0, extension.text.token])
        self.text, self.is_over, self.length = extension.text, extension.is_over, self.length + 1


Advance: TypeAlias = Callable[["SteppedAnswer", Continuation, Steps], Continuation]
GREEDY = 0  # slot of greedy continuations; ANSWER is that of the answer itself, further continuations follow
ANSWER = 1


class SteppedAnswer:
    """One answer being generated."""

    def __init__(self, tree: Tree, most: int = 1):
        self.branches, sampling = tree, tree.sampling
        greedy = replace(sampling, temperature=0.0)
        others = [sampling.warm().of_sample(number) for number in range(1, most)]
        self.draws = Draws(self.branches, [greedy, sampling, *others], Rejection("none"))

    def run(self, advance: Advance) -> list[Result]:
        here = Continuation(self.branches.beginnings()[0])
        while not here.is_over:
            steps = here.known.pop(here.text, None) or self.branches.steps([here.text]).check()
            here = advance(self, here, steps)
        return [self.draws.result(here.text, ANSWER, ending=here.ending)]

    def certain(self, here: Continuation, steps: Steps) -> Continuation:
        """Chooses the next token as usual."""
        here.take(self.draws, steps, ANSWER)
        return here

    def continued(self, continuations: list[Continuation], slots: list[int], depth: int) -> Continuation:
        """The best of them after each was continued by `depth` tokens; its slot says how it is drawn."""
        for _ in range(depth):
            going = [(one, slot) for one, slot in zip(continuations, slots, strict=True) if not one.is_over]
            unread = list(dict.fromkeys(one.text for one, _ in going if one.text not in one.known))
            read = dict(zip(unread, self.branches.steps(unread).check().split(), strict=True)) if unread else {}
            for one, slot in going:
                one.known.update({one.text: read[one.text]} if one.text in read else {})
                one.take(self.draws, one.known[one.text], slot)
        return max(continuations, key=Continuation.merit)


@search(is_independent=True)
def lookahead(tree: Tree, n: int, *, entropy: float = 1.0, width: int = 3, depth: int = 5) -> list[Result]:
    """Where the entropy exceeds `entropy` nats: of the `width` most probable tokens, the one with the best continuation."""
    check_number("entropy", entropy, lambda h: h >= 0, "0 (at every choice) or more")
    check_integer("width", width, 1, MOST_ANSWERS)
    check_integer("depth", depth, 0, MOST_ANSWERS)

    def advance(answer: SteppedAnswer, here: Continuation, steps: Steps) -> Continuation:
        if entropy_of(steps.allowed[0]) <= entropy:
            return answer.certain(here, steps)
        return looked_at(answer, steps, width, depth)

    return SteppedAnswer(tree).run(advance)


def looked_at(answer: SteppedAnswer, steps: Steps, width: int, depth: int) -> Continuation:
    """The best of the most probable tokens, with the distributions after it that are known by now."""
    scores, text, left = steps.allowed.astype(np.float64), steps.texts[0], steps.log_left()
    rivals = sorted(ended(answer.branches, steps, scores) + grown(answer.branches, steps, scores, width))
    if not rivals:
        raise Dead(text, came_to_nothing(answer.branches, steps, left))
    continuations = []
    for one in rivals[:width]:
        has_ended = one.text == text
        own = steps.log_end(0, answer.branches.stops) if has_ended else float(steps.model[0, one.text.token])
        continuations.append(Continuation(one.text, own, 1, one.is_over))
    starts = {id(one): (one.text, one.is_over) for one in continuations}
    best = answer.continued(continuations, [GREEDY] * len(continuations), depth)
    start, is_over = starts[id(best)]
    return Continuation(start, is_over=is_over, known=best.known)


@search(is_independent=True)
def trials(tree: Tree, n: int, *, most: int = 6, depth: int = 8) -> list[Result]:
    """Of exp(entropy) continuations, at most `most`, the one with the least perplexity. At temperature 0 one of them is greedy,
    and the others are drawn at temperature 1.
    """
    check_integer("most", most, 1, MOST_ANSWERS)
    check_integer("depth", depth, 1, MOST_ANSWERS)

    def advance(answer: SteppedAnswer, here: Continuation, steps: Steps) -> Continuation:
        count = min(most, round(math.exp(min(entropy_of(steps.allowed[0]), 50.0))))
        if count < 2:
            return answer.certain(here, steps)
        continuations = [Continuation(steps.texts[0], known={steps.texts[0]: steps}) for _ in range(count)]
        best = answer.continued(continuations, list(range(ANSWER, ANSWER + count)), depth)
        best.known = {}  # the whole continuation is taken
        return best

    return SteppedAnswer(tree, most).run(advance)


def entropy_of(log_p: np.ndarray) -> float:
    """Entropy in nats of the distribution with these log-probabilities, up to a factor; 0 where nothing is left."""
    left = log_p[log_p > -np.inf].astype(np.float64)
    if not len(left):
        return 0.0
    left -= log_sum(left)
    return max(0.0, -float((np.exp(left) * left).sum()))
