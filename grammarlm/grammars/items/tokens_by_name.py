"""Tokens of one vocabulary by their texts or ids.

one_of(["<|call|>"])    Token("<|call|>"), a special token        one_of([17])    Tokens([[17]]), where 17 is text: this token alone
any_but([17])           one token of any kind, but not 17, and none that ends a text
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import GrammarError, UnsupportedFeature, brief, placed_error
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.derived import choice

from .special_token import Token
from .tokens import Tokens

if TYPE_CHECKING:
    from grammarlm.vocab.vocabulary import Vocabulary


class TokensByName:
    """The tokens that a grammar names, and where it does; without a vocabulary there are none."""

    def __init__(self, vocab: Vocabulary | None):
        self.vocab = vocab

    def one_of(self, names: Iterable[str | int], at: str) -> Grammar:
        """A token with one of these texts or ids, as one token."""
        if self._known(at).names_are_text:
            return choice(map(Token, names))
        ids, special = self.ids(names, at), {*self._known(at).special_ids, *self._known(at).stop_ids}
        texts = [[token] for token in ids if token not in special]
        return choice([*(Token(token) for token in ids if token in special), *([Tokens(texts)] if texts else [])])

    def any_but(self, excluded: Iterable[str | int], at: str) -> Grammar:
        """Any one token but these, and but those that end a text."""
        vocab = self._known(at)
        allowed: np.ndarray = np.diff(vocab.offsets) > 0
        left_out = [*self.ids(excluded, at), *vocab.stop_ids]
        allowed[[token for token in left_out if token < len(allowed)]] = False
        if not allowed.any():
            raise placed_error(GrammarError("no token is left: all are excluded"), at)
        return Tokens(np.flatnonzero(allowed)[:, None])

    def ids(self, names: Iterable[str | int], at: str) -> list[int]:
        """The ids of tokens by their texts or ids, sorted."""
        return sorted({token for name in names for token in self._ids(name, at)})

    def _ids(self, name: str | int, at: str) -> list[int]:
        vocab = self._known(at)
        if vocab.names_are_text:  # none of the bytes, which `any_but` leaves then
            return [vocab.size + zlib.crc32(str(name).encode(errors="replace"))]
        if isinstance(name, int):
            found = [name] if name < vocab.size and vocab.token_bytes(name) else []
        else:
            data = np.frombuffer(name.encode(errors="replace"), np.uint8)
            likely = np.flatnonzero(np.diff(vocab.offsets) == len(data))
            is_same = (vocab.data[vocab.offsets[likely, None] + np.arange(len(data))] == data).all(axis=1)
            found = likely[is_same].tolist()
        if not found:
            raise placed_error(GrammarError(f"the vocabulary has no token {brief(name, 80)}"), at)
        return found

    def _known(self, at: str) -> Vocabulary:
        if self.vocab is None:
            raise placed_error(UnsupportedFeature("a token, as an operand of & or -: it is no text"), at)
        return self.vocab
