"""LOGITS -> TOKENS: applies masks, draws tokens, searches items."""

from importlib import import_module
from typing import Any

_HOME = {
    "BeamResult": "beam_result",
    "Blend": "blends",
    "Search": "searches",
    "beam_search": "beam",
    "blend": "blends",
    "search": "searches",
}
__all__ = sorted(_HOME)  # noqa: PLE0605 - computed, so that each name is written once


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module 'grammarlm.decoding' has no attribute {name!r}; there are {', '.join(__all__)}")
