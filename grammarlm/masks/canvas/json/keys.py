"""Keys that the given tokens of a row spell out, and the tokens that would spell one of them again.

A key is **tight** where all its bytes are given. Two equal keys of one object need not meet as long as one of them has a masked
token that can be another; so only tight keys, and single tokens that would make one more of them, are looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

from .spans import BEFORE_KEYS, BLANKS, ESCAPED_FROM_QUOTE, ESCAPED_TO_QUOTE, Run
from .texts import BACKSLASH, QUOTE, decoded, ids_by_text, texts_of, tokens_with

KEY = re.compile(rb'"((?:[^"\\\x00-\x1f]|\\.)*)"[ \t\r\n]*(?::|$)', re.S)
REST = re.compile(rb'((?:[^"\\\x00-\x1f]|\\.)*)"[ \t\r\n]*(?::|$)', re.S)
BEGUN = re.compile(rb'"((?:[^"\\\x00-\x1f]|\\.)*)$', re.S)
WHOLE = re.compile(rb'(?:[^"\\\x00-\x1f]|\\.)+', re.S)
KEY_INSIDE = re.compile(rb'(?="([^"\\]*)"[ \t\r\n]*(?::|$))')
MOST_KNOWN = 1 << 13  # pairs of a beginning and an end
Groups = list[list[int]]


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


def escaped_twice(runs: Sequence[bytes], had: Iterable[bytes] = ()) -> set[bytes]:
    """Those that are there twice, once with escapes. `had`: keys that precede the row."""
    if not any(b"\\" in run for run in runs):
        return set()
    spelled = perhaps_keys_of(runs)
    counts = Counter([*(key for key, _ in spelled), *had])
    return {key for key, body in spelled if key != body and counts[key] > 1}


def perhaps_keys_of(runs: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """As spelled_keys_of, and where a quote may be the end of a masked token before, or the beginning of one behind: one that is
    alone between given ones, since others leave it some choice."""
    found, last = spelled_keys_of(runs), len(runs) - 1
    for number, run in enumerate(runs):
        bodies = list[bytes]()
        is_left = number > 0 and (number == 1 or bool(runs[number - 1]))
        is_right = number < last and (number == last - 1 or bool(runs[number + 1]))
        if is_left and (match := REST.match(run)):
            bodies.append(match[1])
        if is_right:
            bodies += [m[1] for m in BEGUN.finditer(run) if run[: m.start()].rstrip(BLANKS)[-1:] in BEFORE_KEYS]
        if is_left and is_right and WHOLE.fullmatch(run):
            bodies.append(run)
        found += [(key, body) for body in bodies if (key := decoded(body)) is not None]
    return found


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


# The end of a key, and the beginning of another.
TWO_KEYS = re.compile(rb'[^"]"[ \t\r\n]*:.*,[ \t\r\n]*"[^"]*\Z', re.DOTALL)


class SpellingTokens:
    """The tokens of a vocabulary by what they can add to a key. Those with escapes stand apart, by the text that they mean."""

    def __init__(self, vocab: Vocabulary):
        texts, ids = texts_of(vocab), ids_by_text(vocab)
        self._plain, self._escaped = Parts(ids), Parts()
        if len(ids) < len(vocab.text_ids):
            for token in vocab.text_ids.tolist():
                if (first := ids[texts[token]]) != token:
                    self._plain.by_bytes.setdefault(texts[token], [first]).append(token)
        two_keys = []
        for token in tokens_with(vocab, vocab.data == QUOTE).tolist():
            spelled = texts[token]
            self._plain.opening.setdefault(spelled.rpartition(b'"')[2], []).append(token)
            self._plain.closing.setdefault(spelled.partition(b'"')[0], []).append(token)
            for key in dict.fromkeys(whole_keys(spelled)):
                self._plain.whole.setdefault(key, []).append(token)
            if b":" in spelled and TWO_KEYS.search(spelled):
                two_keys.append(token)
        for token in tokens_with(vocab, vocab.data == BACKSLASH).tolist():
            self._add_escaped(token, texts[token])
        self.two_keys = np.array(two_keys, np.int64)

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
        return spelled in self._plain.alone

    def of(
        self, keys: frozenset[bytes], begins: frozenset[bytes], ends: frozenset[bytes]
    ) -> list[tuple[bytes, Groups]]:
        """Of keys those that a masked token can make between one of the beginnings and one of the ends, without escapes, and the
        tokens that do: in groups that have the key's bytes in the same place. Without those that have no more of it than a quote:
        there the row has a place of the key already."""
        return self._plain.found(keys, begins, ends, with_quotes=False)

    def with_escapes(
        self, keys: frozenset[bytes], escaped: frozenset[bytes], before: Run, after: Run
    ) -> dict[bytes, set[int]]:
        """By key, those with which it would be the key, where an escape is in the place or, of the keys `escaped`, in the key's
        other one. A masked token beside the place may be its quote."""
        edges = before.begins | before.escaped_begins, after.ends | after.escaped_ends
        has_escape = b"\\" in (before.begun_key or b"") + (after.rest_of_key or b"")
        found: dict[bytes, set[int]] = {}
        for parts, asked in ((self._escaped, keys), (self._plain, keys if has_escape else escaped)):
            for key, groups in parts.found(asked, *edges) if asked else ():
                found.setdefault(key, set()).update(*groups)
        return found


def whole_keys(spelled: bytes) -> Iterator[bytes]:
    """What a token may have of keys with both quotes."""
    for match in KEY_INSIDE.finditer(spelled):
        if spelled[: match.start()].rstrip(BLANKS)[-1:] in BEFORE_KEYS:
            yield match[1]


@dataclass
class Parts:
    """Tokens by what they have of a key."""

    alone: dict[bytes, int] = field(default_factory=dict)  # the first token that is this
    by_bytes: dict[bytes, list[int]] = field(default_factory=dict)  # others, and where several are the same: all
    opening: dict[bytes, list[int]] = field(default_factory=dict)  # by what follows their last quote
    closing: dict[bytes, list[int]] = field(default_factory=dict)  # by what precedes their first quote
    whole: dict[bytes, list[int]] = field(default_factory=dict)  # by a key that they have from quote to quote
    _known: dict[tuple[frozenset[bytes], frozenset[bytes], bool], tuple[set[bytes], dict[bytes, Groups]]] = field(
        default_factory=dict
    )

    def found(
        self, keys: frozenset[bytes], begins: frozenset[bytes], ends: frozenset[bytes], with_quotes: bool = True
    ) -> list[tuple[bytes, Groups]]:
        """The keys that some tokens make of one of the beginnings before them and one of the ends behind, and these tokens.
        `with_quotes`: those, too, that have nothing but a quote of it."""
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        seen, having = self._known.setdefault((begins, ends, with_quotes), (set(), {}))
        if len(seen) >= MOST_KNOWN:
            seen.clear()
            having.clear()
        for key in keys - seen:
            seen.add(key)
            if groups := self.groups(key, begins, ends, with_quotes):
                having[key] = groups
        if len(having) < len(keys):
            return [(key, groups) for key, groups in having.items() if key in keys]
        return [(key, having[key]) for key in keys if key in having]

    def groups(self, key: bytes, begins: Collection[bytes], ends: Collection[bytes], with_quotes: bool) -> Groups:
        rests = [key[len(begun) :] for begun in begins if key.startswith(begun)]
        starts = [key[: len(key) - len(end)] for end in ends if key.endswith(end)]
        inside = [
            key[len(begun) : len(key) - len(end)]
            for begun, end in product(begins, ends)
            if len(begun) + len(end) < len(key) and key.startswith(begun) and key.endswith(end)
        ]
        return [
            *([token] for token in self.whole.get(key, ())),
            *(self.closing[rest] for rest in rests if rest in self.closing and (rest or with_quotes)),
            *(self.opening[start] for start in starts if start in self.opening and (start or with_quotes)),
            *(tokens for text in inside if (tokens := self._spelling(text))),
        ]

    def _spelling(self, text: bytes) -> list[int]:
        if text in self.by_bytes:
            return self.by_bytes[text]
        return [self.alone[text]] if text in self.alone else []


@lru_cache(maxsize=4)
def spelling_tokens(vocab: Vocabulary) -> SpellingTokens:
    return SpellingTokens(vocab)
