"""Adaptive weighted rejection sampling: draws a token that a predicate accepts, with a weight that keeps the target law unbiased.

A predicate (a Python function, a type checker) judges one token at a time; to ask it about a whole vocabulary would take minutes.
So tokens are visited in the order of a draw without replacement (`exponential_race.py`) until one is accepted. That one is an exact
draw from p f / Z, where p is the model's distribution, f in {0, 1} the predicate and Z = sum p f. On average this takes 1 + (sum
over rejected tokens a of p_a / (p_a + Z)) checks: at most 1 / Z, at most 1 + the number of rejected tokens.

What is missing is Z: how much mass the predicate accepts. Without it, texts that ran into a dead end weigh as much as those that
did not. The contract of each sampler here, which makes products of weights unbiased, is **proper weighting**:

    E[w 1{t = a}] = p(a) f(a)       for each token a, where (t, w) is what is returned

The samplers differ in how they estimate Z from a few more checks. M is always the mass from which a token was drawn,
1 - (the mass of the tokens that have left the race).

    des_raj     checks some more tokens after the accepted one, x. Each gives a term: the p of all accepted before it (x is one),
                plus all of the remaining mass M if it is accepted, too. The estimate is their mean. How many: `extra`, or `share`
                times the checks so far, if that is more, since where Z is small a few would mostly be rejected. They are one batch.
                `extra=1, share=0` is the recursive weight of the literature: M if the next one is accepted, else p(x)
    geometric   as if drawn with replacement, until `accepts` tokens were accepted: repeated hits of rejected tokens are drawn as
                counts and cost no check. (accepts - 1) / (draws - 1)

`clip=R` ends with the R-th rejection, with weight 0 where nothing was accepted. It stays unbiased (each sampler says how) and
adds variance; it is for predicates that may accept next to nothing.

A sampler is a generator: it yields tokens to be checked, is sent the answers, and returns `Drawn`. So the samplers of many
particles run side by side and their questions become one call of the predicate (`run_together`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from grammarlm.decoding.arguments import check_integer, check_number

from .exponential_race import Arrival, Arrivals

NO_TOKEN = -1


@dataclass(frozen=True)
class Drawn:
    """The token, or NO_TOKEN where none was accepted; its log weight; its log p; how many tokens were checked; the exception if the
    predicate raised.
    """

    token: int
    log_weight: float
    log_p: float = -math.inf
    checks: int = 0
    failure: Exception | None = None


Questions: TypeAlias = Generator[list[int], list[bool], Drawn]
Key = TypeVar("Key")


@dataclass(frozen=True)
class Rejection:
    """How tokens are drawn under a predicate.

    weights   "des_raj" | "geometric", or "none": the token alone, with weight 1, where weights are not needed
    extra     des_raj: least number of tokens checked after the accepted one
    share     des_raj: the same, as a share of those that were checked up to it
    accepts   geometric: the draw ends with this many acceptances, 2 or more
    clip      the draw ends with this many rejections; None: when no token is left
    batch     des_raj and none: how many tokens are checked at once. In des_raj, the rest of a batch after the accepted token counts
              as extra, so nothing is wasted; worth it where one call for many costs little more than for one
    """

    weights: str = "des_raj"
    extra: int = 2
    share: float = 0.5
    accepts: int = 2
    clip: int | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights={self.weights!r:.60}; there are {', '.join(map(repr, WEIGHTS))}")
        check_integer("extra", self.extra, 1)
        check_number("share", self.share, lambda share: 0 <= share < math.inf, "0 or more")
        check_integer("accepts", self.accepts, 2)
        check_integer("clip", self.clip, 1, optional=True)
        check_integer("batch", self.batch, 1)

    def draw(self, race: Arrivals) -> Questions:
        return WEIGHTS[self.weights](race, self)


def first_accepted(race: Arrivals, how: Rejection) -> Questions:
    """The token alone, with weight 1: it follows the masked law of this step, and proper weighting does not hold."""
    found, _, _, checks = yield from _find(race, how)
    return Drawn(found.token, 0.0, found.log_p, checks) if found else Drawn(NO_TOKEN, -math.inf, checks=checks)


def des_raj(race: Arrivals, how: Rejection) -> Questions:
    """The mean of the Des Raj terms of the tokens after the accepted one, x.

    Given all that came up to x, each term has the expectation p(x) + (the other accepted mass) = Z. So has the mean of any number
    of them fixed by then, and that number may depend on what came before. Where all tokens have come, Z is known.

    Clipping: after the draw that could be the R-th rejection no more are made. It weighs M if accepted, else 0: the plain
    importance weight, unbiased with one draw. By induction the rounds before it are unbiased: a rejection may be followed by
    anything that is properly weighted.
    """
    found, last_chance, remaining, checks = yield from _find(race, how)
    if found is None:
        return Drawn(NO_TOKEN, -math.inf, checks=checks)
    if last_chance:
        return Drawn(found.token, found.log_mass, found.log_p, checks)
    wanted = max(how.extra, math.ceil(how.share * checks), len(remaining))
    more = _take(race, wanted - len(remaining))
    if more:
        remaining += zip(more, (yield [one.token for one in more]), strict=True)
    checks += len(more)
    accepted, terms = found.log_p, []
    for one, is_fine in remaining:
        terms.append(_log_sum(accepted, one.log_mass) if is_fine else accepted)
        if is_fine:
            accepted = _log_sum(accepted, one.log_p)
    terms += [accepted] * (wanted - len(terms))
    return Drawn(found.token, _log_sum(*terms) - math.log(wanted), found.log_p, checks)


def geometric(race: Arrivals, how: Rejection) -> Questions:
    """Draws with replacement until `accepts` acceptances or `clip` rejections.

    The estimate is the share, among all orders of the acceptances and rejections that end so, of those whose first draw is
    accepted. Given where it ends all orders are equally likely, so that share is an unbiased estimate of Z, independent of which
    tokens they were.
    """
    most = math.inf if how.clip is None else how.clip
    start = race.log_mass()
    first: Arrival | None = None
    fine: set[int] = set()
    accepted = checks = 0
    rejected = 0.0
    while accepted < how.accepts and rejected < most:
        rejected += race.misses(most - rejected)
        arrival = race.next() if rejected < most else None
        if arrival is None:
            break
        if arrival.token not in fine:
            checks += 1
            if not (yield [arrival.token])[0]:
                rejected += 1
                continue
        first = first or arrival
        fine.add(arrival.token)
        accepted += 1
        race.put_back(arrival.token)
    if first is None:
        return Drawn(NO_TOKEN, -math.inf, checks=checks)
    share = math.log(min(how.accepts - 1, accepted)) - math.log(accepted + rejected - 1)
    return Drawn(first.token, start + share, first.log_p, checks)


WEIGHTS: dict[str, Callable[[Arrivals, Rejection], Questions]] = {
    "des_raj": des_raj,
    "geometric": geometric,
    "none": first_accepted,
}

Remaining: TypeAlias = list[tuple[Arrival, bool]]
Found: TypeAlias = tuple[Arrival | None, bool, Remaining, int]


def _find(race: Arrivals, how: Rejection) -> Generator[list[int], list[bool], Found]:
    """(the first accepted, was it the last that `clip` allows, the rest of its batch with the answers, checks)."""
    left = math.inf if how.clip is None else how.clip
    checks = 0
    while left > 0:
        arrivals = _take(race, int(min(how.batch, left)))
        if not arrivals:
            break
        checks += len(arrivals)
        answers = yield [one.token for one in arrivals]
        for at, (one, is_fine) in enumerate(zip(arrivals, answers, strict=True)):
            if is_fine:
                return one, left == 1, list(zip(arrivals[at + 1 :], answers[at + 1 :], strict=True)), checks
            left -= 1
    return None, False, [], checks


def _take(race: Arrivals, count: int) -> list[Arrival]:
    arrivals: list[Arrival] = []
    while len(arrivals) < count:
        arrival = race.next()
        if arrival is None:
            break
        arrivals.append(arrival)
    return arrivals


def _log_sum(*logs: float) -> float:
    """Log-sum-exp; none is +inf and at least one is above -inf."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(one - top) for one in logs))


