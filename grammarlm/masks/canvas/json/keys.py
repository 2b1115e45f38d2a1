"""Keys that the given tokens of a row spell out, and the tokens that would spell one of them again.

A key is **tight** where all its bytes are given. Two equal keys of one object need not meet as long as one of them has a masked
token that can be another; so only tight keys, and single tokens that would make one more of them, are looked at.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from grammarlm.vocab.vocabulary import Vocabulary

from .spans import BEFORE_KEYS, BLANKS, Run
from .texts import texts_of

KEY = re.compile(rb'"((?:[^"\\\x00-\x1f]|\\.)*)"[ \t\r\n]*(?::|$)', re.S)
OPEN_KEY = re.compile(rb'"((?:[^"\\])*)$')  # to the end of what is given before a masked token
ESCAPED_FROM_QUOTE = re.compile(rb'"((?:[^"\\]|\\.)*)$', re.S)
ESCAPED_TO_QUOTE = re.compile(rb'((?:[^"\\]|\\.)*)"', re.S)
INSIDE = re.compile(rb'[^"\\]*')
KEY_INSIDE = re.compile(rb'(?="([^"\\]*)"[ \t\r\n]*(?::|$))')
MOST_KNOWN = 1 << 15
REST_OF_KEY = re.compile(rb'([^"\\]*)"[ \t\r\n]*(?::|$)')  # and from the beginning of what is given after it


def runs_of(tokens: Sequence[int], vocab: Vocabulary, stops: frozenset[int]) -> list[bytes]:
    """The bytes of each run of given tokens; between two of them tokens are masked."""
    texts, runs, here = texts_of(vocab), list[bytes](), list[bytes]()
    for token in tokens:
        if token < 0:
            runs.append(b"".join(here))
            here = []
        elif token in stops:
            break
        else:
            here.append(texts[token])
    return [*runs, b"".join(here)]


def tight_keys(runs: Sequence[bytes]) -> list[bytes]:
    """What may be a key in some run, decoded; each as often as it is there. A quote may open or close: both are tried, but one that
    opens a key is the first of the run, or comes after `{` or `,`."""
    return [key for key, _ in spelled_keys_of(runs)]


def escaped_twice(runs: Sequence[bytes]) -> set[bytes]:
    """Those that are there twice, once with escapes."""
    spelled = spelled_keys_of(runs)
    counts = Counter(key for key, _ in spelled)
    return {key for key, body in spelled if key != body and counts[key] > 1}


def spelled_keys_of(runs: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """(decoded, as it is spelled)."""
    found = []
    for run in runs:
        at = run.find(b'"')
        while at >= 0:
            before = run[:at].rstrip(b" \t\r\n")[-1:]
            if before in (b"", b"{", b",") and (match := KEY.match(run, at)) and (key := decoded(match[1])) is not None:
                found.append((key, match[1]))
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
    """The tokens of a vocabulary by what they can add to a key. Those with escapes stand apart, by the text that they mean."""

    def __init__(self, vocab: Vocabulary):
        self._plain, self._escaped = Parts(), Parts()
        self._known: dict[tuple[bytes, frozenset[bytes], frozenset[bytes]], list[list[int]]] = {}
        for token, spelled in enumerate(texts_of(vocab)):
            if not spelled:
                continue
            self._plain.by_bytes.setdefault(spelled, []).append(token)
            if b'"' in spelled:
                self._plain.opening.setdefault(spelled.rpartition(b'"')[2], []).append(token)
                self._plain.closing.setdefault(spelled.partition(b'"')[0], []).append(token)
                for key in dict.fromkeys(whole_keys(spelled)):
                    self._plain.whole.setdefault(key, []).append(token)
            if b"\\" in spelled:
                self._add_escaped(token, spelled)

    def _add_escaped(self, token: int, spelled: bytes) -> None:
        parts = self._escaped
        closing, opening = ESCAPED_TO_QUOTE.match(spelled), ESCAPED_FROM_QUOTE.search(spelled)
        for text, found in (
            (spelled, parts.by_bytes),
            (closing[1] if closing else b"", parts.closing),
            (opening[1] if opening else b"", parts.opening),
        ):
            if b"\\" in text and (key := decoded(text)) is not None:
                found.setdefault(key, []).append(token)

    def is_token(self, spelled: bytes) -> bool:
        return spelled in self._plain.by_bytes

    def of(self, key: bytes, begins: frozenset[bytes], ends: frozenset[bytes]) -> list[list[int]]:
        """The tokens with which a masked token would make a place that may be the key's, between one of the beginnings and one of
        the ends, without escapes: in groups that have the key's bytes in the same place."""
        name = key, begins, ends
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            found = self._known[name] = self._plain.groups(key, begins, ends)
        return found

    def with_escapes(
        self, keys: Iterable[tuple[bytes, bool]], before: Run, after: Run, is_loose: bool
    ) -> dict[bytes, set[int]]:
        """By key, those with which it would be the key, where an escape is in the place or, if said so, in the key's other one.
        `is_loose`: a masked token beside the place may be its quote."""
        opened, rest = ESCAPED_FROM_QUOTE.search(before.text), ESCAPED_TO_QUOTE.match(after.text)
        begun, end = decoded(opened[1]) if opened else None, decoded(rest[1]) if rest else None
        begins, ends = {text for text in (begun,) if text is not None}, {text for text in (end,) if text is not None}
        begins, ends = begins | begins_of(before, is_loose), ends | ends_of(after, is_loose)
        has_escape = bool((opened and b"\\" in opened[1]) or (rest and b"\\" in rest[1]))
        found = {}
        for key, is_escaped in keys:
            tokens = self._escaped.of(key, begins, ends)
            if is_escaped or has_escape:
                tokens |= self._plain.of(key, begins, ends)
            if tokens:
                found[key] = tokens
        return found


