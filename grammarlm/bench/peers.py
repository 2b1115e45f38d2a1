"""Other engines behind the bench's interface. Where an engine has several modes, the run's name says which one it is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .engine import Engine


class LLGuidance(Engine):
    package = "llguidance"
    refusals = (ValueError,)

    def __init__(self, tokenizer: Any):
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self._module = llguidance
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self._row = llguidance.numpy.allocate_token_bitmask(1, self._tokenizer.vocab_size)
        self._fill = llguidance.numpy.fill_next_token_bitmask

    def compile(self, schema: Any) -> None:
        grammar = json.dumps({"grammars": [{"json_schema": schema}]})
        self._ready = self._module.LLMatcher(self._tokenizer, grammar)
        if self._ready.is_error():
            raise ValueError(self._ready.get_error())

    def reset(self, most: int | None = None) -> None:
        self._matcher = self._ready.deep_copy()

    def mask(self) -> None:
        self._fill(self._matcher, self._row, 0)

    def words(self) -> np.ndarray | None:
        return self._row[0]

    def commit(self, token: int) -> bool:
        if not int(self._row[0, token >> 5]) >> (token & 31) & 1:
            return False
        return bool(self._matcher.consume_token(token))

    def can_stop(self) -> bool:
        return bool(self._matcher.is_accepting())


class XGrammar(Engine):
    """Its strict mode, with the separators of json.dumps; its cache is off."""

    package = "xgrammar"
    refusals = (RuntimeError, ValueError)

    def __init__(self, tokenizer: Any, strict_mode: bool = True, any_whitespace: bool = False):
        import xgrammar

        self._module = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._bits = xgrammar.allocate_token_bitmask(1, info.vocab_size)
        self._options: dict[str, Any] = {"strict_mode": strict_mode, "any_whitespace": any_whitespace}
        self._stop = info.stop_token_ids[0]

    def compile(self, schema: Any) -> None:
        self._compiled = self._compiler.compile_json_schema(json.dumps(schema), **self._options)

    def reset(self, most: int | None = None) -> None:
        self._matcher = self._module.GrammarMatcher(self._compiled)

    def mask(self) -> None:
        self._constrains = self._matcher.fill_next_token_bitmask(self._bits)

    def words(self) -> np.ndarray | None:
        return self._bits[0].numpy() if self._constrains else None

    def commit(self, token: int) -> bool:
        return bool(self._matcher.accept_token(token))

    def can_stop(self) -> bool:
        return bool(self._matcher.accept_token(self._stop))

    def nbytes(self) -> int | None:
        return int(self._compiled.memory_size_bytes)


class Outlines(Engine):
    """outlines-core: the schema becomes a regular expression, with recursion to its default depth and json.dumps' white space."""

    package = "outlines-core"
    refusals = (Exception,)

    def __init__(self, tokenizer: Any):
        import outlines_core
        from outlines_core.json_schema import build_regex_from_schema

        import grammarlm as gl

        self._module, self._build = outlines_core, build_regex_from_schema
        vocab: Any = gl.Vocabulary.from_tokenizer(tokenizer)
        spelled: dict[bytes, list[int]] = {}
        for token in vocab.text_ids.tolist():
            spelled.setdefault(vocab.token_bytes(token), []).append(token)
        self._vocabulary = outlines_core.Vocabulary(vocab.stop_ids[0], spelled)
        self._row = np.zeros((1, (vocab.size + 31) // 32), np.int32)

    def compile(self, schema: Any) -> None:
        self._index = self._module.Index(self._build(json.dumps(schema), " ?"), self._vocabulary)

    def reset(self, most: int | None = None) -> None:
        self._guide = self._module.Guide(self._index)

    def mask(self) -> None:
        self._guide.write_mask_into(self._row.ctypes.data, self._row.size, self._row.itemsize)

    def words(self) -> np.ndarray | None:
        return self._row[0]

    def commit(self, token: int) -> bool:
        if not int(self._row[0, token >> 5]) >> (token & 31) & 1:
            return False
        self._guide.advance(token, False)
        return True

    def can_stop(self) -> bool:
        return bool(self._guide.is_finished())
