"""vLLM: a logits processor for both of its model runners, and a structured-output backend.

    LLM(model, logits_processors=["grammarlm.integrations.vllm:LogitsProcessor"])
    SamplingParams(extra_args={"grammarlm": {"schema": {...}}})            options: ../serving/options.py

The backend serves response_format and structured_outputs; it is switched on by GRAMMARLM_VLLM_BACKEND=1 (plugin.py). Entry points
are in a distribution of their own, grammarlm-vllm: installing grammarlm changes nobody's engine.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

if find_spec("vllm") is None:
    raise ImportError("grammarlm.integrations.vllm is for use inside vLLM, which is not installed: pip install vllm")

_HOME = {"LogitsProcessor": "processor", "Backend": "backend", "register": "plugin"}
__all__ = sorted(_HOME)  # noqa: PLE0605 - as in grammarlm/__init__.py


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