def whole_keys(spelled: bytes) -> Iterator[bytes]:
    """What a token may have of keys with both quotes."""
    for match in KEY_INSIDE.finditer(spelled):
        if spelled[: match.start()].rstrip(BLANKS)[-1:] in BEFORE_KEYS:
            yield match[1]


@dataclass
class Parts:
    """Tokens by what they have of a key."""

    by_bytes: dict[bytes, list[int]] = field(default_factory=dict)
    opening: dict[bytes, list[int]] = field(default_factory=dict)  # by what follows their last quote
    closing: dict[bytes, list[int]] = field(default_factory=dict)  # by what precedes their first quote
    whole: dict[bytes, list[int]] = field(default_factory=dict)  # by a key that they have from quote to quote

    def of(self, key: bytes, begins: set[bytes], ends: set[bytes]) -> set[int]:
        """Those that make a key of one of the beginnings before them and one of the ends behind."""
        return {token for group in self.groups(key, begins, ends) for token in group}

    def groups(self, key: bytes, begins: Collection[bytes], ends: Collection[bytes]) -> list[list[int]]:
        rests = [key[len(begun) :] for begun in begins if key.startswith(begun)]
        starts = [key[: len(key) - len(end)] for end in ends if key.endswith(end)]
        inside = [
            key[len(begun) : len(key) - len(end)]
            for begun, end in product(begins, ends)
            if len(begun) + len(end) < len(key) and key.startswith(begun) and key.endswith(end)
        ]
        return [
            *([token] for token in self.whole.get(key, ())),
            *(self.closing[rest] for rest in rests if rest in self.closing),
            *(self.opening[start] for start in starts if start in self.opening),
            *(self.by_bytes[text] for text in inside if text in self.by_bytes),
        ]


def begins_of(run: Run, is_loose: bool) -> set[bytes]:
    """What a run may have at its end of a key that goes on behind it. `is_loose`: the quote may be masked."""
    opened = OPEN_KEY.search(run.text)
    found = {opened[1]} if opened else set()
    if (is_loose or run.first == 0) and run.has_left and INSIDE.fullmatch(run.text):
        found.add(run.begun + run.text)
    return found


def ends_of(run: Run, is_loose: bool) -> set[bytes]:
    """What a run may have at its beginning of a key that has begun before it."""
    rest = REST_OF_KEY.match(run.text)
    found = {rest[1]} if rest else set()
    if is_loose and run.has_right and INSIDE.fullmatch(run.text):
        found.add(run.text)
    return found


@lru_cache(maxsize=4)
def spelling_tokens(vocab: Vocabulary) -> SpellingTokens:
    return SpellingTokens(vocab)
