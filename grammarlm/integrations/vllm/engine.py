"""What one engine's requests share: the vocabulary of its model, and a compiler of grammars."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vllm.tokenizers import cached_tokenizer_from_config

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.ebnf.gbnf import Gbnf
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.integrations.serving.served_row import Row
from grammarlm.kernels import entries
from grammarlm.masks.compiler import Compiler
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.runtime.collector import PATIENT
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from vllm.config import VllmConfig

    from grammarlm.grammars.compose import Grammar
    from grammarlm.integrations.serving.options import Options

# Of masks the work is bounded and not the time: the ranks of one engine must agree, whatever their clocks say.
LIMITS = Limits(max_ms=60_000, max_mask_ms=math.inf, max_mask_work=20_000)
# Bytes of constraints that are held; --additional-config '{"grammarlm": {"max_bytes": ...}}' says another number.
USUAL_BYTES = 128 << 20
AT_ONCE = replace(LIMITS, max_work=5)  # of a compile that the scheduler waits for: a few milliseconds


class Engine:
    """Made once in each process that masks."""

    def __init__(self, vllm_config: VllmConfig, tokenizer: Any = None):
        model = vllm_config.model_config
        if tokenizer is None:
            tokenizer = cached_tokenizer_from_config(model_config=model)
        if tokenizer is None:
            raise ValueError("grammarlm needs the model's tokenizer: start vLLM without skip_tokenizer_init")
        PATIENT.is_enabled = False  # a server has its own rules for Python's collector
        self.most_tokens = int(model.max_model_len)
        self.vocab = Vocabulary.from_tokenizer(tokenizer, size=model.get_vocab_size(), stop_ids=_ends(model, tokenizer))
        own = (getattr(vllm_config, "additional_config", None) or {}).get("grammarlm") or {}
        self.compiler = Compiler(self.vocab, limits=LIMITS, max_bytes=own.get("max_bytes", USUAL_BYTES))
        entries.load()  # now, and not when the first request waits
        for grammar in (JsonSchema(True).as_generated(), Regex("a"), Gbnf('root ::= "a" root | "b"')):
            self.compiler.compile(grammar).matcher().fill_mask(allocate_mask(1, self.vocab.size))

    def row(self, options: Options, stop_ids: set[int], most: int | None) -> Row:
        """The row of a request, compiled here if nobody has done it before. `most`: tokens that the answer may have."""
        row = Row(self.vocab, stop_ids, min_tokens=options.min_tokens)
        assert options.grammar is not None
        try:
            constraint: Constraint = self.compiler.compile(options.grammar)
        except Exception as error:
            row.fail(error)
            return row
        return row.start(constraint, most, options.close)

    def compiled_at_once(self, grammar: Grammar) -> Constraint | None:
        """The constraint where it is held, or made in a moment."""
        for limits in (AT_ONCE, LIMITS):
            if found := self.compiler.held(grammar, limits=limits):
                return found
        try:
            return self.compiler.compile(grammar, limits=AT_ONCE)
        except LimitExceeded:
            return None

    def room(self, max_tokens: int | None, prompt: int) -> int:
        """The tokens that an answer may have: those asked for, and those that the model has room for."""
        left = self.most_tokens - prompt
        return left if max_tokens is None else min(max_tokens, left)


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a text: the tokenizer's, and those of the model's generation config."""
    found = [getattr(tokenizer, "eos_token_id", None)]
    named = model.try_get_generation_config().get("eos_token_id")
    found += named if isinstance(named, list) else [named]
    return sorted({token for token in found if isinstance(token, int) and 0 <= token < model.get_vocab_size()})