# ------------------------------------------------------------------ many at once

Check: TypeAlias = Callable[[list[tuple[Key, int]]], Sequence[bool | Exception]]


def run_together(samplers: Sequence[tuple[Key, Questions]], check: Check[Key]) -> list[Drawn]:
    """Runs samplers side by side; returns what each returns. Each has a key, and `check` is asked about (key, token), each pair
    once.

    In each round the questions of all running samplers are one call. An exception in place of an answer ends the samplers that
    asked for it, and no others.
    """
    known: dict[tuple[Key, int], bool | Exception] = {}
    drawn = [Drawn(NO_TOKEN, -math.inf)] * len(samplers)
    asked: dict[int, list[int]] = {}

    def go_on(at: int, answers: list[bool] | None) -> None:
        try:
            asked[at] = samplers[at][1].send(answers)  # type: ignore[arg-type]
        except StopIteration as end:
            drawn[at] = end.value
            asked.pop(at, None)

    for at in range(len(samplers)):
        go_on(at, None)
    checked = [0] * len(samplers)
    while asked:
        new: dict[tuple[Key, int], int] = {}
        for at, tokens in asked.items():
            for token in tokens:
                if (samplers[at][0], token) not in known:
                    new.setdefault((samplers[at][0], token), at)
        if new:
            answers = list(check(list(new)))
            if len(answers) != len(new):
                raise ValueError(f"the predicate was asked about {len(new)} texts and gave {len(answers)} answers")
            known.update(zip(new, answers, strict=True))
            for at in new.values():
                checked[at] += 1
        for at, tokens in list(asked.items()):
            answers_of_one = [known[samplers[at][0], token] for token in tokens]
            failure = next((one for one in answers_of_one if isinstance(one, Exception)), None)
            if failure is None:
                go_on(at, [bool(one) for one in answers_of_one])
            else:
                drawn[at] = Drawn(NO_TOKEN, -math.inf, failure=failure)
                del asked[at]
    return [replace(one, checks=count) for one, count in zip(drawn, checked, strict=True)]
