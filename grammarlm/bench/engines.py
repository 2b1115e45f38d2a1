"""Our engine, and all by name. Where an engine has several modes, the run's name says which one it is."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .engine import Engine
from .peers import LLGuidance, Outlines, XGrammar


class GrammarLM(Engine):
    """This package. `close`: a text of at most so many tokens is brought to its end within them."""

    def __init__(self, tokenizer: Any, close: bool = False, **options: Any):
        import grammarlm as gl

        self._close = close
        self._gl: Any = gl
        self.refusals = (gl.GrammarError,)
        self.unsatisfiable = gl.UnsatisfiableGrammar
        self._vocab = gl.Vocabulary.from_tokenizer(tokenizer)
        self._row = gl.allocate_mask(1, self._vocab.size)
        self._options = options
        self._everything = False
        self._caches: list[Callable[[], object]] = []
        self._modules = 0

    def forget(self) -> None:
        """Clears the caches that outlive a constraint: the same schema twice is compiled twice."""
        if self._modules != len(sys.modules):
            self._modules, self._caches = len(sys.modules), list(_caches_of_grammars())
        for clear in self._caches:
            clear()

    def compile(self, schema: Any) -> None:
        self._constraint = self._gl.compile(self._gl.JsonSchema(schema, **self._options), self._vocab)

    def reset(self, most: int | None = None) -> None:
        self._matcher = self._constraint.matcher(most if self._close else None)

    def mask(self) -> None:
        self._everything = not self._matcher.fill_mask(self._row)

    def words(self) -> np.ndarray | None:
        return None if self._everything else self._row[0]

    def commit(self, token: int) -> bool:
        allowed = self._everything or bool(int(self._row[0, token >> 5]) >> (token & 31) & 1)
        taken = bool(self._matcher.advance(token))
        if taken is not allowed:
            raise AssertionError(f"token {token}: the mask says {allowed}, advance says {taken}")
        return taken

    def can_stop(self) -> bool:
        return bool(self._matcher.is_accepting)

    def nbytes(self) -> int | None:
        return int(self._constraint.nbytes)


def _caches_of_grammars() -> Any:
    """Functions that clear the caches keyed by the content of grammars; not those of Unicode and vocabulary tables."""
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(("grammarlm.grammars.", "grammarlm.masks.machines.json.")):
            continue
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear") and (value.cache_parameters()["maxsize"] or 0) >= 64:
                yield value.cache_clear
        if callable(clear := getattr(module, "clear_caches", None)):
            yield clear


ENGINES: dict[str, type[Engine]] = {
    "grammarlm": GrammarLM,
    "llguidance": LLGuidance,
    "xgrammar": XGrammar,
    "outlines": Outlines,
    "none": Engine,  # no constraint: what a model writes by itself
}
# Rows of a table: (row name, engine, options), keyed by the name that --engines takes.
RUNS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "grammarlm": [
        ("grammarlm", "grammarlm", {"property_order": "any"}),
        ("grammarlm, schema order", "grammarlm", {"property_order": "schema"}),
    ],
    "llguidance": [("llguidance", "llguidance", {})],
    "xgrammar": [("xgrammar", "xgrammar", {})],
    "xgrammar-compliant": [("xgrammar-compliant", "xgrammar", {"strict_mode": False, "any_whitespace": True})],
    "outlines": [("outlines", "outlines", {})],
}
# Those of the benchmarks that generate: texts of a bounded length are closed, and the same without that as a row of its own.
GENERATING: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    **RUNS,
    "grammarlm": [
        ("grammarlm", "grammarlm", {"property_order": "any", "close": True}),
        ("grammarlm, not closed", "grammarlm", {"property_order": "any"}),
    ],
    "none": [("none", "none", {})],
}


def engine_class(name: str) -> Any:
    """One of ENGINES, or module:Class with the same interface.

    That may have `title`, the name of its row, `note`, what a report says of it, and `installation`, what pip installs it by.
    """
    module, _, attribute = name.partition(":")
    if not attribute:
        return ENGINES[name]
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"--engines {name}: {error}; it takes MODULE:CLASS, an engine as bench/engine.py says"
        ) from None
    return found


def package_of(engine: str) -> tuple[str, str]:
    """The engine's package and its version; PackageNotFoundError where it is not installed."""
    package: str = getattr(engine_class(engine), "package", engine)
    try:
        return package, version(package)
    except PackageNotFoundError:
        if package != "grammarlm":
            raise
        return package, "(not installed)"  # it is run from its source tree
