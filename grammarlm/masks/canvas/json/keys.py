"""Keys that the given tokens of a row spell out, and the tokens that would spell one of them again.

A key is **tight** where all its bytes are given. Two equal keys of one object need not meet as long as one of them has a masked
token that can be another; so only tight keys, and single tokens that would make one more of them, are looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from grammarlm.vocab.vocabulary import Vocabulary

KEY = re.compile(rb'"((?:[^"\\\x00-\x1f]|\\.)*)"[ \t\r\n]*(?::|$)', re.S)
OPEN_KEY = re.compile(rb'"((?:[^"\\])*)$')  # to the end of what is given before a masked token
REST_OF_KEY = re.compile(rb'([^"\\]*)"[ \t\r\n]*(?::|$)')  # and from the beginning of what is given after it


def runs_of(tokens: Sequence[int], vocab: Vocabulary, stops: frozenset[int]) -> list[bytes]:
    """The bytes of each run of given tokens; between two of them tokens are masked."""
    runs, here = [], bytearray()
    for token in tokens:
        if token in stops:
            break
        if token < 0:
            runs.append(bytes(here))
            here = bytearray()
        else:
            here += vocab.token_bytes(token)
    return [*runs, bytes(here)]


def tight_keys(runs: Sequence[bytes]) -> list[bytes]:
    """What may be a key in some run, decoded; each as often as it is there. A quote may open or close: both are tried, but one that
    opens a key is the first of the run, or comes after `{` or `,`."""
    found = []
    for run in runs:
        at = run.find(b'"')
        while at >= 0:
            before = run[:at].rstrip(b" \t\r\n")[-1:]
            if before in (b"", b"{", b",") and (match := KEY.match(run, at)) and (key := decoded(match[1])) is not None:
                found.append(key)
            at = run.find(b'"', at + 1)
    return found


def decoded(body: bytes) -> bytes | None:
    """The text of a JSON string's body; None where it is none."""
    try:
        text: str = json.loads(b'"' + body + b'"', strict=True)
        return text.encode()
    except (ValueError, UnicodeEncodeError):
        return None


class SpellingTokens:
    """The tokens of a vocabulary by what they can add to a key."""

    def __init__(self, vocab: Vocabulary):
        self._by_bytes: dict[bytes, list[int]] = {}
        self._opening: dict[bytes, list[int]] = {}  # by what follows their last quote
        self._closing: dict[bytes, list[int]] = {}  # by what precedes their first quote
        self._whole: dict[bytes, list[int]] = {}  # by a key that they have from quote to quote
        for token in range(vocab.size):
            spelled = vocab.token_bytes(token)
            if not spelled:
                continue
            self._by_bytes.setdefault(spelled, []).append(token)
            if b'"' in spelled:
                self._opening.setdefault(spelled.rpartition(b'"')[2], []).append(token)
                self._closing.setdefault(spelled.partition(b'"')[0], []).append(token)
                for match in re.finditer(rb'(?="([^"\\]*)")', spelled):
                    self._whole.setdefault(match[1], []).append(token)

    def is_token(self, spelled: bytes) -> bool:
        return spelled in self._by_bytes

    def of(self, key: bytes, before: bytes, after: bytes) -> set[int]:
        """The tokens with which a masked token between these bytes would make the key."""
        found = set(self._whole.get(key, ()))
        opened, rest = OPEN_KEY.search(before), REST_OF_KEY.match(after)
        begun = opened[1] if opened and key.startswith(opened[1]) else None
        end = rest[1] if rest and key.endswith(rest[1]) else None
        if begun is not None:
            found.update(self._closing.get(key[len(begun) :], ()))
        if end is not None:
            found.update(self._opening.get(key[: len(key) - len(end)], ()))
        if begun is not None and end is not None and len(begun) + len(end) < len(key):
            found.update(self._by_bytes.get(key[len(begun) : len(key) - len(end)], ()))
        return found


@lru_cache(maxsize=4)
def spelling_tokens(vocab: Vocabulary) -> SpellingTokens:
    return SpellingTokens(vocab)
