"""Answers that end without a value while the others of their batch go on.

    "unsatisfied"   where= refuses everything that could come next, the end too
    "error"         something failed for this answer alone: logits that are no distribution, an exception of a function of the
                    caller's, a limit of its matcher

What is wrong with all answers (the model raises, its logits have the wrong shape, an argument is wrong) is raised instead, and so
is whatever is not an Exception, such as Ctrl-C.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.errors import shorten

LINK = re.compile(r"\n *For further information visit \S+")  # pydantic's, after each thing that is wrong
SHOWN = 60  # characters of the text's end that a message shows


@dataclass(frozen=True)
class Ending:
    """A finish reason, and the text of the answer's `error`."""

    finish_reason: str
    error: str

    @classmethod
    def of(cls, error: Exception) -> Ending:
        return cls("error", message_of(error))

    @classmethod
    def unsatisfied(cls, count: int, data: bytes | bytearray) -> Ending:
        return cls(
            "unsatisfied",
            f"after {count} tokens where= refuses all that may come next{tail(data.decode(errors='replace'))}; give it a predicate "
            'that refuses earlier what cannot become good, or search among more texts (method="best_of", "smc" or "beam")',
        )


class RowFailure(ValueError):
    """Why one answer fails; its message is the answer's `error` as it is."""


def message_of(error: Exception) -> str:
    """Type and message."""
    if isinstance(error, RowFailure):
        return shorten(str(error))
    try:
        told = LINK.sub("", str(error))
        return shorten(f"{type(error).__name__}: {told}")
    except Exception:  # an exception whose __str__ raises
        return type(error).__name__


def is_true(value: object) -> bool:
    """What a caller's predicate says; TypeError for what would be awaited, whose truth says nothing."""
    if inspect.isawaitable(value):
        raise TypeError(f"it returns {type(value).__name__}, which would have to be awaited; it takes a bool")
    return bool(value)


def answer_of(name: str, function: Callable[[Any], Any], text: str, read: Callable[[Any], Any] = is_true) -> Any:
    """The result of a caller's function for a text; RowFailure where it raises."""
    try:
        return read(function(text))
    except Exception as error:
        raise RowFailure(f"{name}= raised {message_of(error)}{tail(text)}") from error


def tail(text: str) -> str:
    return f" (the text is {text!r})" if len(text) <= SHOWN else f" (the text ends with {text[-SHOWN:]!r})"


def no_distribution(count: int, logits: np.ndarray) -> RowFailure:
    """The failure for logits that hold NaN, +inf, or nothing but -inf."""
    wrong = np.flatnonzero(np.isnan(logits) | (logits == math.inf))
    found = f"{logits[wrong[0]]} at id {wrong[0]} (and {len(wrong) - 1} more)" if len(wrong) else "-inf everywhere"
    return RowFailure(
        f"ValueError: after {count} tokens the model's logits are no distribution: {found}; "
        "check its weights and dtype (float16 overflows where bfloat16 and float32 do not)"
    )


def nothing_left(count: int, width: int) -> RowFailure:
    """The failure where each allowed token has the logit -inf."""
    return RowFailure(
        f"ValueError: after {count} tokens each token that the grammar allows has the logit -inf, or lies beyond the {width} "
        "logits; check that the tokenizer (or vocab=) is this model's"
    )
