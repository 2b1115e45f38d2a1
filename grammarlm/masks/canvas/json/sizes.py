"""What the tokens of a vocabulary can add to a string of JSON: by id, from all bytes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

from .texts import QUOTE, ids_by_text, tokens_with

CONTINUATIONS = bytes(range(0x80, 0xC0))
FOLLOWING = 0x80 >> 6  # what these begin with


@dataclass(frozen=True, eq=False)
class Sizes:
    """What the tokens of a vocabulary can add to a string."""

    characters: Sequence[int]  # by id; of an escape, more than it is
    has_escapes: bool  # do single tokens spell a control character?
    beside_quotes: int  # the most before a token's first quote or after its last; 0 where a token is a quote alone


@lru_cache(maxsize=4)
def sizes_of(vocab: Vocabulary) -> Sizes:
    quoted = _texts_of(vocab, tokens_with(vocab, vocab.data == QUOTE))
    beside = [max(_characters(text.partition(b'"')[0]), _characters(text.rpartition(b'"')[2])) for text in quoted]
    counts = np.concatenate([[0], np.cumsum(vocab.data >> 6 != FOLLOWING)])
    characters = counts[vocab.offsets[1:]] - counts[vocab.offsets[:-1]]
    has_escapes = all(bytes([byte]) in ids_by_text(vocab) for byte in b"\\u01")
    return Sizes(_padded(characters, vocab.size), has_escapes, 0 if b'"' in quoted else max(beside, default=0))


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
