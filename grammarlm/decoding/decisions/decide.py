"""decide(): which of a few answers the model finds the most probable, and how probable it finds each.

out = gl.decide(model, "Is Berlin in France? ", choices=["yes", "no"])
out.value, out.probabilities, out.outside

gl.decide(model, prompts, schema=Literal["low", "high"])              # a list of prompts gives a list of decisions
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grammarlm.decoding.argument_types import Choice, Model, Prompts, Schema, Tokenizer
from grammarlm.decoding.request import Request, prepare
from grammarlm.decoding.settings import Settings
from grammarlm.errors import brief, suggesting
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .allowed import Allowed, allowed_answers
from .reading import log_probabilities


@dataclass(frozen=True, repr=False)
class Decision:
    """What decide() returns.

    `value`          the most probable answer: under a schema its JSON value (an instance where the schema is a Python type), of an
                     Enum a member, elsewhere the text
    `text`           its text
    `probabilities`  of each answer (value, probability), the most probable one first: that the model writes exactly this text, in
                     the tokenizer's own tokens, and ends there. They are the model's own, at temperature 1, and not divided by
                     their sum
    `outside`        the probability of all other texts and spellings: with those above it makes 1
    `forwards`       calls of the model
    """

    value: Any
    text: str
    probabilities: list[tuple[Any, float]]
    outside: float
    forwards: int

    def __repr__(self) -> str:
        most = self.probabilities[0][1]
        return f"Decision({brief(self.value, 80)}, {most:.3g} of {len(self.probabilities)} answers, outside={self.outside:.3g})"


@suggesting("decide")
def decide(
    model: Model,
    prompt: Prompts,
    *,
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None,
    schema: Schema = None,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    cache: str | None = None,
    limits: Limits | None = None,
    unknown: str = "warn",
    chat_template: str | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """The most probable of a few answers to a prompt, and the probability of each. A list for a list of prompts.

    choices      texts, integers or an Enum class, as generate() takes them
    schema       a schema or Python type of at most 4,096 texts: enums, literals, booleans, bounded integers, objects of such.
                 JSON is in json.dumps' layout, unless a JsonSchema has white space of its own; a value that is spelled in several
                 ways (keys in any order) is there once for each. What the Python type refuses counts as outside

    Nothing is written. Each prompt is read in one forward, and all answers as one tree in the next (in more where they are many, or
    where the model's cache takes no trees). The other arguments are those of generate().
    """
    if (choices is None) == (schema is None):
        given = "both are given" if choices is not None else "neither is given"
        raise ValueError(f"decide() takes choices= or schema=, and {given}")
    settings = Settings(
        tokenizer=tokenizer,
        vocab=vocab,
        choices=choices,
        schema=schema,
        cache=cache,
        limits=limits,
        unknown=unknown,
        chat_template=chat_template,
        chat_template_kwargs=chat_template_kwargs,
        max_tokens=1,  # the answers' lengths are known later, and checked then
    )
    request = prepare(model, prompt, settings)
    decided = decisions(request)
    return decided if request.is_list else decided[0]


def decisions(request: Request) -> list[Decision]:
    """One for each prompt."""
    known: dict[int, list[Allowed]] = {}  # by the format: equal ones are one object
    for spec in request.specs:
        if id(spec.form) not in known:
            known[id(spec.form)] = allowed_answers(spec)
    return [decision(request, number, known[id(spec.form)]) for number, spec in enumerate(request.specs)]


def decision(request: Request, number: int, answers: list[Allowed]) -> Decision:
    logs, forwards = log_probabilities(request, number, [answer.tokens for answer in answers])
    ranked = sorted(zip(answers, logs, strict=True), key=lambda pair: -pair[1])
    probabilities = [(answer.value, math.exp(log)) for answer, log in ranked]
    outside = max(0.0, 1.0 - math.fsum(probability for _, probability in probabilities))
    best = ranked[0][0]
    return Decision(best.value, best.text, probabilities, outside, forwards)
