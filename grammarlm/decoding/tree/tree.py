"""The tree of texts that a search walks: candidates, and their best continuations.

tree = Tree(request, sampling)                        # of one prompt
level = tree.extend([tree.root], 3)                   # the three best first tokens, and the end if it is allowed; best first
level = tree.extend([one for one in level if not one.is_over], 3)
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

import numpy as np

from grammarlm.decoding.failures import Ending, RowFailure
from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.decoding.result import Result
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.kernels import entries

from .branches import Branches
from .steps import Dead, Steps, log_sum
from .text_node import TextNode

END = -1  # the end of a text, among penalties
NONE: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, order=True)
class Candidate:
    """A text, and minus its score. Ordered best first; ties go to the smaller token ids."""

    cost: float
    text: TextNode
    is_over: bool = False  # it has ended, or max_tokens cuts it here


class Tree(Branches):
    """All texts that may answer one prompt. `steps` (branches.py) gives the distributions after any of them."""

    _nothing: Dead | None = None  # why the last call of `extend` found nothing
    _read: Steps | None = None  # what `read` has read

    @property
    def root(self) -> Candidate:
        return Candidate(0.0, self.beginnings()[0])

    @property
    def longest(self) -> int:
        """Texts that are read one after another, at most, until an answer is over: each of its beginnings, and it for its end."""
        spec, most = self.specs[0], self.specs[0].settings.max_tokens
        grammar = None if spec.constraint is None else spec.constraint.grammar
        if isinstance(grammar, Tokens) and not grammar.strings:
            most = min(most, grammar.facts.longest)
        return most + 1

    def read(self, candidates: Sequence[Candidate]) -> None:
        """One forward for all of these texts: `extend` needs none of its own then for some of them, until it does for others."""
        self._read = self.steps(list(dict.fromkeys(one.text for one in candidates))).check()

    def extend(
        self, candidates: Sequence[Candidate], width: int, penalties: Mapping[int, float] | None = None
    ) -> list[Candidate]:
        """The `width` best of all continuations by one token, and before or between them the ends that are allowed; best first.

        The cost of each grows by minus the log-probability of what was added, at the temperature, before masking. where= is asked
        about no more of them than needed. Candidates may have different lengths. A call is one forward: many texts are much
        cheaper than one by one. Texts of an earlier call are read from where they part from those of the last one, unless
        `keep_rows` keeps what has been read of them.

        penalties   of tokens, and of END: they count with the costs where it is told which continuations are the best, and their
                    order; the costs that are returned are those without
        """
        if not candidates:
            return []
        if any(one.is_over for one in candidates):
            raise ValueError("extend() got a candidate that is over; pass those that are not (candidate.is_over)")
        steps = self._steps_of([one.text for one in candidates])
        left = steps.log_left()
        found = continuations(self, steps, [one.cost for one in candidates], width, penalties or {})
        if penalties:
            texts = {one.text for one in candidates}
            found = [replace(one, cost=one.cost - penalties.get(added(one, texts), 0.0)) for one in found]
        if not found:
            self._nothing = Dead(candidates[0].text, came_to_nothing(self, steps, left))
        return found

    def _steps_of(self, texts: list[TextNode]) -> Steps:
        if self._read is not None and set(texts) <= set(self._read.texts):
            return self._read.part(texts)
        self._read = None
        return self.steps(texts).check()

    def draw(self, steps: Steps, sampling: Sampling) -> Candidate | Ending:
        """One more token after the first of these texts, or its end, drawn as method="masked" does; or how it fails.

        The cost is minus the log-probability of what was added, at temperature 1, before masking.
        """
        text, allowed, left = steps.texts[0], steps.allowed[0], steps.log_left()[0]
        if left == -np.inf:
            return steps.nothing_left(0)
        sampling = replace(sampling, temperature=1.0 if sampling.temperature else 0.0)  # the steps are tempered already
        token, _ = draw(allowed, sampling, text.length, left)
        refused = list[int]()
        while not self.held([(text, token)])[0]:
            refused.append(token)
            others = allowed.copy()
            others[refused] = -np.inf
            if not np.isfinite(others).any():
                return Ending.unsatisfied(text.length, self.data(text))
            token, _ = draw(others, sampling, text.length)
        if token in self.stops:
            return Candidate(-steps.log_end(0, self.stops), text, True)
        after = steps.take(0, token, left)
        return Candidate(-float(steps.model[0, token]), after, self.is_full(after))

    def result_of(self, candidate: Candidate) -> Result:
        """The answer that a candidate is, with its score."""
        if not candidate.is_over:
            raise ValueError(
                f"a search found {self.written(candidate.text)[:60]!r}, which is not over; extend it "
                "until candidate.is_over"
            )
        return replace(self.result(candidate.text), score=-candidate.cost)

    def nothing_found(self) -> Exception:
        return self._nothing or RowFailure("ValueError: the search found no answer")


def added(candidate: Candidate, texts: Container[TextNode]) -> int:
    """The token that it has beyond one of these texts, END where it is the end of one."""
    return END if candidate.is_over and candidate.text in texts else candidate.text.token


def came_to_nothing(branches: Branches, steps: Steps, left: list[float]) -> Ending:
    """How the first of these texts ends, none of which can go on; `left` is the log mass that the grammar allowed of each."""
    if left[0] == -np.inf:
        return steps.nothing_left(0)
    text = steps.texts[0]
    return Ending.unsatisfied(text.length, branches.data(text))


def continuations(
    branches: Branches, steps: Steps, costs: Sequence[float], width: int, penalties: Mapping[int, float] = NONE
) -> list[Candidate]:
    """The ends of texts of these costs that are allowed, and the `width` best of them with one more token, best first.

    Penalties are part of the costs that are returned. where= is asked about no more than needed.
    """
    stops = [stop for stop in branches.stops if stop < steps.allowed.shape[1]]
    ends = steps.allowed[:, stops].astype(np.float64) - np.array(costs)[:, None] - penalties.get(END, 0.0)
    over = [
        Candidate(-end, text, True) for end, text in zip(map(log_sum, ends), steps.texts, strict=True) if end > -np.inf
    ]
    accepted = branches.held([(one.text, stops[0]) for one in over])
    found = [one for one, is_fine in zip(over, accepted, strict=True) if is_fine]
    ranked, growing = best_first(steps, costs, width, penalties, stops), list[Candidate]()
    while len(growing) < width and (best := list(islice(ranked, width - len(growing)))):
        answers = branches.held([(steps.texts[row], token) for _, row, token in best])
        for (score, row, token), is_fine in zip(best, answers, strict=True):
            if is_fine:
                text = steps.take(row, token, steps.log_allowed(row))
                growing.append(Candidate(-score, text, branches.is_full(text)))
    return sorted(found + growing)


def best_first(
    steps: Steps, costs: Sequence[float], count: int, penalties: Mapping[int, float], apart: Sequence[int]
) -> Iterator[tuple[float, int, int]]:
    """(score, row, token) of all allowed tokens but those set apart, best first; ties in the order of texts and tokens.

    At first the `count` best of each row are looked at, and all that a penalty moves; more where more are asked for.
    """
    moved = np.array([token for token in penalties if 0 <= token < steps.allowed.shape[1]], np.int64)
    rank = np.empty(len(steps.texts), np.int64)
    rank[sorted(range(len(rank)), key=steps.texts.__getitem__)] = np.arange(len(rank))
    given = 0
    while True:
        each = count + len(moved) + len(apart)
        tops = [best_values(row, each) for row in steps.allowed]
        rows, tokens = np.repeat(np.arange(len(tops)), [len(top) for top in tops]), np.concatenate(tops)
        if len(moved):
            pairs = [(rows, tokens), *((np.full(len(moved), row), moved) for row in range(len(tops)))]
            rows, tokens = np.unique(np.hstack(pairs), axis=1)
        scores = steps.allowed[rows, tokens].astype(np.float64)
        is_asked = scores > -np.inf
        for stop in apart:
            is_asked &= tokens != stop
        rows, tokens, scores = rows[is_asked], tokens[is_asked], scores[is_asked]
        scores -= np.array(costs)[rows]
        if len(moved):
            scores -= [penalties.get(token, 0.0) for token in tokens.tolist()]
        order = np.lexsort((tokens, rank[rows], -scores))
        is_all = all(len(top) < each for top in tops)
        order = order[given : None if is_all else count]  # those after them may come after some that were not looked at
        yield from zip(scores[order].tolist(), rows[order].tolist(), tokens[order].tolist(), strict=True)
        if is_all:
            return
        given, count = count, 2 * count


def best_values(row: np.ndarray, count: int) -> np.ndarray:
    """The tokens of the greatest values of float32 [V] above -inf."""
    found = np.empty(min(count, len(row)), np.int64)
    return found[: entries.best_values(entries.address_of(row), len(row), len(found), entries.address_of(found))]
