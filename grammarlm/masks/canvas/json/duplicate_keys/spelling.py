"""The tokens of a vocabulary that spell a key, with the given tokens beside them. A key has one spelling, so equal keys have equal
bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from grammarlm.masks.canvas.json.texts import QUOTE, ids_by_text, texts_of, tokens_with
from grammarlm.vocab.vocabulary import Vocabulary

from .spans import BEFORE_KEYS, BLANKS, BODY, OPEN_KEY, TO_QUOTE

KEY_INSIDE = re.compile(rb'(?="(' + BODY + rb')"[ \t\r\n]*(?::|$))', re.S)
# The end of a key, and the beginning of another.
TWO_KEYS = re.compile(rb'[^"]"[ \t\r\n]*:.*,[ \t\r\n]*"[^"]*\Z', re.DOTALL)
MOST_KNOWN = 1 << 13  # pairs of a beginning and an end
Groups = list[list[int]]


class SpellingTokens:
    """The tokens of a vocabulary by what they can add to a key."""

    def __init__(self, vocab: Vocabulary):
        texts = texts_of(vocab)
        self._alone = ids_by_text(vocab)  # the first token that is this
        self._by_bytes: dict[bytes, list[int]] = {}  # where several are the same: all
        self._opening: dict[bytes, list[int]] = {}  # by what follows their last quote
        self._closing: dict[bytes, list[int]] = {}  # by what precedes their first quote
        self._whole: dict[bytes, list[int]] = {}  # by a key that they have from quote to quote
        self._known: dict[tuple[frozenset[bytes], frozenset[bytes]], tuple[set[bytes], dict[bytes, Groups]]] = {}
        if len(self._alone) < len(vocab.text_ids):
            for token in vocab.text_ids.tolist():
                if (first := self._alone[texts[token]]) != token:
                    self._by_bytes.setdefault(texts[token], [first]).append(token)
        two_keys = []
        for token in tokens_with(vocab, vocab.data == QUOTE).tolist():
            spelled = texts[token]
            if opening := OPEN_KEY.search(spelled):
                self._opening.setdefault(opening[1], []).append(token)
            if closing := TO_QUOTE.match(spelled):
                self._closing.setdefault(closing[1], []).append(token)
            for key in dict.fromkeys(whole_keys(spelled)):
                self._whole.setdefault(key, []).append(token)
            if b":" in spelled and TWO_KEYS.search(spelled):
                two_keys.append(token)
        self.two_keys = np.array(two_keys, np.int64)

    def of(
        self, keys: frozenset[bytes], begins: frozenset[bytes], ends: frozenset[bytes]
    ) -> list[tuple[bytes, Groups]]:
        """Of keys those that a masked token can make between one of the beginnings and one of the ends, and the tokens that do: in
        groups that have the key's bytes in the same place. Without those that have no more of it than a quote: there the row has a
        place of the key already."""
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        seen, having = self._known.setdefault((begins, ends), (set(), {}))
        if len(seen) >= MOST_KNOWN:
            seen.clear()
            having.clear()
        for key in keys - seen:
            seen.add(key)
            if groups := self._groups(key, begins, ends):
                having[key] = groups
        if len(having) < len(keys):
            return [(key, groups) for key, groups in having.items() if key in keys]
        return [(key, having[key]) for key in keys if key in having]

    def _groups(self, key: bytes, begins: Collection[bytes], ends: Collection[bytes]) -> Groups:
        rests = [key[len(begun) :] for begun in begins if key.startswith(begun)]
        starts = [key[: len(key) - len(end)] for end in ends if key.endswith(end)]
        inside = [
            key[len(begun) : len(key) - len(end)]
            for begun, end in product(begins, ends)
            if len(begun) + len(end) < len(key) and key.startswith(begun) and key.endswith(end)
        ]
        return [
            *([token] for token in self._whole.get(key, ())),
            *(self._closing[rest] for rest in rests if rest and rest in self._closing),
            *(self._opening[start] for start in starts if start and start in self._opening),
            *(tokens for text in inside if (tokens := self._spelling(text))),
        ]

    def _spelling(self, text: bytes) -> list[int]:
        if text in self._by_bytes:
            return self._by_bytes[text]
        return [self._alone[text]] if text in self._alone else []


def whole_keys(spelled: bytes) -> Iterator[bytes]:
    """What a token may have of keys with both quotes."""
    for match in KEY_INSIDE.finditer(spelled):
        if spelled[: match.start()].rstrip(BLANKS)[-1:] in BEFORE_KEYS:
            yield match[1]


@lru_cache(maxsize=4)
def spelling_tokens(vocab: Vocabulary) -> SpellingTokens:
    return SpellingTokens(vocab)
