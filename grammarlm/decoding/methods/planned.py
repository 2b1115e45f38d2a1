"""method="planned": a free answer first, then the held one, with the free one in its prompt.

    out = gl.generate(model, prompt, schema=Order, method="planned", draft={"max_tokens": 80}, join="\\nAs JSON: ")
    out.draft                                # the free answer

A mask that holds the first token already may cost a model the way by which it would have come to the answer. Here it writes as it
likes, and only then into the form that is asked for, from the prompt, its own draft and `join`. where=, stop strings and max_tokens
are the held answer's; the draft has its own, the settings of `draft=`, and neither grammar nor predicate. Each of n answers has a
draft of its own, drawn with its random numbers.

    draft    settings of the free answer, by generate()'s names (DRAFTED); what is not given is as for the held one, but for stop=
    join     what stands between the two: a text, or ids

Purpose: more often right. Forwards: those of both, and the prompt is read twice. Law: "masked", of the model given the draft.
Not where a model has nothing to think about: copying a field takes no plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from grammarlm.decoding.answers.answer_format import AnswerFormat
from grammarlm.decoding.arguments import listed
from grammarlm.decoding.fit import check_positions
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.decoding.settings import AnswerSpec, Settings
from grammarlm.errors import unknown_argument

from .masked import masked

DRAFTED = frozenset(
    ("max_tokens", "temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "seed", "stop")
)


def planned(request: Request, *, join: str | Sequence[int] = "") -> list[Result]:
    """The answers that follow so many free drafts."""
    given = request.specs[0].settings
    if given.heal:
        raise ValueError(
            "heal=True takes the prompt's end back, where method='planned' writes a draft; leave one of both out"
        )
    between = given_ids(request, join)
    free = drafting(given)
    specs = [replace(spec, settings=free, form=AnswerFormat(), constraint=None, where=None) for spec in request.specs]
    drafts = masked(replace(request, specs=specs, draft=None, at_once=None))
    prompts = [[*request.prompts[at // request.n], *draft.tokens, *between] for at, draft in enumerate(drafts)]
    check_positions(request.model, prompts, given.max_tokens)
    held = [held_spec(request.specs[at // request.n], at % request.n, prompt) for at, prompt in enumerate(prompts)]
    answers = masked(replace(request, prompts=prompts, specs=held, n=1, draft=None, at_once=None))
    return [with_draft(answer, draft) for answer, draft in zip(answers, drafts, strict=True)]


def drafting(given: Settings) -> Settings:
    """The settings of the free answers."""
    own = {} if given.draft is None else given.draft
    if not isinstance(own, Mapping):
        raise TypeError(
            f"draft is {own!r:.60}; with method='planned' it takes settings of the free answer, such as {{'max_tokens': 80}}"
        )
    for name in own:
        if name not in DRAFTED:
            raise unknown_argument("draft", str(name), DRAFTED)
    common = {"method": "masked", "draft": None, "stop": None, "seed": given.sampling.seed}
    return replace(given, **{**common, **own})


def given_ids(request: Request, join: Any) -> list[int]:
    vocab = request.specs[0].vocab
    ids = vocab.encode(join) if isinstance(join, str) and join else listed(join, "join") if join else []
    wrong = next((one for one in ids if not 0 <= one < vocab.size), None)
    if wrong is not None:
        raise ValueError(f"join has the id {wrong}; ids are from 0 to {vocab.size - 1}")
    return ids


def held_spec(spec: AnswerSpec, number: int, prompt: Sequence[int]) -> AnswerSpec:
    """Of one of the n answers, with its random numbers."""
    settings = replace(spec.settings, draft=None, seed=spec.settings.sampling.of_sample(number).seed, n=1)
    return replace(spec, settings=settings, prompt=tuple(prompt) if spec.prompt else ())


def with_draft(answer: Result, draft: Result) -> Result:
    answer.stats.forwards += draft.stats.forwards
    if draft.finish_reason == "error":
        return replace(draft, value=None, draft=draft.text)
    return replace(answer, draft=draft.text)
