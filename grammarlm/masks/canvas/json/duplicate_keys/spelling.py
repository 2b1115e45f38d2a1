"""The tokens of a vocabulary that may spell a key of a row again, with the given tokens beside them. A key has one spelling, so
equal keys have equal bytes."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from grammarlm.masks.canvas.json.texts import QUOTE, texts_of, tokens_with
from grammarlm.vocab.vocabulary import Vocabulary

# The end of a key, and the beginning of another.
TWO_KEYS = re.compile(rb'[^"]"[ \t\r\n]*:.*,[ \t\r\n]*"[^"]*\Z', re.DOTALL)


@lru_cache(maxsize=1 << 10)
def spelling_tokens(vocab: Vocabulary, keys: frozenset[bytes], left: bytes, right: bytes) -> np.ndarray:
    """int64, sorted: those that have one of the keys from quote to quote, in part, between these texts; or two keys, which may be
    equal."""
    whole = re.compile(b"|".join(b'(?=("%s"))' % re.escape(key) for key in sorted(keys)))
    found = [
        token for token, text in quoted(vocab) if has_one(whole, left, text, right) or (right and TWO_KEYS.search(text))
    ]
    return np.union1d(found, tokens_inside(vocab, keys, left, right)).astype(np.int64)


def tokens_inside(vocab: Vocabulary, keys: frozenset[bytes], left: bytes, right: bytes) -> np.ndarray:
    """int64: those of them that are inside one of the keys, or one of its ends."""
    inside = {part for key in keys for part in parts_between(b'"%s"' % key, left, right)}
    return np.array([token for part in inside for token in spelled_so(vocab, part)], np.int64)


def has_one(whole: re.Pattern[bytes], left: bytes, text: bytes, right: bytes) -> bool:
    """Has some key a byte within the text?"""
    first, end = len(left), len(left) + len(text)
    for match in whole.finditer(left + text + right):
        if match.start() < end and match.start() + max(len(group or b"") for group in match.groups()) > first:
            return True
    return False


def parts_between(key: bytes, left: bytes, right: bytes) -> set[bytes]:
    """What is missing of a key, quotes included, between its beginning at the end of `left` and its end at the beginning of
    `right`."""
    begins = [i for i in range(1, len(key)) if left.endswith(key[:i])]
    ends = [i for i in range(1, len(key)) if right.startswith(key[i:])]
    return {key[begin:end] for begin in begins for end in ends if begin < end}


@lru_cache(maxsize=4)
def quoted(vocab: Vocabulary) -> list[tuple[int, bytes]]:
    """The tokens with a quote, and their texts."""
    texts = texts_of(vocab)
    return [(token, texts[token]) for token in tokens_with(vocab, vocab.data == QUOTE).tolist()]


@lru_cache(maxsize=1 << 10)
def spelled_so(vocab: Vocabulary, text: bytes) -> list[int]:
    """All tokens of text with these bytes."""
    texts, ids = texts_of(vocab), vocab.text_ids
    long_enough = ids[np.diff(vocab.offsets)[ids] == len(text)]
    return [token for token in long_enough.tolist() if texts[token] == text]
