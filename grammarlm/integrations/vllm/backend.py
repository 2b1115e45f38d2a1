"""vLLM's own response_format and structured_outputs, served by grammarlm: a structured-output backend.

vLLM compiles in threads of the process that schedules; masks are filled there while the model runs, drafts validated and taken
back. It has no registry of backends; plugin.py puts this one in its place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from grammarlm.integrations.serving.options import Options, read_options
from grammarlm.integrations.serving.row import Row
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.runtime.limits import POLITE

from . import params as requests
from .engine import Engine

if TYPE_CHECKING:
    from vllm.sampling_params import StructuredOutputsParams
    from vllm.v1.request import Request

NO_TAGS = "structural_tag is not supported by grammarlm yet; use json, regex, choice or grammar, or another backend"


def options_for(kind: StructuredOutputOptions, spec: str, more: dict[str, Any] | None = None) -> Options:
    """The options that vLLM's kind of request stands for; `more`: those of extra_args["grammarlm"]."""
    more = {} if more is None else more
    if kind == StructuredOutputOptions.JSON:
        return read_options({**more, "schema": spec})
    if kind == StructuredOutputOptions.JSON_OBJECT:
        return read_options({**more, "schema": {"type": "object"}})
    if kind == StructuredOutputOptions.REGEX:
        return read_options({**more, "regex": spec})
    if kind == StructuredOutputOptions.CHOICE:
        return read_options({**more, "choices": json.loads(spec)})
    if kind == StructuredOutputOptions.GRAMMAR:
        return read_options({**more, "grammar": spec})
    raise ValueError(NO_TAGS)


def options_of(asked: StructuredOutputsParams, more: dict[str, Any] | None) -> Options:
    from vllm.v1.structured_output.request import get_structured_output_key

    kind, spec = get_structured_output_key(asked)
    return options_for(kind, spec, more)


class Grammar(StructuredOutputGrammar):
    """One request's text. The row begins with the first mask: until then the model may have thought, in tokens that count."""

    def __init__(
        self, engine: Engine, constraint: Constraint, options: Options, stop_ids: set[int], request: Request | None
    ):
        self._engine, self._constraint, self._options = engine, constraint, options
        self._request, self._stop_ids = request, stop_ids
        self._row: Row | None = None

    @property
    def row(self) -> Row:
        if self._row is None:
            request, most, name = self._request, None, "a request"
            if request is not None:
                name = f"request {request.request_id}"
                most = self._engine.room(request.max_tokens, request.num_prompt_tokens) - request.num_output_tokens
            row = Row(self._engine.vocab, self._stop_ids, name, self._options.min_tokens)
            self._row = row.start(self._constraint, most, self._options.close)
        return self._row

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        return all(map(self.row.read, tokens))

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        return self.row.validate(tokens)

    def rollback(self, num_tokens: int) -> None:
        self.row.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        array: np.ndarray = bitmask.numpy()
        self.row.fill(array, batch_index)

    def is_terminated(self) -> bool:
        """Never: vLLM does not mask what has terminated, and with ignore_eos the text would go on with anything."""
        return False

    def reset(self) -> None:
        self._row = None


class Backend(StructuredOutputBackend):
    """Compiles what requests ask for, over the model's vocabulary; equal ones once."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int):
        super().__init__(vllm_config, tokenizer, vocab_size)
        self.engine = Engine(vllm_config, tokenizer)

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Grammar:
        return self._grammar(options_for(request_type, grammar_spec), stop_token_ids or set(), None)

    def grammar_of(self, request: Request) -> Grammar:
        """As compile_grammar, with what the request says besides: how many tokens it may have, extra_args["grammarlm"]."""
        params = request.sampling_params
        assert params is not None
        assert params.structured_outputs is not None
        options = options_of(params.structured_outputs, requests.extra_of(params))
        return self._grammar(options, params.all_stop_token_ids, request)

    def _grammar(self, options: Options, stop_ids: set[int], request: Request | None) -> Grammar:
        assert options.grammar is not None
        with POLITE:  # the threads that schedule and sample come first
            constraint = self.engine.compiler.compile(options.grammar)
        return Grammar(self.engine, constraint, options, stop_ids, request)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        return torch.full((max_num_seqs, self.engine.vocab.words), -1, dtype=torch.int32)

    def destroy(self) -> None:
        self.engine.compiler.clear()
