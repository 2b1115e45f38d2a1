"""method="best_of": several independent answers, of which the best is taken.

    gl.generate(model, prompt, schema=Person, method="best_of", candidates=8).score
    gl.generate(model, prompt, schema=Person, method="best_of", score=lambda out: -len(out.text))

The default score is the log-probability that the model gives to the text before masking: masked log-probabilities compare only
allowed tokens, and would hide how improbable a text is that only the mask has kept on course.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grammarlm.decoding.arguments import MOST_ANSWERS, check_integer
from grammarlm.decoding.failures import message_of
from grammarlm.decoding.methods.masked import masked
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import COMPLETE, Result
from grammarlm.errors import shorten

ROWS = 32  # about so many texts a batch: whole prompts with all their candidates


def best_of(request: Request, *, candidates: int = 8, score: Callable[[Result], float] | None = None) -> list[Result]:
    """The n best of so many masked draws; complete ones first. Temperature 0 is taken as 1.

    score   a function of a Result; the larger the better
    """
    check_integer("candidates", candidates, 1, MOST_ANSWERS)
    if request.n > candidates:
        raise ValueError(f"n={request.n} with candidates={candidates}; the n best of at least so many are taken")
    specs = [replace(spec, settings=spec.settings.warm()) for spec in request.specs]
    drawn: list[Result] = []
    for batch in replace(request, n=candidates, specs=specs).batches(max(1, ROWS // candidates)):
        drawn += masked(batch)
    results: list[Result] = []
    for first in range(0, len(drawn), candidates):
        scored = [with_score(one, score) for one in drawn[first : first + candidates]]
        results += sorted(scored, key=merit, reverse=True)[: request.n]
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
    """Sort key: complete answers first. (Under a schema None is a value, too: that of "null".)"""
    has_value = result.value is not None or result.text.strip() == "null"
    return has_value and result.finish_reason in COMPLETE, -math.inf if result.score is None else result.score
