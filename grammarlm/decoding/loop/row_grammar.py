"""What the grammar says about one text of a batch: its matcher, and the mask of its next token."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from grammarlm.decoding.settings import AnswerSpec
from grammarlm.masks.mask_array import allocate_mask, only_bit
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import pack_ids

from . import healing, written


class RowGrammar:
    """The matcher of one text. While the end of the prompt is healed (`healed_suffix`), the mask is that of healing."""

    def __init__(self, spec: AnswerSpec):
        self._spec = spec
        self.matcher, self.closes = spec.matcher()  # does the matcher keep the budget of tokens?
        self.mask = allocate_mask(1, spec.vocab.size)
        self.is_masked = self.matcher is not None  # does the mask forbid anything?
        self.was_narrowed = False  # has the budget of tokens removed tokens from a mask?
        self.healed_suffix = spec.healed_suffix
        self.healed = 0  # how many tokens have been written while healing
        self._written: list[int] = []  # what is written next, the last token first (written.py)

    @property
    def reason_to_stop(self) -> str:
        """The finish reason of a text that ends with a stop id."""
        return "closed" if self.was_narrowed else "stop"

    def fork(self) -> RowGrammar:
        other = copy(self)
        other.matcher, other.mask = self.matcher and self.matcher.fork(), self.mask.copy()
        other._written = list(self._written)
        return other

    def fill(self, is_filled: bool = False) -> None:
        """Makes the mask of the next token; `is_filled`: the matcher has written it already."""
        if self.healed_suffix:
            self.mask[0], self.is_masked = (
                healing.row_of(self._spec.vocab, self._spec.constraint, self.healed_suffix),
                True,
            )
        elif self.matcher is None:
            self.is_masked = False  # the mask may still be that of healing
        else:
            if not is_filled:
                self.is_masked = self.matcher.fill_mask(self.mask)
            self.was_narrowed = self.was_narrowed or self.matcher.is_narrowed
            if self._spec.writes and self.is_masked:
                self._leave_written(self.matcher)
        if self._spec.reserved:
            self._leave_out_reserved()

    def _leave_out_reserved(self) -> None:
        if not self.is_masked:
            self.mask[0], self.is_masked = -1, True
        self.mask[0] &= ~self._spec.reserved_row

    def _leave_written(self, matcher: Matcher) -> None:
        """Of the mask the token that is written here, where text is forced and the mask allows it (a budget may not)."""
        self._written = self._written or written.tokens(self._spec.vocab, matcher, self.mask[0])[::-1]
        token = self._written[-1] if self._written else None
        if token is not None and self.mask[0, token >> 5] >> (token & 31) & 1:
            self.mask[0] = pack_ids([token], self._spec.vocab.words)
        else:
            self._written = []

    @property
    def only_token(self) -> int | None:
        """The only token that the mask allows; None where it allows several."""
        return only_bit(self.mask[0]) if self.is_masked else None

    def allows_stops_only(self, only: int | None) -> bool:
        """Does the mask allow stop ids and nothing else? `only`: the only token."""
        stop_ids = self._spec.vocab.stop_ids
        if only is not None or len(stop_ids) == 1:
            return only in stop_ids
        return self.is_masked and np.array_equal(self.mask[0], self._spec.stop_row)

    def piece_of(self, token: int) -> bytes:
        """The bytes that a token appends to the text: of one that spells the end of the prompt again, only those after that end."""
        return self._spec.bytes_of(token)[len(self.healed_suffix) :]

    def may_follow_healing(self, token: int) -> bool:
        """Is what the token appends after the prompt the beginning of a text within the budget? (Healing has no budgets.)"""
        piece = self.piece_of(token) if self.healed_suffix else b""
        return not piece or self._spec.constraint is None or self._matcher_after(piece) is not None

    def advance(self, token: int) -> bool:
        """Reads a token that the mask allows; False where the matcher refuses it all the same."""
        if not self.healed_suffix:
            if self._written and self._written.pop() != token:
                self._written = []
            return self.matcher is None or self.matcher.advance(token)
        piece = self.piece_of(token)
        self.healed_suffix, self.healed = self.healed_suffix[len(self._spec.bytes_of(token)) :], self.healed + 1
        if piece and self._spec.constraint is not None:
            self.matcher = self._matcher_after(piece)
        return True

    def accepts(self, tokens: Sequence[int], pieces: Sequence[bytes]) -> bool:
        """Is the text of these pieces of the first tokens a whole one?"""
        if self._spec.constraint is None:
            return True
        matcher = self._spec.constraint.matcher()
        return (
            matcher.is_accepting
            if not pieces
            else all(
                matcher.advance(token)
                if piece == self._spec.bytes_of(token) or not piece
                else matcher.advance_bytes(piece)
                for token, piece in zip(tokens, pieces, strict=False)
            )
            and matcher.is_accepting
        )

    def _matcher_after(self, piece: bytes) -> Matcher | None:
        assert self._spec.constraint is not None
        left = self._spec.settings.max_tokens - 1 if self.closes else None
        return healing.matcher_after(self._spec.constraint, piece, left)
