"""Single tokens that may not stand at a masked position though their class may: each makes a second key like a given one, too many
blanks beside given ones (gaps.py), or too long a string (lengths.py)."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED

from .another_key import makes_another
from .answers import Answer
from .apart import Witness
from .gaps import Gaps
from .keys import spelling_tokens
from .lengths import Lengths, counted_to

if TYPE_CHECKING:
    from .explored import States
    from .residue import JsonPasses

FEW_READ = 4  # tokens of a key of which a completion is read, before there is a table for the key


class Singles:
    """Those of one row that can be completed."""

    def __init__(self, passes: JsonPasses):
        self._passes: JsonPasses = weakref.proxy(passes)
        self._tracking: dict[bytes, JsonPasses] = {}
        self._counting: dict[int, JsonPasses] = {}

    @cached_property
    def may_be_any(self) -> bool:
        return self._passes.grid.has_free_keys or self._gaps is not None or self._lengths is not None

    @cached_property
    def _gaps(self) -> Gaps | None:
        """None where blanks are counted, or no matter."""
        passes, grid = self._passes, self._passes.grid
        if passes.is_text is None:
            return None
        return Gaps(grid.text(passes.tokens), lambda: passes.inner, grid.vocab, grid.begun.blanks, passes.is_text)

    @cached_property
    def _lengths(self) -> Lengths | None:
        """None where characters are counted, or no matter."""
        return self._passes.grid.lengths(self._passes.tokens, self._passes.states)

    def has_blanks_beside(self, position: int) -> bool:
        """Are blanks given beside a position, which may be too many with those of a token?"""
        return self._gaps is not None and self._gaps.are_beside(position)

    def others(self, before: Singles) -> set[int]:
        """The positions of which answers in a row with less tokens say nothing here: other blanks are given beside them."""
        return set() if self._gaps is None or before._gaps is None else self._gaps.others(before._gaps)

    def still_known(self, position: int, answer: Answer) -> Answer:
        """Of an answer in a row with less tokens what says something here: that it holds is not known where a string may have no
        room for a token."""
        is_open = answer.shown is not None and self._lengths is not None and self._lengths.may_refuse(position)
        return replace(answer, shown=None) if is_open else answer

    def less(self, position: int, found: Answer) -> Answer:
        """What may stand at a masked position, without them."""
        repeats, classes = self._passes.repeats, self._passes.classes
        refused, shown = found.refused, found.shown
        if self._gaps is not None and self._gaps.are_beside(position):
            bound = self._passes.low if repeats is None else repeats.bound
            more, is_shown = self._gaps.refused(position, found.classes, classes.of, refused, bound)
            refused, shown = np.union1d(refused, more) if len(more) else refused, shown if is_shown else None
        if self._lengths is not None and self._lengths.may_refuse(position):
            lead = self._passes.lead_between
            long = self._lengths.refused(position, found.classes, classes.of, refused, lead, self._counted_at)
            refused, shown = np.union1d(refused, long) if len(long) else refused, None
        if self._passes.asks_of_keys and (keys := self._escaped_keys(position)):
            refused, shown = np.union1d(refused, self._with_escapes(position, keys, found.classes)), None
        if repeats is not None and len(two := self._with_two_keys(position, found.classes, refused)):
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

    def _over(self, states: States) -> JsonPasses:
        """The same row over other states."""
        return self._passes.__class__(self._passes.grid, self._passes.tokens, states)

    def _counted_at(self, position: int, ids: np.ndarray, characters: int) -> np.ndarray:
        """bool: which of some tokens states allow that count so many characters."""
        counted = counted_to(characters)
        if counted not in self._counting:
            self._counting[counted] = self._over(self._passes.states._replace(counted=counted))
        return self._counting[counted].have_class(position, ids)

    def _escaped_keys(self, position: int) -> dict[bytes, set[int]]:
        """By key the tokens that spell it there with an escape in one of two places; without marks, all that spell it."""
        passes = self._passes
        runs = passes.beside(position) if passes.keys[0] else None
        return {} if runs is None else spelling_tokens(passes.grid.vocab).with_escapes(*passes.keys, *runs)

    def _is_read_with(self, position: int, token: int) -> bool:
        """Is the first completion found with a token one? It need not have a key twice, and a table for the key takes long."""
        passes = self._passes
        row = [*passes.tokens[:position], token, *passes.tokens[position + 1 :]]
        after = passes.__class__(passes.grid, row, passes.states, passes)
        return after.is_completable and after.is_read(Witness(after).first(after.inner.some))

    def _with_escapes(self, position: int, keys: dict[bytes, set[int]], allowed: np.ndarray) -> np.ndarray:
        """Those that make a second key with an escape in one of the two: what marks do not follow, a table for the key does."""
        found, states = set[int](), self._passes.states
        for key, every in keys.items():
            tokens = [token for token in every if allowed[self._passes.classes.of[token]]]
            if self._passes.repeats is not None:
                tokens = [token for token in tokens if not makes_another(self._passes.repeats, position, token, key)]
            if key not in self._tracking and len(tokens) <= FEW_READ:
                tokens = [token for token in tokens if not self._is_read_with(position, token)]
            if tokens and key not in states.keys:
                if key not in self._tracking:
                    self._tracking[key] = self._over(states._replace(keys=tuple(sorted({*states.keys, key}))))
                tracking = self._tracking[key]
                allowed_then = tracking.classes_at(position)
                found.update(token for token in tokens if not allowed_then[tracking.classes.of[token]])
        return np.array(sorted(found), np.int64)
