"""Engines beside those of the package: `grammarlm bench jsonschemabench DIR --engines benchmarks.schemas.engines:Formatron`."""

from __future__ import annotations

from typing import Any

import numpy as np

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Formatron:
    """formatron on kbnf: allowed tokens as a list. Its schemas take draft 2020-12 only, and forbid additional properties."""

    title = package = installation = "formatron"
    refusals: tuple[type[Exception], ...] = (Exception,)

    def __init__(self, tokenizer: Any):
        import typing

        import pydantic

        pydantic.typing = typing  # formatron 0.5.0 looks for it there, where newer versions of pydantic have none
        from formatron.formatter import FormatterBuilder
        from formatron.integrations.transformers import create_engine_vocabulary
        from formatron.schemas.json_schema import create_schema

        self._builder, self._create = FormatterBuilder, create_schema
        self._tokenizer, self._vocabulary = tokenizer, create_engine_vocabulary(tokenizer)
        self._row = np.zeros((len(tokenizer) + 31) // 32, np.uint32)

    def forget(self) -> None:
        """It caches nothing between schemas."""

    def compile(self, schema: Any) -> None:
        builder = self._builder()
        named = (
            {"$schema": DRAFT, "$id": "https://example.com/schema", **schema} if isinstance(schema, dict) else schema
        )
        builder.append_str(f"{builder.json(self._create({**named, '$schema': DRAFT}), capture_name='json')}")
        self._formatter = builder.build(self._vocabulary, self._tokenizer.decode)

    def reset(self, most: int | None = None) -> None:
        self._formatter.reset()

    def mask(self) -> None:
        self._row[:] = 0
        if self._formatter.is_completed():
            tokens = np.array([self._tokenizer.eos_token_id])
        else:
            self._formatter.compute_allowed_tokens()
            tokens = np.array(self._formatter.get_allowed_tokens_since_last_computation(), np.int64)
        np.bitwise_or.at(self._row, tokens >> 5, np.uint32(1) << (tokens & 31).astype(np.uint32))

    def words(self) -> np.ndarray | None:
        return self._row.view(np.int32)

    def commit(self, token: int) -> bool:
        if not int(self._row[token >> 5]) >> (token & 31) & 1:
            return False
        self._formatter.accept_token(token)
        return True

    def can_stop(self) -> bool:
        return bool(self._formatter.is_completed())

    def nbytes(self) -> int | None:
        return None


class Grid:
    """grid-guardrail: a schema becomes a grammar in its own notation; constraints that its masks do not enforce are let through."""

    title = "grid"
    package = installation = "grid-guardrail"
    refusals: tuple[type[Exception], ...] = (Exception,)

    def __init__(self, tokenizer: Any):
        from grid.generate import build_guide
        from grid.jsonschema import compile_json_schema
        from grid.models.hf_adapter import HFTokenizerAdapter

        self._build, self._translate = build_guide, compile_json_schema
        self._adapter = HFTokenizerAdapter(tokenizer)
        self._row = np.zeros((len(tokenizer) + 31) // 32, np.int32)

    def forget(self) -> None:
        """Its store of compiled schemas is off by default."""

    def compile(self, schema: Any) -> None:
        source, _ = self._translate(schema)
        self._guide = self._build(source, self._adapter)

    def reset(self, most: int | None = None) -> None:
        self._state = self._guide.initial_state

    def mask(self) -> None:
        self._guide.fill_bitmask(self._state, self._row)

    def words(self) -> np.ndarray | None:
        return self._row

    def commit(self, token: int) -> bool:
        if not int(self._row[token >> 5]) >> (token & 31) & 1:
            return False
        self._state = self._guide.get_next_state(self._state, token)
        return True

    def can_stop(self) -> bool:
        return bool(self._guide.can_terminate_state(self._state))

    def nbytes(self) -> int | None:
        return None
