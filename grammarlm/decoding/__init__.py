"""LOGITS -> TOKENS: applies masks, draws tokens, follows texts. Searches over items live in retrieval/ and are named here too."""

from importlib import import_module
from typing import Any

_HOME = {
    "BeamResult": "grammarlm.retrieval.result",
    "Blend": "grammarlm.decoding.methods.blends.blend",
    "Controller": "grammarlm.decoding.methods.pools.pool",
    "Moves": "grammarlm.decoding.methods.pools.paths",
    "Path": "grammarlm.decoding.methods.pools.paths",
    "Paths": "grammarlm.decoding.methods.pools.paths",
    "Search": "grammarlm.decoding.methods.searches.search",
    "beam_search": "grammarlm.retrieval.beam",
    "fit_threshold": "grammarlm.published.methods.fit_threshold",
    "blend": "grammarlm.decoding.methods.blends.blend",
    "pool": "grammarlm.decoding.methods.pools.pool",
    "search": "grammarlm.decoding.methods.searches.search",
}
__all__ = sorted(_HOME)  # noqa: PLE0605 - computed, so that each name is written once


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'grammarlm.decoding' has no attribute {name!r}; there are {', '.join(__all__)}")
