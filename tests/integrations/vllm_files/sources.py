"""vLLM's own files about structured outputs, run without the rest of it, which needs a GPU to be installed."""

import logging
import os
from typing import Any

from tests.integrations.wheel_files import Engine, Files

FILES = Files(os.environ["GRAMMARLM_VLLM_FILES"])
REAL = {
    "vllm.v1.structured_output",
    "vllm.v1.structured_output.backend_types",
    "vllm.v1.structured_output.request",
}


def without_padding(tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(-1)] if -1 in tokens else tokens


class Lazy:
    """Of torch, which vLLM imports late."""

    def __init__(self, name: str, *_: Any):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self._name), name)


class SamplingParams:
    def _validate_structured_outputs(
        self, model_config: Any, structured_outputs_config: Any, tokenizer: Any
    ) -> None: ...


def tokenizer_of(model_config: Any, **kwargs: Any) -> Any:
    return model_config.made


GIVEN = {
    "__version__": FILES.version,
    "init_logger": logging.getLogger,
    "LazyLoader": lambda name, *_: Lazy(name),
    "strip_speculative_padding": without_padding,
    "cached_tokenizer_from_config": tokenizer_of,
    "SamplingParams": SamplingParams,
}


def install() -> None:
    Engine("vllm", FILES, REAL, GIVEN).install()
