"""Single tokens that may not stand at a masked position though their class may: each makes a second key like a given one, or too
long a string (lengths.py)."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED

from .answers import Answer
from .keys import spelling_tokens
from .lengths import Lengths, counted_to

if TYPE_CHECKING:
    from .residue import JsonPasses


class Singles:
    """Those of one row that can be completed."""

    def __init__(self, passes: JsonPasses):
        self._passes: JsonPasses = weakref.proxy(passes)
        self._counting: dict[int, JsonPasses] = {}

    @cached_property
    def may_be_any(self) -> bool:
        return self._passes.grid.has_free_keys or self._lengths is not None

    @cached_property
    def _lengths(self) -> Lengths | None:
        """None where characters are counted, or no matter."""
        return self._passes.grid.lengths(self._passes.tokens, self._passes.states)

    def still_known(self, position: int, answer: Answer) -> Answer:
        """Of an answer in a row with less tokens what says something here: that it holds is not known where a string may have no
        room for a token."""
        is_open = answer.shown is not None and self._lengths is not None and self._lengths.may_refuse(position)
        return replace(answer, shown=None) if is_open else answer

    def less(self, position: int, found: Answer) -> Answer:
        """What may stand at a masked position, without them."""
        passes, classes = self._passes, self._passes.classes
        refused, shown = found.refused, found.shown
        if self._lengths is not None and self._lengths.may_refuse(position):
            lead = passes.lead_between
            long = self._lengths.refused(position, found.classes, classes.of, refused, lead, self._counted_at)
            refused, shown = np.union1d(refused, long) if len(long) else refused, None
        if passes.repeats is not None and len(two := self._with_two_keys(position, found.classes, refused)):
            refused, shown = np.union1d(refused, two), None
        is_same = refused is found.refused and shown is found.shown
        return found if is_same else replace(found, refused=refused, shown=shown)

    def _with_two_keys(self, position: int, allowed: np.ndarray, refused: np.ndarray) -> np.ndarray:
        """Of tokens that end a key and begin the next, which given tokens go on with, those that make them equal. Tokenizers have
        hardly any, so the row is asked again with each."""
        passes, behind = self._passes, position + 1
        tokens = spelling_tokens(passes.grid.vocab).two_keys
        if not len(tokens) or behind == len(passes.tokens) or passes.tokens[behind] == MASKED:
            return tokens[:0]
        asked = np.setdiff1d(tokens[allowed[passes.classes.of[tokens]]], refused)
        return np.setdiff1d(asked, passes.that_complete(position, asked))

    def _counted_at(self, position: int, ids: np.ndarray, characters: int) -> np.ndarray:
        """bool: which of some tokens states allow that count so many characters."""
        counted, passes = counted_to(characters), self._passes
        if counted not in self._counting:
            states = passes.states._replace(counted=counted)
            self._counting[counted] = passes.__class__(passes.grid, passes.tokens, states)
        return self._counting[counted].have_class(position, ids)
