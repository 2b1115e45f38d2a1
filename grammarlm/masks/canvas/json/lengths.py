"""Characters of strings, where states do not count them.

Between two known quotes a row has the characters of its given tokens, and masked tokens there can spell control characters, six of
them a character. Where that leaves room below the schema's maxLengths, states need not count: what else a string has can be written
in fewer characters. What remains are single tokens with more characters than there is room for. They are asked of states that
count, and only where their class may stand: few positions of few rows ask for such states, which are many.

    " [150 characters] [masked] "     maxLength 160: tokens of up to 4 characters may stand there if their class may

Most of these stand there in a string of their own, if the masked tokens beside them are its quotes: that is asked first, of states
that do not count.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.vocab.vocabulary import Vocabulary

from .sizes import sizes_of
from .texts import token_of

BETWEEN_QUOTES = re.compile(rb'(?:[^"\\]|\\.)*', re.DOTALL)
BACKSLASH = 92
ESCAPE = 6  # tokens of one byte that spell one character: \u0001
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


class Alone(NamedTuple):
    """What is given around a masked position, to the next quotes: given ones, or masked tokens that are taken for quotes."""

    first: int
    before: list[int]  # tokens from there to the position
    after: list[int]  # and behind it
    characters: int  # of a string that has all of them


def stretches(tokens: Sequence[int], vocab: Vocabulary, before: int) -> list[Stretch]:
    """`before`: characters of a string that precede the row."""
    characters, found = sizes_of(vocab).characters, list[Stretch]()
    here, first, run, is_masked, last_given = before, 0, 0, False, b"\\"
    for at, token in enumerate(tokens):
        if token == MASKED:
            run, is_masked, last_given = run + 1, True, b"\\"
            continue
        here, run = here + _fewest(run, vocab), 0
        text = vocab.token_bytes(token)
        quotes = _known_quotes(text, last_given)
        if not quotes:
            here += characters[token]
        else:
            found.append(Stretch(first, at, here + quotes[0], is_masked))
            here, first, is_masked = len(text) - quotes[-1] - 1, at, False
        last_given = text[-1:] or last_given
    return [*found, Stretch(first, len(tokens), here + _fewest(run, vocab), is_masked)]


def _fewest(masked: int, vocab: Vocabulary) -> int:
    """The characters that so many masked tokens come to at least."""
    return masked // ESCAPE + min(masked, ESCAPE - 1) if sizes_of(vocab).has_escapes else masked


def _known_quotes(text: bytes, before: bytes) -> list[int]:
    """The places of quotes that are not escaped, whatever stands before the token."""
    return (
        [at for at in range(len(text)) if text[at] == 34 and (text[at - 1 : at] if at else before) != b"\\"]
        if 34 in text
        else []
    )


def fewest_characters(tokens: Sequence[int], vocab: Vocabulary, before: int) -> int:
    """A bound of the characters that some string of the row must have."""
    more = _slack(vocab)
    return max(here.characters + (more if here.is_masked else 0) for here in stretches(tokens, vocab, before))


def _slack(vocab: Vocabulary) -> int:
    """What the tokens at the ends of a run of masked ones can add."""
    return 2 * sizes_of(vocab).beside_quotes + ESCAPE


@lru_cache(maxsize=4)
def _characters(vocab: Vocabulary) -> np.ndarray:
    """int64 [V]: as `sizes_of` has them."""
    return np.array(sizes_of(vocab).characters, np.int64)


@lru_cache(maxsize=4)
def _longest_first(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Ids, those with the most characters first, and the negative numbers of these."""
    characters = _characters(vocab)
    ids = np.argsort(-characters, kind="stable")
    return ids, -characters[ids]


@lru_cache(maxsize=4)
def _may_escape(vocab: Vocabulary) -> np.ndarray:
    """bool [V]: may a quote right behind the token be escaped?"""
    found = np.zeros(vocab.size, bool)
    found[vocab.text_ids] = vocab.data[vocab.offsets[vocab.text_ids + 1] - 1] == BACKSLASH
    return found


