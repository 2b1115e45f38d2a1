"""Tables of strings: the tokens that stay in one, those that close it, and how many characters each begins."""

from __future__ import annotations

import json
import re

import numpy as np

from grammarlm.grammars.json_schema.numbers.rows import digits_ahead
from grammarlm.layout.json import At, Crossing, Kind
from grammarlm.masks.machines.json.rows.template import TEMPLATE_AT
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

from .alphabets import first_backslashes
from .arena import SharedArena
from .remainders import remainder_trie

TWO_KEYS, WHOLE_KEYS = re.compile(rb'"\s*:.*,', re.DOTALL), re.compile(rb'"\s*:.*,\s*".*"', re.DOTALL)
TWO_ITEMS = re.compile(rb'"\s*,.*".*"', re.DOTALL)
# A pair of surrogates, another escape (each may be cut short by the end of the text), the first byte of any other character.
CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,4}|$))?|\\u[0-9a-fA-F]{0,4}|\\.?|[^\\\x80-\xbf]", re.DOTALL
)


class StringTables:
    """The strings of one vocabulary."""

    def __init__(self, shared: SharedArena):
        self._shared = shared
        row = np.zeros(shared.width + 1, np.int32)
        crossed = shared.base_row(-1, int(Kind.STRING) | TEMPLATE_AT["string"] << 11, row)
        closers = shared.take_closers(row, crossed)
        shared.bases[1] = shared.keep(row)
        self._place_closers(crossed[:, Crossing.NODE].tolist(), closers)
        self.characters = self._count_characters(row)
        self._place_counts(closers)
        vocab, is_text = shared.vocab, np.asarray(shared.facts.is_text) != 0
        commas = np.where(is_text, _occurrences(vocab, b","), 0)
        self._find_suspects(np.flatnonzero((commas > 0) & (_occurrences(vocab, b'"') > 0)).tolist())
        arena = shared.arena
        arena[At.MOST_ITEMS] = 1 + int(commas.max(initial=0))
        numbers = np.flatnonzero(is_text & _add_digits(vocab))
        arena[At.DIGITS_MOST], arena[At.DIGITS_AFTER] = digits_ahead(map(shared.spelled, numbers.tolist()))

    def _place_closers(self, crossed: list[int], closers: list[tuple[bytes, int, bytes]]) -> None:
        """The tries of the tokens that close a string, and where they lie in the vocabulary's trie."""
        shared, arena, trie = self._shared, self._shared.arena, self._shared.vocab.trie
        last = len(shared.tries) - 1
        shared.add_trie(1, remainder_trie([(rest, token) for rest, token, _ in closers]))
        shared.add_trie(last, remainder_trie([(text, i) for i, (_, _, text) in enumerate(closers)]))
        nothing = shared.vocab.words * 32
        closing, at = [], 0
        for node in crossed:
            count = int((trie.token[node : trie.end[node]] != nothing).sum())
            closing.append([node, at, count])
            at += count
        escaping = first_backslashes(trie)
        arena[At.CLOSER_TRIE] = last
        arena[At.CLOSING] = shared.keep(np.array(closing, np.int32).reshape(-1, 3))
        arena[At.CLOSING_COUNT] = len(closing)
        arena[At.ESCAPING], arena[At.ESCAPING_COUNT] = shared.keep(escaping), len(escaping)
        arena[At.FILTER] = shared.keep(np.zeros(len(closers) // 32 + 1, np.int32))

    def _place_counts(self, closers: list[tuple[bytes, int, bytes]]) -> None:
        """How many characters of a string tokens begin: those that close it, and rows of the others, made on demand."""
        shared, arena = self._shared, self._shared.arena
        counted = [(token, len(json.loads(b'"' + text + b'"', strict=False))) for _, token, text in closers]
        self.closers = np.array(counted, np.int32).reshape(-1, 2)
        most = max(int(self.characters.max(initial=0)), int(self.closers[:, 1].max(initial=0)))
        self.limited = np.zeros(most + 2, np.int64)
        arena[At.CLOSERS], arena[At.CLOSER_COUNT] = shared.keep(self.closers), len(self.closers)
        arena[At.LIMITED], arena[At.MOST_CHARACTERS] = shared.keep(self.limited), most + 1

    def _find_suspects(self, tokens: list[int]) -> None:
        """Tokens that contain the end of a key or string and then another that may have to differ from it.

        `tokens`: those with a quote and a comma.
        """
        arena = self._shared.arena
        several = {token: text for token in tokens if _holds_several(text := self._shared.spelled(token))}
        whole = [token for token, text in several.items() if TWO_KEYS.search(text) and WHOLE_KEYS.search(text)]
        beginnings = [t for t, text in several.items() if TWO_KEYS.search(text) and not WHOLE_KEYS.search(text)]
        items = [token for token, text in several.items() if TWO_ITEMS.search(text)]
        arena[At.SUSPECTS] = self._shared.keep(np.array([*whole, *beginnings, *items], np.int32))
        arena[At.SUSPECT_COUNT], arena[At.SUSPECT_BEGINNINGS] = len(whole), len(whole) + len(beginnings)
        arena[At.SUSPECT_ITEMS] = len(whole) + len(beginnings) + len(items)

    def _count_characters(self, row: np.ndarray) -> np.ndarray:
        """Of each token that stays in a string: how many characters begin in it; -1 for all others."""
        vocab = self._shared.vocab
        count = len(vocab.offsets) - 1
        bits = np.unpackbits(row[: self._shared.width].view(np.uint8), bitorder="little")[:count].astype(bool)
        begins = np.concatenate([[0], np.cumsum((vocab.data & 0xC0) != 0x80)])
        counts = begins[vocab.offsets[1:]] - begins[vocab.offsets[:-1]]
        escaped = _occurrences(vocab, b"\\") > 0
        for token in np.flatnonzero(bits & escaped).tolist():
            counts[token] = _characters(self._shared.spelled(token))
        return np.where(bits, counts, -1).astype(np.int32)

    def make_limited(self, most: int) -> None:
        """The row of tokens that stay in a string and begin at most `most` characters."""
        if self.limited[most]:
            return
        tokens = np.flatnonzero((self.characters >= 0) & (self.characters <= most))
        self.limited[most] = self._shared.keep(pack_ids(tokens, self._shared.width))


def _occurrences(vocab: Vocabulary, byte: bytes) -> np.ndarray:
    """How often each token contains a byte."""
    before = np.concatenate([[0], np.cumsum(vocab.data == byte[0])])
    return before[vocab.offsets[1:]] - before[vocab.offsets[:-1]]


def _add_digits(vocab: Vocabulary) -> np.ndarray:
    """The tokens that may add digits to a number begun before them, and not the thousands of words with an e."""
    lengths, padded = np.diff(vocab.offsets), np.append(vocab.data, np.zeros(2, np.uint8))
    first, second = padded[vocab.offsets[:-1]], padded[vocab.offsets[:-1] + 1]
    digits, others, signs = (np.frombuffer(text, np.uint8) for text in (b"0123456789", b".eE", b"+-"))
    goes_on = np.isin(second, np.concatenate([digits, others, signs]))
    begins: np.ndarray = np.where(np.isin(first, digits), lengths > 0, (lengths > 1) & np.isin(first, others) & goes_on)
    return begins


def _holds_several(text: bytes) -> bool:
    quote = text.find(b'"')
    return quote >= 0 and text.find(b",", quote) > 0


def _characters(text: bytes) -> int:
    """How many characters of a string begin in a part of it that begins at a character."""
    return len(CHARACTER.findall(text))
