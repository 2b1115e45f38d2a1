"""One request's text in its grammar, made total: nothing raises into an engine, and a failure closes.

What fails - a limit, an error of ours, a token that the mask forbids - is logged once and kept in `error`; from then on the row
allows the stop ids only, so that the request ends and the others go on.

A request may bring stop ids of its own. They are allowed where the text may end and nowhere else, also where their bytes are text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.masks.batch import fill_masks
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

LOGGER = logging.getLogger("grammarlm.serving")


class ServedRow:
    """The state of one request."""

    def __init__(self, vocab: Vocabulary, stop_ids: Iterable[int] = (), name: str = "a request", min_tokens: int = 0):
        own = sorted({token for token in stop_ids if 0 <= token < vocab.size} - set(vocab.stop_ids))
        self.error = ""
        self.taken = 0  # tokens read
        self._least = min_tokens  # tokens before the text may end
        self._name = name
        self._matcher: Matcher | None = None
        self._own = frozenset(own)  # stop ids that the vocabulary does not have
        self._own_row = pack_ids(own, vocab.words) if own else None
        self._stops = frozenset(vocab.stop_ids) | self._own
        self._stop_row = pack_ids(self._stops, vocab.words)
        # Stop ids read that the matcher has not read: one of the request's own, and all after the end.
        self._after_end = 0

    def start(self, constraint: Constraint, most: int | None = None, close: bool | None = None) -> ServedRow:
        """Begins the text. With `close` it is complete within `most` tokens; None: where so many are enough."""
        try:
            self._matcher = self._begun(constraint, most, close)
        except Exception as error:
            self.fail(error)
        return self

    def _begun(self, constraint: Constraint, most: int | None, close: bool | None) -> Matcher:
        """One token less than `most` where that is enough, too: then the stop id fits, and the engine reports "stop" instead of
        "length"."""
        if most is None or close is False:
            return constraint.matcher()
        for left in (most - 1, most):
            try:
                return constraint.matcher(max_tokens=left)
            except ValueError as error:
                if left < most:
                    continue
                if close:
                    raise ValueError(f"close: {error}") from None
                if isinstance(error, GrammarError):  # so many may be enough, but it is not known
                    LOGGER.warning("%s may be cut at its %d tokens: %s", self._name, most, error)
        return constraint.matcher()

    def fail(self, error: Exception | str) -> None:
        """The request ends as soon as it can."""
        if self.error:
            return
        self.error, self._matcher = str(error) or type(error).__name__, None
        LOGGER.error("%s ends early: %s", self._name, self.error, exc_info=bug_of(error))

    @property
    def has_ended(self) -> bool:
        """Has a stop id been read?"""
        return bool(self._after_end) or (self._matcher is not None and self._matcher.is_finished)

    # ------------------------------------------------------------------ masks

    def fill(self, mask: np.ndarray, at: int) -> None:
        """Writes the row of the next token."""
        matcher = self._matcher
        if matcher is None or self._after_end:
            mask[at] = self._stop_row
            return
        try:
            matcher.fill_mask(mask, at)
            if self._own_row is not None:
                mask[at] &= ~self._own_row
                if matcher.is_accepting:
                    mask[at] |= self._own_row
                if not mask[at].any():
                    raise LimitExceeded("the text goes on with nothing but ids that end this request (stop_token_ids)")
            if self.taken < self._least and (others := mask[at] & ~self._stop_row).any():
                mask[at] = others
        except Exception as error:
            self.fail(error)
            mask[at] = self._stop_row

    def fill_drafts(self, drafts: Sequence[int], mask: np.ndarray, at: int) -> None:
        """Writes the row of the next token, and one after each draft; nothing changes. After a draft that is refused: stop ids."""
        self.fill(mask, at)
        read = 0
        for place, token in enumerate(drafts, at + 1):
            if self.error or not self.read(token, is_draft=True):
                mask[at + 1 + read : at + 1 + len(drafts)] = self._stop_row
                break
            read += 1
            self.fill(mask, place)
        self.rollback(read)

    # ------------------------------------------------------------------ reading

    def read(self, token: int, *, is_draft: bool = False) -> bool:
        """Reads a token; False where it is not allowed. Only a draft may be refused: the text of any other is lost."""
        try:
            is_fine = self._read(token)
        except Exception as error:
            self.fail(error)
            return False
        if is_fine:
            self.taken += 1
        elif not is_draft and not self.error:
            self.fail(f"token {token} was sampled, which its mask forbids")
        return is_fine

    def _read(self, token: int) -> bool:
        matcher = self._matcher
        if matcher is None:
            return token in self._stops
        if self.has_ended or (token in self._own and matcher.is_accepting):
            if token not in self._stops:
                return False
            self._after_end += 1
            return True
        return token not in self._own and matcher.advance(token)

    def validate(self, tokens: Sequence[int]) -> list[int]:
        """The leading tokens that can be read one after another; nothing changes."""
        read = 0
        for token in tokens:
            if not self.read(token, is_draft=True):
                break
            read += 1
        self.rollback(read)
        return list(tokens[:read])

    def rollback(self, count: int) -> None:
        """Takes back the last tokens."""
        self.taken -= count
        beyond = min(count, self._after_end)
        self._after_end -= beyond
        if self._matcher is not None and count > beyond:
            try:
                self._matcher.rollback(count - beyond)
            except Exception as error:
                self.fail(error)


def fill_rows(rows: Sequence[ServedRow | None], mask: np.ndarray) -> None:
    """Writes row i of the mask for the next token of rows[i], all in one call. None: every bit is set."""
    again = [
        (at, row)
        for at, row in enumerate(rows)
        if row is not None and (row._own or row._after_end or row._matcher is None or row.taken < row._least)
    ]
    try:
        fill_masks([None if row is None else row._matcher for row in rows], mask)
    except Exception:  # of one row, and it is not said of which
        again = [(at, row) for at, row in enumerate(rows) if row is not None]
    for at, row in again:  # stop ids of its own, no end yet, or nothing but the end
        row.fill(mask, at)


def bug_of(error: Exception | str) -> Exception | None:
    """An error that should not have been: it is logged with its traceback."""
    return None if isinstance(error, (str, GrammarError, ValueError)) else error
