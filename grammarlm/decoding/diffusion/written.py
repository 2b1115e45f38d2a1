"""method="diffusion": the answer is a row of masks after the prompt, filled in any order.

    gl.generate(model, prompt, schema=Person, max_tokens=64, method="diffusion", sampler="entropy", steps=16)

This is the method of models that are known to fill in masks; for a bare callable it is named: method="diffusion", mask_id=...
The row has `max_tokens` places. An answer that needs fewer ends with a stop id; one that fills the row exactly is "closed".

Purpose: the default. Forwards: one a step, `steps=` of them. Law: its sampler's own, over what can still be completed. Not for
models that go on with texts: they read from left to right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.readers.mask_facts import CAUSAL, kind_of
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.decoding.settings import AnswerSpec

from . import SAMPLERS
from .denoiser import Denoiser, checked_mask
from .draws import Draws
from .filling import Filling, Plan
from .holes import LONGEST, MASKED, Holes
from .options import names_of
from .run import Run
from .together import fill_together


def diffusion(
    request: Request,
    *,
    sampler: str = "confidence",
    steps: int | None = None,
    block: int | None = None,
    mask_id: int | None = None,
    **options: Any,
) -> list[Result]:
    """n answers to each prompt, all side by side; the options are infill()'s."""
    for spec in request.specs:
        check_integer("max_tokens", spec.settings.max_tokens, 1, LONGEST)
    check_integer("steps", steps, 1, optional=True)
    check_integer("block", block, 1, optional=True)
    kind = kind_of(request.model)
    if kind == CAUSAL:
        raise TypeError(
            f"{type(request.model).__name__} goes on with texts and fills in no masks; leave method= out, or fill in pieces of "
            "text by gl.infill"
        )
    mask_id = checked_mask(mask_id, request.model, request.tokenizer, kind)
    plan = Plan.of(sampler, block, options)
    jobs, fillings = [], []
    for prompt, spec in zip(request.prompts, request.specs, strict=True):
        check_spec(spec)
        for number in range(request.n):
            draws = Draws(spec.settings.sampling.of_sample(number))
            reader = Denoiser(request.model, spec.vocab.size, mask_id, prompt, kind)
            filling = Filling(
                reader,
                spec.vocab,
                spec.constraint,
                draws,
                plan,
                steps,
                never=[mask_id],
                ends=True,
                was_cached=spec.was_cached,
                compile_seconds=spec.compile_seconds,
            )
            fillings.append((filling, spec))
            jobs.append(filling.job(Holes(np.full(spec.settings.max_tokens, MASKED))))
    fill_together(jobs)
    return [answer(filling, spec, run) for (filling, spec), (_, run, _) in zip(fillings, jobs, strict=True)]


diffusion.further = frozenset({"inner"}.union(*map(names_of, SAMPLERS.values())))  # type: ignore[attr-defined]


def answer(filling: Filling, spec: AnswerSpec, run: Run) -> Result:
    """A row of `max_tokens` places, without what comes after the text."""
    result = filling.result(spec.form, run)
    count = result.stats.tokens
    ended = "stop" if count < len(result.tokens) else "length" if spec.constraint is None else "closed"
    value = None if ended == "length" else result.value  # a text that was cut has none
    return replace(
        result, value=value, tokens=result.tokens[:count], logprobs=result.logprobs[:count], finish_reason=ended
    )


def check_spec(spec: AnswerSpec) -> None:
    """What is asked for of texts from left to right, and makes no sense here."""
    asked = {
        "where": spec.where is not None,
        "heal": bool(spec.healed_suffix),
        "repetition_penalty": spec.settings.repetition_penalty != 1,
    }
    for name, is_asked in asked.items():
        if is_asked:
            raise ValueError(f'method="diffusion" takes no {name}=: it fills in tokens in any order')
