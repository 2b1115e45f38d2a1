"""method="best_of": several independent answers, of which the best is taken.

    gl.generate(model, prompt, schema=Person, method="best_of", candidates=8).score
    gl.generate(model, prompt, schema=Person, method="best_of", score=lambda out: -len(out.text))

The default score is the log-probability that the model gives to the text before masking: masked log-probabilities compare only
allowed tokens, and would hide how improbable a text is that only the mask has kept on course.

Purpose: more often right. Forwards: those of the longest of `candidates` answers, of as many rows. Law: each draw is one of
"masked", and the best of them is taken: not the model's. Not where nothing says which answer is better: the most probable one is
often the shortest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grammarlm.decoding.failures import message_of
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.errors import shorten

from .candidates import drawn, is_complete


def best_of(request: Request, *, candidates: int = 8, score: Callable[[Result], float] | None = None) -> list[Result]:
    """The n best of so many masked draws; complete ones first. Temperature 0 is taken as 1.

    score   a function of a Result; the larger the better
    """
    results: list[Result] = []
    for each in drawn(request, candidates):
        results += sorted((with_score(one, score) for one in each), key=merit, reverse=True)[: request.n]
    return results


def with_score(result: Result, score: Callable[[Result], float] | None) -> Result:
    """Sets the score. A failed answer has none; one whose `score` raises has failed."""
    if result.finish_reason == "error":
        return result
    if score is None:
        return replace(result, score=sum(result.model_logprobs))
    try:
        return replace(result, score=number(score(result)))
    except Exception as error:
        why = f"score= raised {message_of(error)}"
        return replace(result, value=None, finish_reason="error", error=shorten(why))


def number(score: Any) -> float:
    value = float(score)
    if math.isnan(value):
        raise ValueError("it gave NaN; it returns a number, the larger the better")
    return value


def merit(result: Result) -> tuple[bool, float]:
    """Sort key: complete answers first."""
    return is_complete(result), -math.inf if result.score is None else result.score
