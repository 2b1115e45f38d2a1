"""The bytes of all tokens of a vocabulary, as a list: rows are read token by token, again after each step."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from grammarlm.vocab.vocabulary import Vocabulary


@lru_cache(maxsize=4)
def texts_of(vocab: Vocabulary) -> list[bytes]:
    """By id; b"" where an id has no token."""
    data, offsets = vocab.data.tobytes(), vocab.offsets.tolist()
    found = [data[first:end] for first, end in pairwise(offsets)][: vocab.size]
    return found + [b""] * (vocab.size - len(found))
