"""method="vote": several independent answers, of which the one is taken that most of them agree on.

    out = gl.generate(model, prompt, schema=Answer, method="vote", candidates=16, temperature=0.8)
    out.score                                                          # the share of the votes that it has

    gl.generate(model, prompt, schema=Answer, method="vote", key=lambda out: out.value["total"])
    gl.generate(model, prompt, schema=Answer, method="vote", weight=lambda out: math.exp(sum(out.model_logprobs)))

Draws differ in how they get somewhere, and agree where the model knows the answer. Those with equal keys vote for one thing: by
default those with equal values, as JSON compares them (1 is 1.0, the order of keys does not matter), so two spellings of an
answer are one vote. What has the most votes is answered by the first that was drawn of them; n answers are those of the n
things with the most votes, where there are fewer the last one again. Equal votes go to what was drawn first. What was cut or
has failed has no vote.

    key      a function of a Result: what it votes for
    weight   a function of a Result: how much its vote counts, 0 or more; default: 1 each

Purpose: more often right. Forwards: those of the longest of `candidates` answers, of as many rows. Law: each draw is one of
"masked". Not for texts of which no two are alike: take "best_of", or a key that says what matters.

Source: Self-Consistency Improves Chain of Thought Reasoning in Language Models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from grammarlm.decoding.arguments import check_function
from grammarlm.decoding.failures import message_of
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.errors import shorten

from .candidates import drawn, is_complete


@dataclass
class Choice:
    """What some of the answers say: the first of them, and their votes."""

    first: Result
    votes: float


def vote(
    request: Request,
    *,
    candidates: int = 8,
    key: Callable[[Result], Any] | None = None,
    weight: Callable[[Result], float] | None = None,
) -> list[Result]:
    """The answer that most of so many masked draws agree on. Temperature 0 is taken as 1."""
    check_function("key", key)
    check_function("weight", weight)
    results: list[Result] = []
    for each in drawn(request, candidates):
        results += elected(each, request.n, key, weight)
    return results


def elected(
    answers: list[Result], n: int, key: Callable[[Result], Any] | None, weight: Callable[[Result], float] | None
) -> list[Result]:
    """The n answers with the most votes; where none has any the first ones, with the reason why."""
    choices: dict[Hashable, Choice] = {}
    without: list[Result] = []
    for one in answers:
        ballot = ballot_of(one, key, weight) if is_complete(one) else one
        if isinstance(ballot, Result):
            without.append(ballot)
        else:
            what, votes = ballot
            choices.setdefault(what, Choice(one, 0.0)).votes += votes
    total = math.fsum(one.votes for one in choices.values())
    ranked = sorted(choices.values(), key=lambda one: -one.votes)  # stable: equal ones in the order of draws
    best = [replace(one.first, score=one.votes / total if total else 0.0) for one in ranked] or without
    return [best[min(rank, len(best) - 1)] for rank in range(n)]


def ballot_of(
    result: Result, key: Callable[[Result], Any] | None, weight: Callable[[Result], float] | None
) -> tuple[Hashable, float] | Result:
    """What it votes for, and how much that counts; the answer as one that has failed, where it cannot be told."""
    name = "key"
    try:
        what = frozen(result.value if key is None else key(result))
        hash(what)
        name = "weight"
        votes = 1.0 if weight is None else float(weight(result))
        if not 0 <= votes < math.inf:
            raise ValueError(f"it gave {votes}; it returns a number, 0 or more")
    except Exception as error:
        return replace(result, value=None, finish_reason="error", error=shorten(f"{name}= raised {message_of(error)}"))
    return what, votes


def frozen(value: Any) -> Hashable:
    """Equal where values are equal as JSON compares them; instances by their fields."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, Mapping):
        return ("object", frozenset((name, frozen(one)) for name, one in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", tuple(map(frozen, value)))
    if hasattr(type(value), "model_fields"):  # of pydantic
        return (type(value), frozen({name: getattr(value, name) for name in type(value).model_fields}))
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), frozen({one.name: getattr(value, one.name) for one in fields(value)}))
    found: Hashable = value
    return found
