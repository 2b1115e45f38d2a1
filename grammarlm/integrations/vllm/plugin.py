"""What the distribution grammarlm-vllm runs in each process of vLLM (the entry-point group vllm.general_plugins).

1. Refuses at start what vLLM would drop silently: V1 with a draft model takes no processor, and an entry point is left out there
   without a word.
2. With GRAMMARLM_VLLM_BACKEND=1, for the versions in TESTED: structured outputs are checked and served by grammarlm. vLLM has no
   registry of backends yet, so three of its functions are wrapped.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import vllm

from grammarlm.errors import GrammarError
from grammarlm.integrations.serving.admission import admit
from grammarlm.masks.runtime.collector import PATIENT

from . import params as requests

BACKEND = "GRAMMARLM_VLLM_BACKEND"
TESTED = ("0.32.",)
WRAPPED = "_wrapped_by_grammarlm"
NO_DRAFTS = (
    "grammarlm-vllm is installed, and this vLLM (model runner V1 with speculative decoding) leaves logits processors out without a "
    "word: a request with extra_args['grammarlm'] would not be held to its grammar. Use model runner V2, or leave "
    f"speculative_config out, or set {BACKEND}=1, which serves these requests, too"
)


def register() -> None:
    """Idempotent, as vLLM asks."""
    PATIENT.is_enabled = False  # a server has its own rules for Python's collector
    _refuse_silent_drop()
    if os.environ.get(BACKEND, "") not in ("", "0"):
        register_backend()


def register_backend() -> None:
    """Structured outputs of this process are grammarlm's."""
    if not vllm.__version__.startswith(TESTED):
        raise RuntimeError(
            f"{BACKEND} is set, but grammarlm's backend is tested with vLLM {' and '.join(v + 'x' for v in TESTED)} only; this is "
            f"{vllm.__version__}. Unset it, or use the logits processor: --logits-processors "
            "grammarlm.integrations.vllm:LogitsProcessor"
        )
    from vllm.sampling_params import SamplingParams
    from vllm.v1.structured_output import StructuredOutputManager

    _replace(SamplingParams, "_validate_structured_outputs", _checked_outputs)
    _replace(StructuredOutputManager, "grammar_init", _with_backend)
    _replace(StructuredOutputManager, "_create_grammar", _created)


def _replace(owner: Any, name: str, by: Any) -> None:
    before = getattr(owner, name)
    if getattr(before, WRAPPED, False):
        return

    @functools.wraps(before)
    def wrapper(self: Any, *arguments: Any, **named: Any) -> Any:
        return by(before, self, *arguments, **named)

    setattr(wrapper, WRAPPED, True)
    setattr(owner, name, wrapper)


def _checked_outputs(before: Any, params: Any, model_config: Any, config: Any, tokenizer: Any) -> None:
    """Instead of the checks of vLLM's backends: ours, where requests come in."""
    from vllm.exceptions import VLLMValidationError

    from .backend import options_of

    if config is None:
        return
    if params.structured_outputs is not None and (model_config.is_diffusion or tokenizer is None):
        before(params, model_config, config, tokenizer)  # vLLM's own words
        return
    try:
        requests.prepare_for_backend(params)
        if not requests.has_structured_outputs(params):
            return
        options = options_of(params.structured_outputs, requests.extra_of(params))
        assert options.grammar is not None
        admit(options.grammar, in_background=True)
    except (ValueError, GrammarError) as error:
        raise VLLMValidationError(str(error)) from error
    params.structured_outputs._backend = "grammarlm"


def _with_backend(before: Any, manager: Any, request: Any) -> None:
    from .backend import Backend

    if request.structured_output_request is not None and manager.backend is None:
        size = manager.vllm_config.model_config.get_vocab_size()
        manager.backend = Backend(manager.vllm_config, manager.tokenizer, size)
    if request.structured_output_request is not None and isinstance(manager.backend, Backend):
        at_once = manager.backend.grammar_at_once(request)
        if at_once is not None:
            request.structured_output_request.grammar = at_once
            return
    before(manager, request)


def _created(before: Any, manager: Any, request: Any) -> Any:
    from .backend import Backend

    if not isinstance(manager.backend, Backend):
        return before(manager, request)
    return manager.backend.grammar_of(request)


def _refuse_silent_drop() -> None:
    from vllm.v1.sample import logits_processor as module

    _replace_function(module, "build_logitsprocs")


def _replace_function(module: Any, name: str) -> None:
    before = getattr(module, name)
    if getattr(before, WRAPPED, False):
        return

    @functools.wraps(before)
    def wrapper(vllm_config: Any, *arguments: Any, **named: Any) -> Any:
        is_served = os.environ.get(BACKEND, "") not in ("", "0")
        if vllm_config.speculative_config and _is_installed() and not is_served:
            raise ValueError(NO_DRAFTS)
        return before(vllm_config, *arguments, **named)

    setattr(wrapper, WRAPPED, True)
    setattr(module, name, wrapper)


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any("grammarlm" in each.value for each in entry_points(group="vllm.logits_processors"))
