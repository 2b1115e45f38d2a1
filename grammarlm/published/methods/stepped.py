"""What methods share that spend more forwards where the model is uncertain, and only there: an answer that goes on step by step.

Uncertainty is measured after masking; but the log-probabilities that decide are the model's own, before masking: after it the way
into a dead end, where a single token is left, would look perfectly certain.

The continuations share their forwards, and the distributions along the chosen one are not computed again. An end is a token, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from grammarlm.decoding.failures import Ending
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.steps import Steps
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.decoding.tree.tree import Tree


@dataclass
class Continuation:
    """A continuation: its text, its log-probability under the model, and the known distributions after each of its prefixes."""

    text: TextNode
    sampling: Sampling  # how it goes on
    log_p: float = 0.0
    length: int = 0
    is_over: bool = False
    rests: bool = False  # it has come to a boundary
    ending: Ending | None = None  # where it has failed
    known: dict[TextNode, Steps] = field(default_factory=dict)  # each with a single row

    def merit(self) -> float:
        """The mean log-probability: minus the log of the perplexity."""
        return self.log_p / max(self.length, 1)

    def take(self, tree: Tree, steps: Steps) -> Continuation:
        """Draws one more token, or the end, as usual."""
        drawn = tree.draw(steps, self.sampling)
        if isinstance(drawn, Ending):
            self.log_p, self.is_over, self.ending = -np.inf, True, drawn
        else:
            self.log_p, self.length = self.log_p - drawn.cost, self.length + 1
            self.text, self.is_over = drawn.text, drawn.is_over
        return self


Boundary: TypeAlias = Callable[[int, np.ndarray], bool]  # of a drawn token and of what was allowed, bool [V]
Advance: TypeAlias = Callable[["SteppedAnswer", Continuation, Steps], Continuation]


class SteppedAnswer:
    """One answer being generated."""

    def __init__(self, tree: Tree):
        self.tree, self.sampling = tree, tree.sampling

    def run(self, advance: Advance) -> list[Result]:
        here = Continuation(self.tree.beginnings()[0], self.sampling)
        while not here.is_over:
            steps = here.known.pop(here.text, None) or self.tree.steps([here.text]).check()
            here = advance(self, here, steps)
        return [self.tree.result(here.text, ending=here.ending)]

    def continued(self, starts: Sequence[Continuation], depth: int, ends: Boundary | None = None) -> Continuation:
        """The best of them after each was continued by `depth` tokens, or up to a boundary."""
        for _ in range(depth):
            going = [one for one in starts if not one.is_over and not one.rests]
            unread = list(dict.fromkeys(one.text for one in going if one.text not in one.known))
            read = dict(zip(unread, self.tree.steps(unread).check().split(), strict=True)) if unread else {}
            for one in going:
                one.known.update({one.text: read[one.text]} if one.text in read else {})
                steps = one.known[one.text]
                one.take(self.tree, steps)
                one.rests = ends is not None and not one.is_over and ends(one.text.token, steps.allowed[0] > -np.inf)
        return max(starts, key=Continuation.merit)
