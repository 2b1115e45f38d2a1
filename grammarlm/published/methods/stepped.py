"""What methods share that spend more forwards where the model is uncertain, and only there: an answer that goes on step by step.

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

from grammarlm.decoding.failures import Ending
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.steps import Steps, log_sum
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.decoding.tree.tree import Tree
from grammarlm.published.methods.rejection import Rejection

from .draws import WeightedDraws


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

    def take(self, draws: WeightedDraws, steps: Steps, slot: int) -> None:
        """WeightedDraws one more token, or the end."""
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
        self.draws = WeightedDraws(self.branches, [greedy, sampling, *others], Rejection("none"))

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


def entropy_of(log_p: np.ndarray) -> float:
    """Entropy in nats of the distribution with these log-probabilities, up to a factor; 0 where nothing is left."""
    left = log_p[log_p > -np.inf].astype(np.float64)
    if not len(left):
        return 0.0
    left -= log_sum(left)
    return max(0.0, -float((np.exp(left) * left).sum()))
