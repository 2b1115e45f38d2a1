"""The tree of texts that a search walks: candidates, and their best continuations.

tree = Tree(request, sampling)                        # of one prompt
level = tree.extend([tree.root], 3)                   # the three best first tokens, and the end if it is allowed; best first
level = tree.extend([one for one in level if not one.is_over], 3)
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grammarlm.decoding.failures import Ending, RowFailure
from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.decoding.result import Result
from grammarlm.grammars.items.tokens import Tokens

from .branches import Branches
from .steps import Dead, Steps, log_sum
from .text_node import TextNode

END = -1  # the end of a text, among penalties


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
        scores = -np.array([[one.cost] for one in candidates]) + steps.allowed.astype(np.float64)
        if penalties:
            take_off(scores, penalties, self.stops)
        found = sorted(ended(self, steps, scores) + grown(self, steps, scores, width))
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
        text, allowed, left = steps.texts[0], steps.allowed[0].copy(), steps.log_left()[0]
        if left == -np.inf:
            return steps.nothing_left(0)
        sampling = replace(sampling, temperature=1.0 if sampling.temperature else 0.0)  # the steps are tempered already
        while np.isfinite(allowed).any():
            token, _ = draw(allowed, sampling, text.length)
            if self.held([(text, token)])[0]:
                if token in self.stops:
                    return Candidate(-steps.log_end(0, self.stops), text, True)
                after = steps.take(0, token, left)
                return Candidate(-float(steps.model[0, token]), after, self.is_full(after))
            allowed[token] = -np.inf
        return Ending.unsatisfied(text.length, self.data(text))

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


def take_off(scores: np.ndarray, penalties: Mapping[int, float], stops: Iterable[int]) -> None:
    """Subtracts the penalties of tokens from all rows, in place; that of END from all stop ids."""
    paid = {token: nats for token, nats in penalties.items() if 0 <= token < scores.shape[1]}
    paid |= dict.fromkeys((stop for stop in stops if stop < scores.shape[1]), penalties.get(END, 0.0))
    scores[:, list(paid)] -= np.array(list(paid.values()))


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
                text = steps.take(row, token, steps.log_allowed(row))
                found.append(Candidate(-float(scores[row, token]), text, branches.is_full(text)))
            scores[row, token] = -np.inf
    return found


def leaders(texts: list[TextNode], scores: np.ndarray, count: int) -> list[tuple[int, int]]:
    """(row, token) of the best scores above -inf, best first; ties in the order of texts and tokens."""
    flat = scores.reshape(-1)
    finite = np.flatnonzero(flat > -np.inf)  # few, as a rule: partition is slow among equals
    if count < len(finite):
        left = flat[finite]
        finite = finite[left >= np.partition(left, -count)[-count]]
    rows, tokens = np.divmod(finite, scores.shape[1])
    ranks = sorted(range(len(texts)), key=texts.__getitem__)
    rank = {row: at for at, row in enumerate(ranks)}
    order = sorted(zip(rows.tolist(), tokens.tolist(), strict=True), key=lambda at: (-scores[at], rank[at[0]], at[1]))
    return order[:count]
