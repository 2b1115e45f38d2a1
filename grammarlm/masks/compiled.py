"""A compiled grammar as matchers and canvases see it: the automaton of its machine, and what is known beside it.

`Constraint` is one that makes them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from grammarlm.grammars.compose import Grammar
from grammarlm.masks.saved import store
from grammarlm.vocab.vocabulary import Vocabulary

from .automaton import Automaton
from .report import Report

if TYPE_CHECKING:  # they load kernels
    from grammarlm.masks.filters.canonical import Canonical
    from grammarlm.masks.filters.closed import ClosedTexts


class Compiled:
    def __init__(
        self,
        automaton: Automaton,
        report: Report,
        grammar: Grammar,
        canonical: Canonical | None = None,
        closed: ClosedTexts | None = None,
    ):
        self._automaton = automaton
        self._canonical, self._closed = canonical, closed
        self.report = report
        self.grammar = grammar

    @property
    def vocab(self) -> Vocabulary:
        return self._automaton.program.vocab

    @property
    def is_canonical(self) -> bool:
        """Was it compiled with canonical_only?"""
        return self._canonical is not None

    @property
    def nbytes(self) -> int:
        """Current memory of states and rows; bounded by limits.max_bytes. The tables of canvases come beside."""
        return self._automaton.epoch.nbytes

    def _broken_rule(self, read: bytes, byte: int | None) -> str:
        """The rules of a schema that refuse a byte (None: the end) after a text; empty where none is known."""
        return ""

    @cached_property
    def fingerprint(self) -> bytes:
        """The same for the same grammar and vocabulary, in any process."""
        return store.fingerprint(self.grammar, self.vocab, self._canonical is not None)
