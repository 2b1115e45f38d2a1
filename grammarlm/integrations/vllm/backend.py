"""vLLM's own response_format and structured_outputs, served by grammarlm: a structured-output backend.

vLLM compiles in threads of the process that schedules; masks are filled there while the model runs, drafts validated and taken
back. It has no registry of backends; plugin.py puts this one in its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from grammarlm.integrations.serving.options import Options, read_options
from grammarlm.integrations.serving.served_row import ServedRow, fill_rows
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask

from . import params as requests
from .engine import Engine

if TYPE_CHECKING:
    from vllm.sampling_params import StructuredOutputsParams
    from vllm.v1.request import Request


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
    return read_options({**more, "grammar" if kind == StructuredOutputOptions.GRAMMAR else "structural_tag": spec})


def options_of(asked: StructuredOutputsParams, more: dict[str, Any] | None) -> Options:
    from vllm.v1.structured_output.request import get_structured_output_key

    kind, spec = get_structured_output_key(asked)
    return options_for(kind, spec, more)


class Grammar(StructuredOutputGrammar):
    """One request's text. `begin` makes its row, of so many tokens that the request has already counted as written."""

    def __init__(self, backend: Backend, begin: Callable[[int], ServedRow]):
        self._backend, self._begin = backend, begin
        self._row: ServedRow | None = None

    def _current(self, written: int = 0) -> ServedRow:
        """The row. It begins anew until it has read a token: before, the model may go on to think, in tokens that count."""
        if self._row is None or not (self._row.taken or self._row.error):
            self._row = self._begin(written)
        return self._row

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        return all(map(self._current(len(tokens)).read, tokens))

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        return self._current().validate(tokens)

    def rollback(self, num_tokens: int) -> None:
        self._current().rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        self._current().fill(self._backend.array_of(bitmask), batch_index)

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
        asked = vllm_config.structured_outputs_config
        self._thinks_freely = bool(asked.reasoning_parser) and not asked.enable_in_reasoning
        self._bitmask: tuple[torch.Tensor | None, np.ndarray] = None, np.empty(0)
        self._step = allocate_mask(0, self.engine.vocab.size)

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Grammar:
        options, stop_ids = options_for(request_type, grammar_spec), stop_token_ids or set()
        constraint = self._compiled(options)
        return Grammar(self, lambda _: ServedRow(self.engine.vocab, stop_ids).start(constraint))

    def grammar_at_once(self, request: Request) -> Grammar | None:
        """The grammar of a request that the scheduler can wait for; None where it has to be compiled in the background."""
        try:
            options = self._options(request)
            assert options.grammar is not None
            constraint = self.engine.compiled_at_once(options.grammar)
        except Exception as error:
            return self._failed(error, request)
        return None if constraint is None else self._grammar(constraint, options, request)

    def grammar_of(self, request: Request) -> Grammar:
        """As compile_grammar, with what the request says besides: how many tokens it may have, extra_args["grammarlm"]."""
        try:
            options = self._options(request)
            return self._grammar(self._compiled(options), options, request)
        except Exception as error:  # vLLM would answer 500, without a word, to what no admission had the time to find
            return self._failed(error, request)

    def _options(self, request: Request) -> Options:
        params = request.sampling_params
        assert params is not None
        assert params.structured_outputs is not None
        options = options_of(params.structured_outputs, requests.extra_of(params))
        return self.engine.after_prompt(
            options, lambda: request.prompt_token_ids or (), thinks_freely=self._thinks_freely
        )

    def _compiled(self, options: Options) -> Constraint:
        assert options.grammar is not None
        return self.engine.prepared(options.grammar)

    def _grammar(self, constraint: Constraint, options: Options, request: Request) -> Grammar:
        def begin(written: int) -> ServedRow:
            room = self.engine.room(request.max_tokens, request.num_prompt_tokens)
            row = self._row(request, options.min_tokens)
            return row.start(constraint, room - request.num_output_tokens + written, options.close)

        return Grammar(self, begin)

    def _failed(self, error: Exception, request: Request) -> Grammar:
        """An answer that is empty; the log says why."""
        row = self._row(request)
        row.fail(error)
        return Grammar(self, lambda _: row)

    def _row(self, request: Request, min_tokens: int = 0) -> ServedRow:
        params = request.sampling_params
        assert params is not None
        return ServedRow(self.engine.vocab, params.all_stop_token_ids, f"request {request.request_id}", min_tokens)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        return torch.full((max_num_seqs, self.engine.vocab.words), -1, dtype=torch.int32)

    def array_of(self, bitmask: torch.Tensor) -> np.ndarray:
        """The bitmask as an array: the same object each time, which matchers know."""
        known, array = self._bitmask
        if known is not bitmask:
            array = bitmask.numpy()
            self._bitmask = bitmask, array
        return array

    def masks_of(self, grammars: Sequence[Grammar | None]) -> np.ndarray:
        """The masks of a step, all in one call; everything is allowed where there is no grammar."""
        if len(grammars) > len(self._step):
            self._step = allocate_mask(max(16, 2 * len(grammars)), self.engine.vocab.size)
        fill_rows([None if grammar is None else grammar._current() for grammar in grammars], self._step)
        return self._step[: len(grammars)]

    def destroy(self) -> None:
        self.engine.close()
