"""What the distribution grammarlm-vllm runs in each process of vLLM (the entry-point group vllm.general_plugins).

1. Refuses at start what vLLM would drop silently: V1 with a draft model takes no processor, and an entry point is left out there
   without a word.
2. With GRAMMARLM_VLLM_BACKEND=1: structured outputs are checked and served by grammarlm. vLLM has no registry of backends yet, so
   five of its functions are wrapped: in versions where they are those that we know (signatures.py).
"""

from __future__ import annotations

import functools
import os
from typing import Any

import vllm

from grammarlm.collector import PATIENT
from grammarlm.integrations.serving.admission import admit, warm
from grammarlm.integrations.serving.interfaces import check_functions, warn_of_version

from . import params as requests
from .signatures import BACKEND as USED_BY_BACKEND
from .signatures import PLUGIN, TESTED

BACKEND = "GRAMMARLM_VLLM_BACKEND"
WRAPPED = "_wrapped_by_grammarlm"
NO_DRAFTS = (
    "grammarlm-vllm is installed, and this vLLM (model runner V1 with speculative decoding) leaves logits processors out without a "
    "word: a request with extra_args['grammarlm'] would not be held to its grammar. Use model runner V2, or leave "
    f"speculative_config out, or set {BACKEND}=1, which serves these requests, too"
)


def register() -> None:
    """Idempotent, as vLLM asks."""
    PATIENT.is_enabled = False  # a server has its own rules for Python's collector
    warm()  # now, and not on the event loop when the first request comes
    check_functions("vLLM", vllm.__version__, TESTED, PLUGIN, "Uninstall grammarlm-vllm, or use one of those")
    from vllm.v1.sample import logits_processor

    _replace(logits_processor, "build_logitsprocs", _with_processors)
    if is_backend_on():
        register_backend()


def is_backend_on() -> bool:
    return os.environ.get(BACKEND, "") not in ("", "0")


def register_backend() -> None:
    """Structured outputs of this process are grammarlm's."""
    instead = (
        f"Unset {BACKEND}, or use the logits processor: --logits-processors grammarlm.integrations.vllm:LogitsProcessor"
    )
    check_functions("vLLM", vllm.__version__, TESTED, USED_BY_BACKEND, instead)
    warn_of_version("vLLM", vllm.__version__, TESTED)
    from vllm.sampling_params import SamplingParams
    from vllm.v1.structured_output import StructuredOutputManager

    _replace(SamplingParams, "_validate_structured_outputs", _checked_outputs)
    _replace(StructuredOutputManager, "__init__", _with_backend)
    _replace(StructuredOutputManager, "grammar_init", _at_once)
    _replace(StructuredOutputManager, "_create_grammar", _created)
    _replace(StructuredOutputManager, "grammar_bitmask", _in_one_call)


def _replace(owner: Any, name: str, by: Any) -> None:
    before = getattr(owner, name)
    if getattr(before, WRAPPED, False):
        return

    @functools.wraps(before)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        return by(before, *arguments, **named)

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
        thinks_freely = bool(config.reasoning_parser) and not config.enable_in_reasoning
        requests.prepare_for_backend(params, tokenizer, thinks_freely=thinks_freely)
        if not requests.has_structured_outputs(params):
            return
        if model_config.is_diffusion or tokenizer is None:
            raise ValueError("grammarlm needs a tokenizer and a model that writes from left to right")
        options = options_of(params.structured_outputs, requests.extra_of(params))
        assert options.grammar is not None
        admit(options.grammar, in_background=True)
    except ValueError as error:
        raise VLLMValidationError(str(error)) from error
    params.structured_outputs._backend = "grammarlm"


def _with_backend(before: Any, manager: Any, vllm_config: Any) -> None:
    """Made at start: what is wrong with a tokenizer is said there, and the first request finds everything ready."""
    from .backend import Backend

    before(manager, vllm_config)
    model = vllm_config.model_config
    if not model.skip_tokenizer_init and getattr(model, "runner_type", "") != "pooling":
        manager.backend = Backend(vllm_config, manager.tokenizer, model.get_vocab_size())


def _at_once(before: Any, manager: Any, request: Any) -> None:
    from .backend import Backend

    if request.structured_output_request is not None and isinstance(manager.backend, Backend):
        at_once = manager.backend.grammar_at_once(request)
        if at_once is not None:
            request.structured_output_request.grammar = request.held_by_grammarlm = at_once
            return
    before(manager, request)


def _created(before: Any, manager: Any, request: Any) -> Any:
    from .backend import Backend

    if not isinstance(manager.backend, Backend):
        return before(manager, request)
    made = request.held_by_grammarlm = manager.backend.grammar_of(request)
    return made


def _in_one_call(before: Any, manager: Any, requests: Any, names: list[str], drafts: Any) -> Any:
    """The masks of a step: vLLM asks for them row by row, beyond 128 from several threads. It still does where it has drafts, whose
    rows depend on each other, and for requests that think: what these may write is in its hands."""
    from .backend import Backend

    config = manager.vllm_config
    if not isinstance(manager.backend, Backend) or config.num_speculative_tokens or config.model_config.is_diffusion:
        return before(manager, requests, names, drafts)
    all_write = manager.reasoner_cls is None or manager.enable_in_reasoning
    asked = [requests[name] for name in names]
    grammars = [
        one.held_by_grammarlm if all_write or one.structured_output_request.reasoning_ended else None for one in asked
    ]
    masks = manager.backend.masks_of(grammars)
    if None in grammars:
        thinking = [at for at, grammar in enumerate(grammars) if grammar is None]
        masks[thinking] = before(manager, requests, [names[at] for at in thinking], drafts)
    return masks if names else None


def _with_processors(before: Any, vllm_config: Any, *arguments: Any, **named: Any) -> Any:
    """V1's processors: of all runners it alone leaves some out."""
    if vllm_config.speculative_config and _is_installed() and not is_backend_on():
        raise ValueError(NO_DRAFTS)
    return before(vllm_config, *arguments, **named)


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any("grammarlm" in each.value for each in entry_points(group="vllm.logits_processors"))
