"""What the tokens of a vocabulary can add to a number, a gap or a string of JSON: by id, from all bytes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

from .texts import QUOTE, tokens_with

NUMBER, WHITE, BLANK = b"-+.0123456789eE", b" \t\r\n", b" \t"
BEFORE_NUMBER, AFTER_NUMBER = b":,[ \t\r\n", b",]} \t\r\n"
LONGEST_NUMBER = 1 << 20
CONTINUATIONS = bytes(range(0x80, 0xC0))
FOLLOWING = 0x80 >> 6  # what these begin with


class Edges(NamedTuple):
    """By id: bytes or blanks at a token's two ends, all of it where it is nothing else. The most of any token."""

    leading: Sequence[int]
    trailing: Sequence[int]
    is_whole: Sequence[bool]
    most: int


class NumberEdges(NamedTuple):
    """By id."""

    leading: Sequence[int]  # bytes of a number that ends in the token
    ends: Sequence[bool]  # can one that has begun before?
    trailing: Sequence[int]  # of one that begins there
    is_whole: Sequence[bool]
    is_before: Sequence[bool]  # may what follows belong to a number, though nothing is masked between?


@dataclass(frozen=True, eq=False)
class Sizes:
    """What the tokens of a vocabulary can add to a number, a gap, a string."""

    numbers: Edges
    blanks: Edges
    characters: Sequence[int]  # by id; of an escape, more than it is
    most_characters: int
    beside_quotes: int  # the most before a token's first quote or after its last; 0 where a token is a quote alone


@lru_cache(maxsize=4)
def sizes_of(vocab: Vocabulary) -> Sizes:
    quoted = _texts_of(vocab, tokens_with(vocab, vocab.data == QUOTE))
    beside = [max(_characters(text.partition(b'"')[0]), _characters(text.rpartition(b'"')[2])) for text in quoted]
    counts = np.concatenate([[0], np.cumsum(vocab.data >> 6 != FOLLOWING)])
    characters = counts[vocab.offsets[1:]] - counts[vocab.offsets[:-1]]
    numbers, gaps = _number_runs(vocab), _runs(vocab, WHITE)
    blanks = np.concatenate([[0], np.cumsum(_among(vocab.data, BLANK))])
    return Sizes(
        _edges(vocab, numbers, numbers.ends - numbers.starts, LONGEST_NUMBER),
        _edges(vocab, gaps, blanks[gaps.ends] - blanks[gaps.starts], LONGEST_RUN),
        _padded(characters, vocab.size),
        int(characters[: vocab.size].max(initial=0)),
        0 if b'"' in quoted else max(beside, default=0),
    )


@lru_cache(maxsize=4)
def number_edges(vocab: Vocabulary) -> NumberEdges:
    """As `numbers`, of tokens whose other bytes leave room for a number there."""
    starts, ends = vocab.offsets[:-1].astype(np.int64), vocab.offsets[1:].astype(np.int64)
    runs = _number_runs(vocab)
    leading, trailing = _at_ends(vocab, runs, runs.ends - runs.starts)
    first, last = starts + leading, ends - trailing
    data = np.append(vocab.data, 0)  # of texts that are empty or nothing else
    is_whole = (first == ends) & (ends > starts)
    may_end = (first < ends) & _among(data[first], AFTER_NUMBER)
    is_before = (last > starts) & _among(data[np.maximum(last - 1, 0)], BEFORE_NUMBER)
    begins = is_before & (last < ends)
    return NumberEdges(
        _padded(np.where(is_whole | may_end, leading, 0), vocab.size),
        _padded(may_end, vocab.size),
        _padded(np.where(begins, trailing, 0), vocab.size),
        _padded(is_whole, vocab.size),
        _padded(is_before, vocab.size),
    )


class Runs(NamedTuple):
    """Runs of some bytes, none of which goes from one token into the next."""

    starts: np.ndarray  # int64 [runs]: places among all bytes
    ends: np.ndarray
    leads: np.ndarray  # bool [runs]: begins a token with it?
    trails: np.ndarray
    begun: np.ndarray  # int64: the tokens that begin with one, in the order of `starts`
    ended: np.ndarray


@lru_cache(maxsize=4)
def _number_runs(vocab: Vocabulary) -> Runs:
    return _runs(vocab, NUMBER)


def _runs(vocab: Vocabulary, inside: bytes) -> Runs:
    member = np.append(_among(vocab.data, inside), False)
    token_starts, token_ends = vocab.offsets[:-1], vocab.offsets[1:]
    is_border = np.zeros(len(member), bool)
    is_border[vocab.offsets] = True
    starts = np.flatnonzero(member & (is_border | ~np.roll(member, 1)))
    ends = np.flatnonzero(member[:-1] & (is_border | ~member)[1:]) + 1
    has_bytes = token_ends > token_starts
    begun = np.flatnonzero(has_bytes & member[token_starts])
    ended = np.flatnonzero(has_bytes & member[token_ends - 1])
    return Runs(starts, ends, is_border[starts], is_border[ends], begun, ended)


def _edges(vocab: Vocabulary, runs: Runs, sizes: np.ndarray, longest: int) -> Edges:
    """`sizes`: of each run what counts of it; the most of one that has no more than the longest."""
    leading, trailing = _at_ends(vocab, runs, sizes)
    is_whole = np.zeros(len(leading), bool)
    is_whole[runs.begun] = runs.ends[runs.leads] == vocab.offsets[runs.begun + 1]
    return Edges(
        _padded(leading, vocab.size),
        _padded(trailing, vocab.size),
        _padded(is_whole, vocab.size),
        int(sizes[sizes <= longest].max(initial=0)),
    )


def _at_ends(vocab: Vocabulary, runs: Runs, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64 [tokens], two times: the sizes of the runs at a token's beginning and at its end, 0 where there is none."""
    leading, trailing = np.zeros(len(vocab.offsets) - 1, np.int64), np.zeros(len(vocab.offsets) - 1, np.int64)
    leading[runs.begun], trailing[runs.ended] = sizes[runs.leads], sizes[runs.trails]
    return leading, trailing


def _among(data: np.ndarray, chosen: bytes) -> np.ndarray:
    table = np.zeros(256, bool)
    table[list(chosen)] = True
    found: np.ndarray = table[data]
    return found


def _padded(values: np.ndarray, size: int) -> Any:
    """With zeros for ids without a token. Elements of a view are numbers of Python, and lists would take longer to make."""
    found = np.zeros(size, values.dtype)
    found[: len(values)] = values[:size]
    return found.data


def _texts_of(vocab: Vocabulary, tokens: np.ndarray) -> list[bytes]:
    data, starts, ends = vocab.data.tobytes(), vocab.offsets[tokens].tolist(), vocab.offsets[tokens + 1].tolist()
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def _characters(text: bytes) -> int:
    return len(text.translate(None, CONTINUATIONS))
