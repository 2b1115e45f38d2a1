"""LOGITS -> TOKENS: applies masks, draws tokens, searches items."""

from typing import Any

__all__ = ["BeamResult", "beam_search"]


def __getattr__(name: str) -> Any:
    if name == "beam_search":
        from .beam import beam_search

        return beam_search
    if name == "BeamResult":
        from .beam_result import BeamResult

        return BeamResult
    raise AttributeError(f"module 'grammarlm.decoding' has no attribute {name!r}; there are {', '.join(__all__)}")
