"""grammarlm: grammars compiled to token masks, applied while a language model decodes.

Names are resolved on first use (PEP 562), so that `import grammarlm` is fast: torch and transformers are imported only by the names
that need them.
"""

from importlib import import_module
from typing import Any

from grammarlm.errors import MissingPackage
from grammarlm.grammars import registry

_HOME = {
    "ByteModel": "decoding.byte_model.byte_model",
    "Compiler": "masks.compiler",
    "Constraint": "masks.constraint",
    "Decision": "decoding.decisions.decide",
    "DeviceAutomaton": "device.automaton",
    "DeviceItems": "retrieval.device_items",
    "DeviceLoop": "device.loop",
    "Event": "decoding.answers.events",
    "ItemSet": "retrieval.item_set",
    "Indent": "grammars.cfg.indent",
    "Limits": "masks.runtime.limits",
    "Matcher": "masks.matcher",
    "TooManyCalls": "errors",
    "agenerate": "decoding.live.asynchronous",
    "allocate_mask": "masks.mask_array",
    "astream": "decoding.live.asynchronous",
    "compile": "masks.constraint",
    "decide": "decoding.decisions.decide",
    "describe": "grammars.json_schema.describe",
    "extract": "decoding.scoring.extract",
    "fill_masks": "masks.batch",
    "fill_tree": "masks.draft_tree",
    "fill_trees": "masks.draft_tree",
    "Generator": "decoding.generator",
    "Hole": "decoding.diffusion.holes",
    "generate": "decoding.generate",
    "infill": "decoding.diffusion.infill",
    "Draft": "decoding.speculative.draft",
    "GrammarError": "errors",
    "LimitExceeded": "errors",
    "LogitsProcessor": "integrations.transformers",
    "MaskError": "errors",
    "MaskTree": "masks.draft_tree",
    "MissingPackage": "errors",
    "Result": "decoding.result",
    "SchemaWarning": "errors",
    "TokenizerError": "errors",
    "ToolFormat": "grammars.tools.tool_format",
    "UnsatisfiableGrammar": "errors",
    "UnsupportedFeature": "errors",
    "Vocabulary": "vocab.vocabulary",
    "apply_mask_": "decoding.logits.apply_mask",
    "load_tiny": "models.tiny",
    "methods": "decoding.method_list",
    "rank": "decoding.scoring.rank",
    "response_format": "grammars.response_format",
    "stream": "decoding.stream",
}

_EXTRAS = {"torch": "torch", "transformers": "torch", "triton": "gpu", "numba": "numba"}  # package -> what installs it

_HOME |= {name: f"grammars{kind.module}" for name, kind in registry.KINDS.items()}

__all__ = sorted(_HOME)  # noqa: PLE0605 - computed, so that each name is written once


def __getattr__(name: str) -> Any:
    if name == "__version__":
        globals()[name] = value = import_module("grammarlm.version").version()
        return value
    if name not in _HOME:
        raise AttributeError(f"module 'grammarlm' has no attribute {name!r}; {_instead_of(name)}")
    try:
        value = getattr(import_module(f"grammarlm.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise MissingPackage(f"gl.{name} needs {error.name}: pip install 'grammarlm[{extra}]'") from error
    globals()[name] = value
    return value


def _instead_of(name: str) -> str:
    from difflib import get_close_matches

    plain = {each.replace("_", "").lower(): each for each in __all__}
    near = get_close_matches(name.replace("_", "").lower(), plain, n=1)
    return f"did you mean gl.{plain[near[0]]}?" if near else f"there are {', '.join(__all__)}"


def __dir__() -> list[str]:
    return __all__
