"""What a request says to us: SamplingParams.extra_args["grammarlm"]. Checked where requests come in, read where they are masked."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.tools.tool_format import ToolFormat
from grammarlm.grammars.tools.tools import Tools
from grammarlm.integrations.serving.admission import admit, remembered
from grammarlm.integrations.serving.options import FORMS, KEY, TURN, Options, on_the_wire, read_options, sealed

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams


def options_of(params: SamplingParams, known_format: Callable[[], ToolFormat] | None = None) -> Options | None:
    """The options, None where there are none; ValueError where they are wrong."""
    given = (params.extra_args or {}).get(KEY)
    return None if given is None else read_options(given, known_format)


def has_structured_outputs(params: SamplingParams) -> bool:
    asked = params.structured_outputs
    return asked is not None and not asked.all_constraints_none()


def grammar_of(params: SamplingParams, options: Options | None) -> Grammar | None:
    """The grammar that the options ask for; None where there are no options, or where they go along with structured_outputs."""
    if options is None:
        return None
    if options.grammar is not None:
        check_alone(params)
    elif not has_structured_outputs(params):
        raise ValueError(f"{KEY} says nothing about the answer; it takes {', '.join((*FORMS, *TURN))}")
    return options.grammar


def check(params: SamplingParams) -> None:
    """ValueError where the request cannot be served as it asks."""
    grammar = grammar_of(params, options_of(params))
    if grammar is None:
        return
    if getattr(params, "thinking_token_budget", None) is not None:
        raise ValueError(
            f"thinking_token_budget forces tokens that the grammar of {KEY} may forbid; leave it out, or ask for the grammar by "
            "structured_outputs with a reasoning parser"
        )
    given = (params.extra_args or {})[KEY]
    if isinstance(given, str):
        remembered(given, lambda: admit(grammar))
    else:
        admit(grammar)
        params.extra_args = {**(params.extra_args or {}), KEY: on_the_wire(given)}


def check_alone(params: SamplingParams) -> None:
    if has_structured_outputs(params):
        raise ValueError(f"the request has structured_outputs and {KEY}, two grammars for one answer; leave one out")


def extra_of(params: SamplingParams) -> dict[str, Any]:
    """The options that go along with structured_outputs."""
    given = (params.extra_args or {}).get(KEY) or {}
    return given if isinstance(given, dict) else json.loads(given)


def prepare_for_backend(params: SamplingParams, tokenizer: Any, *, thinks_freely: bool) -> None:
    """A grammar of ours becomes a structured output, which the backend serves. Refuses what could leave a sampler without a token.
    min_tokens moves to us, who know which tokens there are. `thinks_freely`: vLLM asks for no mask before a thought has ended."""
    _as_structured_output(params, tokenizer, thinks_freely)
    if not has_structured_outputs(params):
        return
    for name in ("bad_words", "allowed_token_ids"):
        if getattr(params, name):
            raise ValueError(
                f"{name} may forbid every token that the grammar allows, and the backend cannot see that; leave it out, or serve "
                "by the logits processor alone, where the grammar prevails"
            )
    if params.min_tokens:
        params.extra_args = {**(params.extra_args or {}), KEY: {**extra_of(params), "min_tokens": params.min_tokens}}
        params.min_tokens = 0


def _as_structured_output(params: SamplingParams, tokenizer: Any, thinks_freely: bool) -> None:
    from vllm.sampling_params import StructuredOutputsParams

    options = options_of(params, lambda: format_of(tokenizer))
    grammar = grammar_of(params, options)
    if options is None or grammar is None:
        return
    if thinks_freely and isinstance(grammar, Tools) and grammar.reasoning is not None:
        raise ValueError(
            f"{KEY}: reasoning: with a reasoning parser vLLM leaves thoughts free; leave reasoning out, or start vLLM with "
            "enable_in_reasoning"
        )
    kept = {"close": options.close, "min_tokens": options.min_tokens}
    params.structured_outputs = StructuredOutputsParams(grammar=sealed(grammar))
    params.extra_args = {**(params.extra_args or {}), KEY: kept}


@lru_cache(4)
def format_of(tokenizer: Any) -> ToolFormat:
    return ToolFormat.of(tokenizer)


def may_forbid_all(params: SamplingParams) -> bool:
    """Can other options of the request forbid every token that its grammar allows?"""
    return bool(params.min_tokens or params.bad_words or params.allowed_token_ids or params.logit_bias)
