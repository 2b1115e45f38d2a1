"""What the tokens of a vocabulary can add to a number, a gap or a string of JSON: by id, from all bytes at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

from .texts import QUOTE, texts_of, tokens_with

NUMBER, WHITE, BLANK = b"-+.0123456789eE", b" \t\r\n", b" \t"
BEFORE_NUMBER, AFTER_NUMBER = b":,[ \t\r\n", b",]} \t\r\n"
LONGEST_NUMBER = 1 << 20
CONTINUATIONS = bytes(range(0x80, 0xC0))


class Edges(NamedTuple):
    """By id: bytes or blanks at a token's two ends, all of it where it is nothing else. The most of any token."""

    leading: tuple[int, ...]
    trailing: tuple[int, ...]
    is_whole: tuple[bool, ...]
    most: int


class NumberEdges(NamedTuple):
    """By id."""

    leading: tuple[int, ...]  # bytes of a number that ends in the token
    ends: tuple[bool, ...]  # can one that has begun before?
    trailing: tuple[int, ...]  # of one that begins there
    is_whole: tuple[bool, ...]
    is_before: tuple[bool, ...]  # may what follows belong to a number, though nothing is masked between?


@dataclass(frozen=True, eq=False)
class Sizes:
    """What the tokens of a vocabulary can add to a number, a gap, a string."""

    numbers: Edges
    blanks: Edges
    characters: tuple[int, ...]  # by id; of an escape, more than it is
    most_characters: int
    beside_quotes: int  # the most before a token's first quote or after its last; 0 where a token is a quote alone


@lru_cache(maxsize=4)
def sizes_of(vocab: Vocabulary) -> Sizes:
    texts = texts_of(vocab)
    quoted = [texts[token] for token in tokens_with(vocab, vocab.data == QUOTE).tolist()]
    beside = [max(_characters(text.partition(b'"')[0]), _characters(text.rpartition(b'"')[2])) for text in quoted]
    counts = _counts(~_among(vocab.data, CONTINUATIONS))
    characters = _padded(counts[vocab.offsets[1:]] - counts[vocab.offsets[:-1]], vocab.size)
    return Sizes(
        _edges(vocab, NUMBER, NUMBER, LONGEST_NUMBER),
        _edges(vocab, WHITE, BLANK, LONGEST_RUN),
        characters,
        max(characters, default=0),
        0 if b'"' in quoted else max(beside, default=0),
    )


@lru_cache(maxsize=4)
def number_edges(vocab: Vocabulary) -> NumberEdges:
    """As `numbers`, of tokens whose other bytes leave room for a number there."""
    starts, ends = vocab.offsets[:-1].astype(np.int64), vocab.offsets[1:].astype(np.int64)
    first, last = _borders(vocab, NUMBER)
    data = np.append(vocab.data, 0)  # of texts that are empty or nothing else
    is_whole = (first == ends) & (ends > starts)
    may_end = (first < ends) & _among(data, AFTER_NUMBER)[first]
    is_before = (last > starts) & _among(data, BEFORE_NUMBER)[np.maximum(last - 1, 0)]
    begins = is_before & (last < ends)
    return NumberEdges(
        _padded(np.where(is_whole | may_end, first - starts, 0), vocab.size),
        _padded(may_end, vocab.size),
        _padded(np.where(begins, ends - last, 0), vocab.size),
        _padded(is_whole, vocab.size),
        _padded(is_before, vocab.size),
    )


def _edges(vocab: Vocabulary, inside: bytes, counted: bytes, longest: int) -> Edges:
    """Of runs of the bytes `inside`, how many are `counted`; the most of a run that has no more than the longest."""
    starts, ends = vocab.offsets[:-1].astype(np.int64), vocab.offsets[1:].astype(np.int64)
    first, last = _borders(vocab, inside)
    counts = _counts(_among(vocab.data, counted))
    member, opens, closes = (
        _among(vocab.data, inside),
        np.zeros(len(vocab.data) + 1, bool),
        np.zeros(len(vocab.data) + 1, bool),
    )
    opens[starts], closes[ends] = True, True
    opens[1:-1] |= ~member[:-1]
    closes[1:-1] |= ~member[1:]
    runs = counts[1:][member & closes[1:]] - counts[:-1][member & opens[:-1]]
    return Edges(
        _padded(counts[first] - counts[starts], vocab.size),
        _padded(counts[ends] - counts[last], vocab.size),
        _padded((first == ends) & (ends > starts), vocab.size),
        int(runs[runs <= longest].max(initial=0)),
    )


def _borders(vocab: Vocabulary, inside: bytes) -> tuple[np.ndarray, np.ndarray]:
    """By token where its leading run of these bytes ends, and where its trailing one begins."""
    starts, ends = vocab.offsets[:-1].astype(np.int64), vocab.offsets[1:].astype(np.int64)
    others = np.flatnonzero(~_among(vocab.data, inside))
    after, before = np.append(others, len(vocab.data)), np.append(-1, others)
    first = np.minimum(after[np.searchsorted(others, starts)], ends)
    last = np.maximum(before[np.searchsorted(others, ends)] + 1, starts)
    return first, last


def _among(data: np.ndarray, chosen: bytes) -> np.ndarray:
    table = np.zeros(256, bool)
    table[list(chosen)] = True
    found: np.ndarray = table[data]
    return found


def _counts(flags: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(flags)])


def _padded(values: np.ndarray, size: int) -> tuple:
    """With zeros for ids without a token. A tuple, as the garbage collector looks at all that is in a list, again and again."""
    found = tuple(values[:size].tolist())
    return found + (values.dtype.type(0).item(),) * (size - len(found))


def _characters(text: bytes) -> int:
    return len(text.translate(None, CONTINUATIONS))
