"""method="lookahead" and method="trials": more forwards where the model is not certain, and only there.

    gl.generate(model, prompt, schema=Person, method="lookahead", entropy=1.0, width=3, depth=5)
    gl.generate(model, prompt, schema=Person, method="trials", most=6, depth=8)

**lookahead.** Where the entropy of what may come (in nats, behind the mask) exceeds a threshold, decoding pauses: each of the
`width` most probable tokens is continued greedily by `depth` tokens, and the one is taken whose continuation is the most probable,
by the mean of its log-probabilities. Elsewhere the next token is taken as always.

**trials.** exp(entropy) says among how many equally probable tokens the choice is. That many continuations of `depth` tokens are
drawn, at most `most`, and the one with the least perplexity is kept as a whole. Where the model is certain it is a single token.

Uncertainty is what is left of it behind the mask; but the log-probabilities that choose are the model's own, before the mask:
behind it the way into a dead end, where a single token is left, would look as certain as can be.

The continuations share their forwards, a batch for each step, and the rows of the one that is taken are not asked for again. A
text that ends is a continuation like the others, its end a token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .arguments import check_integer, check_number
from .branches import Branches, Dead, Steps, answers_of_prompt, log_sum
from .failures import Ending
from .grammar_beam import came_to_nothing, ended, grown
from .particles import Text
from .rejection import Rejection
from .result import Result
from .sampling import Sampling
from .weighted import Draws, check_whole_distribution

if TYPE_CHECKING:
    from .request import Request


@dataclass
class Trail:
    """A continuation: where it has come, how probable the model finds it, and what may come behind each of its texts."""

    text: Text
    log_p: float = 0.0
    length: int = 0
    is_over: bool = False
    ending: Ending | None = None  # where it has come to nothing
    known: dict[Text, Steps] = field(default_factory=dict)  # each with a single row

    def merit(self) -> float:
        """The mean of the log-probabilities: minus the logarithm of the perplexity."""
        return self.log_p / max(self.length, 1)

    def take(self, draws: Draws, steps: Steps, place: int) -> None:
        """One token more, or the end."""
        extension = draws.extend(steps, [0], [place])[0]
        if extension.log_weight == -math.inf:
            self.log_p, self.is_over, self.ending = -math.inf, True, draws.endings[place]
            return
        if extension.text == self.text:
            self.log_p += steps.log_end(0, draws.branches.stops)
        else:
            self.log_p += float(steps.model[0, extension.text[-1]])
        self.text, self.is_over, self.length = extension.text, extension.is_over, self.length + 1


Advance: TypeAlias = Callable[["Walk", Trail, Steps], Trail]
GREEDY = 0  # among the places of a walk; the answer itself is the next one, and further continuations follow
ANSWER = 1


class Walk:
    """One answer on its way."""

    def __init__(self, request: Request, sampling: Sampling, most: int = 1):
        self.branches = Branches(request, sampling)
        greedy = replace(sampling, temperature=0.0)
        others = [sampling.warm().of_sample(number) for number in range(1, most)]
        self.draws = Draws(self.branches, [greedy, sampling, *others], Rejection("none"))

    def run(self, advance: Advance) -> list[Result]:
        here = Trail(self.branches.beginnings()[0])
        while not here.is_over:
            steps = here.known.pop(here.text, None) or self.branches.steps([here.text]).check()
            here = advance(self, here, steps)
        return [self.draws.result(here.text, ANSWER, is_cut=self.branches.is_full(here.text), ending=here.ending)]

    def certain(self, here: Trail, steps: Steps) -> Trail:
        """The next token, as always."""
        here.take(self.draws, steps, ANSWER)
        return here

    def continued(self, trails: list[Trail], places: list[int], depth: int) -> Trail:
        """The best of the trails, each of which goes on by so many tokens; its place says how it is drawn."""
        for _ in range(depth):
            going = [(trail, place) for trail, place in zip(trails, places, strict=True) if not trail.is_over]
            unread = list(dict.fromkeys(trail.text for trail, _ in going if trail.text not in trail.known))
            read = dict(zip(unread, self.branches.steps(unread).check().split(), strict=True)) if unread else {}
            for trail, place in going:
                trail.known.update({trail.text: read[trail.text]} if trail.text in read else {})
                trail.take(self.draws, trail.known[trail.text], place)
        return max(trails, key=Trail.merit)


def lookahead(request: Request, *, entropy: float = 1.0, width: int = 3, depth: int = 5) -> list[Result]:
    """Of the `width` best tokens the one that is best continued, where the entropy exceeds `entropy` nats."""
    check_number("entropy", entropy, lambda h: h >= 0, "0 (at every choice) or more")
    check_integer("width", width, 1)
    check_integer("depth", depth, 0)

    def advance(walk: Walk, here: Trail, steps: Steps) -> Trail:
        if entropy_of(steps.allowed[0]) <= entropy:
            return walk.certain(here, steps)
        return looked_at(walk, steps, width, depth)

    return walks(request, "lookahead", advance)


def looked_at(walk: Walk, steps: Steps, width: int, depth: int) -> Trail:
    """The best of the most probable tokens, and the rows behind it that are known by now."""
    scores, text, left = steps.allowed.astype(np.float64), steps.texts[0], steps.log_left()
    rivals = sorted(ended(walk.branches, steps, scores) + grown(walk.branches, walk.draws.notes, steps, scores, width))
    if not rivals:
        raise Dead(text, came_to_nothing(walk.branches, steps, left))
    trails = []
    for one in rivals[:width]:
        has_ended = one.text == text
        own = steps.log_end(0, walk.branches.stops) if has_ended else float(steps.model[0, one.text[-1]])
        trails.append(Trail(one.text, own, 1, one.is_over))
    starts = {id(trail): (trail.text, trail.is_over) for trail in trails}
    best = walk.continued(trails, [GREEDY] * len(trails), depth)
    start, is_over = starts[id(best)]
    return Trail(start, is_over=is_over, known=best.known)


def trials(request: Request, *, most: int = 6, depth: int = 8) -> list[Result]:
    """Of exp(entropy) continuations, at most `most`, the one with the least perplexity. At temperature 0 one of them is greedy,
    and the others are drawn at temperature 1."""
    check_integer("most", most, 1)
    check_integer("depth", depth, 1)

    def advance(walk: Walk, here: Trail, steps: Steps) -> Trail:
        count = min(most, round(math.exp(min(entropy_of(steps.allowed[0]), 50.0))))
        if count < 2:
            return walk.certain(here, steps)
        trails = [Trail(steps.texts[0], known={steps.texts[0]: steps}) for _ in range(count)]
        best = walk.continued(trails, list(range(ANSWER, ANSWER + count)), depth)
        best.known = {}  # all of it is taken
        return best

    return walks(request, "trials", advance, most)


def walks(request: Request, method: str, advance: Advance, most: int = 1) -> list[Result]:
    """The answers one after another."""
    check_whole_distribution(request.tasks[0].sampling, method)
    results: list[Result] = []
    for part in request.parts(1):
        for number in range(request.n):
            walk = Walk(part, part.tasks[0].sampling.of_sample(number), most)
            results += answers_of_prompt(walk.branches, walk.draws.notes, 1, partial(walk.run, advance))
    return results


def entropy_of(log_p: np.ndarray) -> float:
    """In nats, of the distribution that these logarithms are, up to a factor; 0 where nothing is left."""
    left = log_p[log_p > -np.inf].astype(np.float64)
    if not len(left):
        return 0.0
    left -= log_sum(left)
    return max(0.0, -float((np.exp(left) * left).sum()))
