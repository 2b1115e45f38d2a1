"""Single tokens that may not stand at a masked position though their class may: each makes a second key like a given one, or too
long a string (lengths.py)."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED

from .answers import NO_TOKENS, Answer
from .keys import spelling_tokens
from .lengths import Lengths, counted_to
from .spans import all_spans

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
        if len(again := self._with_key_again(position, found.classes, refused)):
            refused, shown = np.union1d(refused, again), None
        is_same = refused is found.refused and shown is found.shown
        return found if is_same else replace(found, refused=refused, shown=shown)

    def _with_key_again(self, position: int, allowed: np.ndarray, refused: np.ndarray) -> np.ndarray:
        """Of tokens that may make a key come twice, and that marks say nothing of, those that do. There are hardly any, so the row
        is asked again with each."""
        passes = self._passes
        tokens = self._unmarked(position)
        asked = np.setdiff1d(tokens[allowed[passes.classes.of[tokens]]], refused)
        return np.setdiff1d(asked, passes.that_complete(position, asked))

    def _unmarked(self, position: int) -> np.ndarray:
        """Tokens that end a key and begin the next, which given tokens go on with; where there are no sets of stacks, and so no
        marks: all that spell a given key again."""
        passes, behind = self._passes, position + 1
        spelling = spelling_tokens(passes.grid.vocab)
        if passes.repeats is not None:
            is_given = behind < len(passes.tokens) and passes.tokens[behind] != MASKED
            return spelling.two_keys if is_given else NO_TOKENS
        if not passes.grid.has_free_keys or passes.lattice.table.micro_order is not None:
            return NO_TOKENS
        runs = passes.grid.runs_of(passes.tokens)
        keys = frozenset((*(span.key for span in all_spans(runs)), *passes.grid.begun.keys))
        at = next((i for i, run in enumerate(runs[1:]) if run.first == behind), None)
        if at is None:
            return NO_TOKENS
        groups = (group for _, found in spelling.of(keys, runs[at].begins, runs[at + 1].ends) for group in found)
        return np.array(sorted({token for group in groups for token in group}), np.int64)

    def _counted_at(self, position: int, ids: np.ndarray, characters: int) -> np.ndarray:
        """bool: which of some tokens states allow that count so many characters."""
        counted, passes = counted_to(characters), self._passes
        if counted not in self._counting:
            states = passes.states._replace(counted=counted)
            self._counting[counted] = passes.__class__(passes.grid, passes.tokens, states)
        return self._counting[counted].have_class(position, ids)
