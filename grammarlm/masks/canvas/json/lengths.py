"""Characters of strings, where states do not count them.

Between two known quotes a row has the characters of its given tokens, and masked tokens there can spell escapes, six of them a
character. Where that leaves room below the schema's maxLengths, states need not count: what else a string has can be written in
fewer characters. What remains are single tokens with more characters than there is room for. They are asked of states that count,
and only where their class may stand: few positions of few rows ask for such states, which are many.

    " [150 characters] [masked] "     maxLength 160: tokens of up to 4 characters may stand there if their class may
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.vocab.vocabulary import Vocabulary

from .sizes import sizes_of

BETWEEN_QUOTES = re.compile(rb'(?:[^"\\]|\\.)*', re.DOTALL)
ESCAPE = 6  # tokens of one byte that spell one character: \u0061
NO_TOKENS = np.zeros(0, np.int64)


def longest_string(text: bytes, before: int) -> int:
    """A bound of the characters that the longest string of a text has. `before`: those that precede the text."""
    lengths = [sum(byte & 0xC0 != 0x80 for byte in piece) for piece in BETWEEN_QUOTES.findall(text)]
    return max(lengths[0] + before, *lengths)


def counted_to(characters: int) -> int:
    """Up to which maxLength strings are counted where one of so many characters may break its own: one of few numbers."""
    return 1 << (characters - 1).bit_length()


class Stretch(NamedTuple):
    """Positions between known quotes, and the fewest characters that they come to if they are one string."""

    first: int
    last: int
    characters: int
    is_masked: bool  # in part


def stretches(tokens: Sequence[int], vocab: Vocabulary, before: int, is_plain: bool) -> list[Stretch]:
    """`is_plain`: masked tokens cannot spell escapes. `before`: characters of a string that precede the row."""
    characters, found = sizes_of(vocab).characters, list[Stretch]()
    here, first, run, is_masked, last_given = before, 0, 0, False, b"\\"
    for at, token in enumerate(tokens):
        if token == MASKED:
            run, is_masked, last_given = run + 1, True, b"\\"
            continue
        here, run = here + _spelled(run, is_plain), 0
        text = vocab.token_bytes(token)
        quotes = _known_quotes(text, last_given)
        if not quotes:
            here += characters[token]
        else:
            found.append(Stretch(first, at, here + quotes[0], is_masked))
            here, first, is_masked = len(text) - quotes[-1] - 1, at, False
        last_given = text[-1:] or last_given
    return [*found, Stretch(first, len(tokens), here + _spelled(run, is_plain), is_masked)]


def _spelled(masked: int, is_plain: bool) -> int:
    return masked if is_plain else masked // ESCAPE + min(masked, ESCAPE - 1)


def _known_quotes(text: bytes, before: bytes) -> list[int]:
    """The places of quotes that are not escaped, whatever stands before the token."""
    return (
        [at for at in range(len(text)) if text[at] == 34 and (text[at - 1 : at] if at else before) != b"\\"]
        if 34 in text
        else []
    )


def fewest_characters(tokens: Sequence[int], vocab: Vocabulary, before: int, is_plain: bool) -> int:
    """A bound of the characters that some string of the row must have."""
    more = _slack(vocab)
    return max(here.characters + (more if here.is_masked else 0) for here in stretches(tokens, vocab, before, is_plain))


def _slack(vocab: Vocabulary) -> int:
    """What the tokens at the ends of a run of masked ones can add."""
    return 2 * sizes_of(vocab).beside_quotes + ESCAPE


@lru_cache(maxsize=4)
def _longest_first(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Ids, those with the most characters first, and the negative numbers of these."""
    characters = np.array(sizes_of(vocab).characters, np.int64)
    ids = np.argsort(-characters, kind="stable")
    return ids, -characters[ids]


class Lengths:
    """The masked positions of a row whose states do not count characters."""

    def __init__(self, tokens: Sequence[int], vocab: Vocabulary, before: int, is_plain: bool, least: int):
        """`least`: of the maxLengths."""
        self._vocab, self._least = vocab, least
        self._stretches = stretches(tokens, vocab, before, is_plain)

    def may_refuse(self, position: int) -> bool:
        """Are there tokens for which its string may have no room?"""
        here = self._stretch(position)
        return here is not None and len(self._long(here)) > 0

    def refused(
        self, position: int, allowed: np.ndarray, class_of: np.ndarray, counted: Callable[[int, int], np.ndarray]
    ) -> np.ndarray:
        """`allowed`: the classes at a masked position; `counted`: bool [V], by a position and characters: the tokens that states
        allow there which count as many."""
        here = self._stretch(position)
        if here is None:
            return NO_TOKENS
        ids = self._long(here)
        ids = ids[allowed[class_of[ids]]]
        if not len(ids):
            return NO_TOKENS
        most = here.characters + _slack(self._vocab) + sizes_of(self._vocab).characters[int(ids[0])]
        return np.sort(ids[~counted(position, most)[ids]])

    def _stretch(self, position: int) -> Stretch | None:
        return next((here for here in self._stretches if here.first <= position <= here.last), None)

    def _long(self, here: Stretch) -> np.ndarray:
        """The tokens that may be too long, the longest first."""
        ids, negative = _longest_first(self._vocab)
        room = self._least - here.characters - _slack(self._vocab)
        return ids[: int(np.searchsorted(negative, -room))] if room >= 0 else ids