class Lengths:
    """The masked positions of a row whose states do not count characters."""

    def __init__(self, tokens: Sequence[int], vocab: Vocabulary, before: int, least: int):
        """`least`: of the maxLengths."""
        self._tokens, self._vocab, self._before, self._least = tokens, vocab, before, least
        self._stretches = stretches(tokens, vocab, before)
        self._lasts = [here.last for here in self._stretches]
        self._counts: dict[int, int] = {}  # by the characters of a stretch, of tokens that may be too long

    def may_refuse(self, position: int) -> bool:
        """Are there tokens for which its string may have no room?"""
        here = self._stretch(position)
        return here is not None and self._count_of_long(here) > 0

    def refused(
        self,
        position: int,
        allowed: np.ndarray,
        class_of: np.ndarray,
        lead: Callable[[int, list[int], np.ndarray, list[int]], np.ndarray],
        counted: Callable[[int, np.ndarray, int], np.ndarray],
    ) -> np.ndarray:
        """`allowed`: the classes at a masked position; `lead`: bool, which
        of some tokens lead on between others that stand from a position on; `counted`: bool, which of some tokens states allow at
        a position that count so many characters."""
        here = self._stretch(position)
        if here is None:
            return NO_TOKENS
        ids = self._long(here)
        ids = ids[allowed[class_of[ids]]]
        ids = self._not_alone(position, ids, lead) if len(ids) else ids
        if not len(ids):
            return NO_TOKENS
        most = here.characters + _slack(self._vocab) + sizes_of(self._vocab).characters[int(ids[0])]
        return np.sort(ids[~counted(position, ids, most)])

    def _not_alone(
        self, position: int, ids: np.ndarray, lead: Callable[[int, list[int], np.ndarray, list[int]], np.ndarray]
    ) -> np.ndarray:
        """Of some tokens those that are too long for a string of their own, or can't stand in one."""
        here = self._alone(position)
        if here is None:
            return ids
        characters = _characters(self._vocab)[ids]
        is_short = (characters + here.characters <= self._least) & ~_may_escape(self._vocab)[ids]
        short = ids[is_short]
        if not len(short):
            return ids
        return np.concatenate([ids[~is_short], short[~lead(here.first, here.before, short, here.after)]])

    def _alone(self, position: int) -> Alone | None:
        """None where there is no token for a quote."""
        tokens, characters, quote = self._tokens, sizes_of(self._vocab).characters, token_of(self._vocab, b'"')
        if quote is None:
            return None
        count, before, after, first, behind = 0, list[int](), list[int](), position, position + 1
        while first > 0:
            first -= 1
            before.append(quote if tokens[first] == MASKED else tokens[first])
            if tokens[first] == MASKED:
                break
            text = self._vocab.token_bytes(tokens[first])
            quotes = _known_quotes(text, self._last_byte(first - 1))
            if quotes:
                count += len(text) - quotes[-1] - 1
                break
            count += characters[tokens[first]]
        else:
            count += self._before
        while behind < len(tokens):
            after.append(quote if tokens[behind] == MASKED else tokens[behind])
            if tokens[behind] == MASKED:
                break
            text = self._vocab.token_bytes(tokens[behind])
            quotes = _known_quotes(text, b"" if behind == position + 1 else self._last_byte(behind - 1))
            if quotes:
                count += quotes[0]
                break
            count += characters[tokens[behind]]
            behind += 1
        return Alone(first, before[::-1], after, count)

    def _last_byte(self, position: int) -> bytes:
        """Of a given token; a backslash where it is not known."""
        if position < 0 or self._tokens[position] == MASKED:
            return b"\\"
        return self._vocab.token_bytes(self._tokens[position])[-1:] or b"\\"

    def _stretch(self, position: int) -> Stretch | None:
        at = bisect_left(self._lasts, position)
        here = self._stretches[at] if at < len(self._stretches) else None
        return here if here is not None and here.first <= position else None

    def _long(self, here: Stretch) -> np.ndarray:
        """The tokens that may be too long, the longest first."""
        return _longest_first(self._vocab)[0][: self._count_of_long(here)]

    def _count_of_long(self, here: Stretch) -> int:
        known = self._counts.get(here.characters)
        if known is None:
            ids, negative = _longest_first(self._vocab)
            room = self._least - here.characters - _slack(self._vocab)
            known = int(np.searchsorted(negative, -room)) if room >= 0 else len(ids)
            self._counts[here.characters] = known
        return known
