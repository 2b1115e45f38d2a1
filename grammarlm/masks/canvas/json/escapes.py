"""Escapes in strings of JSON, as other spellings of characters: what tokens say if each character has one spelling.

    read(b"", rb'a\\u0062c\\')     ->  pieces a, b, c; begun: a backslash
    read(rb"\\u00", rb'62c')       ->  pieces (nothing), b, c

The one spelling is that of json.dumps: the bytes of a character, or the escape that it needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

from .texts import BACKSLASH, ids_by_text, texts_of, tokens_with

HIGH = rb"[dD][89abAB][0-9a-fA-F]{2}"  # the first half of a surrogate pair
LOW = rb"[dD](?:[c-fC-F][0-9a-fA-F]{0,%d})?"
ESCAPE = re.compile(
    rb'\\(?:(["\\/bfnrt])|u(?:(' + HIGH + rb")\\u([dD][c-fC-F][0-9a-fA-F]{2})|((?![dD][89a-fA-F])[0-9a-fA-F]{4})))"
)
BEGUN = re.compile(rb"\\(?:u(?:(?![dD][c-fC-F])[0-9a-fA-F]{0,3}|" + HIGH + rb"(?:\\(?:u(?:" + LOW % 1 + rb")?)?)?)?)?")
# The first bytes of what goes on within an escape.
MAY_GO_ON = np.frombuffer(b'0123456789abcdefABCDEFnrtu/"\\', np.uint8)
HEX_DIGITS = re.compile(rb"[0-9a-fA-F]+")
DIGITS = 4  # of an escape
PART = np.frombuffer(b"0123456789abcdefABCDEFu\\", np.uint8)  # a token that may be part of an escape with digits
SHORT = {b'"': 34, b"\\": 92, b"/": 47, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9}
SHORT_OF = {point: letter for letter, point in SHORT.items()}
FIRST_HIGH, FIRST_LOW, BEHIND_LOW, ASTRAL, LAST_POINT = 0xD800, 0xDC00, 0xE000, 0x10000, 0x10FFFF
MOST_SPELLED = 1 << 14
Tokens = tuple[int, ...]


class Reading(NamedTuple):
    """What a text says within a string."""

    pieces: tuple[bytes, ...]  # those at odd places are characters whose escape was another spelling
    begun: bytes  # of an escape that has not ended


@lru_cache(maxsize=1024)
def spelling_of(point: int) -> bytes:
    """The one spelling of a character."""
    return json.dumps(chr(point), ensure_ascii=False)[1:-1].encode()


def read(begun: bytes, text: bytes) -> Reading | None:
    """A text after an escape that has begun (its character is a piece in any case); None where no escape goes on like that."""
    data, at, pieces, here = begun + text, 0, list[bytes](), b""
    is_begun = bool(begun)
    while (start := data.find(b"\\", at)) >= 0:
        here += data[at:start]
        found = ESCAPE.match(data, start)
        if found is None:
            is_part = BEGUN.fullmatch(data, start) is not None
            return Reading((*pieces, here), data[start:]) if is_part else None
        plain = spelling_of(point_of(found))
        if plain == found.group() and not is_begun:
            here += plain
        else:
            pieces += [here, plain]
            here = b""
        is_begun, at = False, found.end()
    return Reading((*pieces, here + data[at:]), b"")


def point_of(escape: re.Match[bytes]) -> int:
    short, high, low, digits = escape.groups()
    if short:
        return SHORT[short]
    if digits:
        return int(digits, 16)
    return ASTRAL + (int(high, 16) - FIRST_HIGH << 10) + int(low, 16) - FIRST_LOW


def is_half(point: int) -> bool:
    """Is it half a surrogate pair?"""
    return FIRST_HIGH <= point < BEHIND_LOW


def points_after(begun: bytes) -> list[range]:
    """The characters whose escapes begin like this."""
    digits = begun[2:]
    if len(digits) >= 4:
        first, last = _ends(digits[6:])
        lows = range(max(first, FIRST_LOW), min(last, BEHIND_LOW))
        before = ASTRAL + (int(digits[:4], 16) - FIRST_HIGH << 10) - FIRST_LOW
        return [range(before + lows.start, before + lows.stop)]
    first, last = _ends(digits)
    highs = range(max(first, FIRST_HIGH), min(last, FIRST_LOW))
    pairs = range(ASTRAL + (highs.start - FIRST_HIGH << 10), ASTRAL + (highs.stop - FIRST_HIGH << 10))
    return [range(first, min(last, FIRST_HIGH)), range(max(first, BEHIND_LOW), last), *([pairs] if highs else [])]


def _ends(digits: bytes) -> tuple[int, int]:
    """The numbers of four hexadecimal digits that begin like this."""
    rest = 4 - len(digits)
    first = int(digits or b"0", 16) << 4 * rest
    return first, first + (1 << 4 * rest)


class Entry(NamedTuple):
    """A token that says something else than its bytes."""

    token: int
    pieces: tuple[bytes, ...]
    begun: bytes


class Ended(NamedTuple):
    """Tokens that end an escape with the same character, and go on in the one spelling."""

    character: bytes
    tokens: np.ndarray  # int64
    rest: np.ndarray  # int64: the tokens that spell what follows the character; -1: nothing does


class Group(NamedTuple):
    """Tokens that end within the same part of an escape, or within none."""

    begun: bytes
    entries: tuple[Entry, ...]
    tokens: np.ndarray  # int64
    before: np.ndarray  # int64: the token that spells what precedes that escape, where no other does; -1: there is none


class After(NamedTuple):
    """The tokens behind an escape that has begun."""

    ended: tuple[Ended, ...]
    others: tuple[Group, ...]


class EscapeTokens:
    """The tokens of a vocabulary as they read escapes."""

    def __init__(self, vocab: Vocabulary):
        self._texts, self.of_text = texts_of(vocab), ids_by_text(vocab)
        self._longest = max(map(len, self.of_text), default=0)
        self._with_backslash = tokens_with(vocab, vocab.data == BACKSLASH)
        self.has_backslash = np.zeros(vocab.size, bool)
        self.has_backslash[self._with_backslash] = True
        self._going_on = vocab.text_ids[np.isin(vocab.data[vocab.offsets[vocab.text_ids]], MAY_GO_ON)]
        others = tokens_with(vocab, ~np.isin(vocab.data, PART))
        parts = np.setdiff1d(vocab.text_ids, others, assume_unique=True)
        self._parts = {self._texts[i].lower(): i for i in parts[::-1].tolist()}
        self._after: dict[bytes, After] = {}
        self._ways: dict[tuple[bytes, int], dict[int, Tokens]] = {}
        self._spelled: dict[bytes, Tokens | None] = {}

    def are_in(self, row: list[int]) -> bool:
        """Has a row, -1 where a token is missing, backslashes?"""
        return bool(self.has_backslash[[token for token in row if token >= 0]].any())

    def after(self, begun: bytes) -> After:
        """Those with escapes of characters that need none, or that end within an escape; all where one has begun."""
        if begun not in self._after:
            self._after[begun] = self._read_all(begun)
        return self._after[begun]

    def _read_all(self, begun: bytes) -> After:
        ended: dict[bytes, list[tuple[int, int]]] = {}
        others: dict[bytes, list[Entry]] = {}
        for i in (self._going_on if begun else self._with_backslash).tolist():
            found = read(begun, self._texts[i])
            if found is None or (len(found.pieces) == 1 and not found.begun):
                continue
            rest = -1 if not found.pieces[-1] else self.of_text.get(found.pieces[-1])
            if begun and len(found.pieces) == 3 and not found.begun and rest is not None:
                ended.setdefault(found.pieces[1], []).append((i, rest))
            else:
                others.setdefault(found.begun, []).append(Entry(i, *found))
        columns = ((character, np.array(pairs, np.int64).T) for character, pairs in ended.items())
        return After(
            tuple(Ended(character, *pair) for character, pair in columns),
            tuple(self._group(*group) for group in others.items()),
        )

    def _group(self, begun: bytes, entries: list[Entry]) -> Group:
        before = [self.of_text.get(entry.pieces[0], -1) if len(entry.pieces) == 1 else -1 for entry in entries]
        return Group(begun, tuple(entries), np.array([entry.token for entry in entries]), np.array(before))

    def spelled(self, text: bytes) -> Tokens | None:
        """Tokens that spell a text, few of them; None where there are none."""
        if text not in self._spelled:
            if len(self._spelled) >= MOST_SPELLED:
                self._spelled.clear()
            self._spelled[text] = self._fewest(text)
        return self._spelled[text]

    def _fewest(self, text: bytes) -> Tokens | None:
        best: list[Tokens | None] = [(), *[None] * len(text)]
        for end in range(1, len(text) + 1):
            for start in range(max(0, end - self._longest), end):
                before, last = best[start], self.of_text.get(text[start:end])
                if (
                    before is not None
                    and last is not None
                    and (best[end] is None or len(before) + 1 < len(best[end] or ()))
                ):
                    best[end] = (*before, last)
        return best[-1]

    def ways(self, begun: bytes, point: int) -> dict[int, Tokens]:
        """Tokens that end an escape, by their number."""
        known = self._ways.get((begun, point))
        if known is None:
            known = {}
            for rest in _rests(begun, point):
                known |= self.parted(rest)
            short = SHORT_OF.get(point) if begun == b"\\" else None
            if short is not None and short in self.of_text:
                known[1] = (self.of_text[short],)
            self._ways[begun, point] = known
        return known

    def parted(self, rest: bytes) -> dict[int, Tokens]:
        """Digits and what is between them, in either case, as so many tokens."""
        found: list[dict[int, Tokens]] = [{0: ()}, *({} for _ in rest)]
        for end in range(1, len(rest) + 1):
            for start in range(end):
                last = self._parts.get(rest[start:end])
                if last is not None:
                    found[end] |= {count + 1: (*before, last) for count, before in found[start].items()}
        return found[-1]


def _rests(begun: bytes, point: int) -> Iterable[bytes]:
    """What is left of the escape with digits, if it begins like this."""
    if point < ASTRAL:
        escape = b"\\u%04x" % point
    else:
        high, low = divmod(point - ASTRAL, 1 << 10)
        escape = b"\\u%04x\\u%04x" % (FIRST_HIGH + high, FIRST_LOW + low)
    return [escape[len(begun) :]] if escape.startswith(begun.lower()) else []


@lru_cache(maxsize=4)
def escape_tokens(vocab: Vocabulary) -> EscapeTokens:
    return EscapeTokens(vocab)
