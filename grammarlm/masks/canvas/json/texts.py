"""The bytes of all tokens of a vocabulary, as a tuple: rows are read token by token, again after each step. (A list of 128,000 is
looked at by each full turn of the garbage collector, which falls into whatever step is running.)"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import pairwise

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

QUOTE = 34
SPELLED = [
    bytes([byte]) if byte > 0x7F else json.dumps(chr(byte), ensure_ascii=False)[1:-1].encode() for byte in range(256)
]


@lru_cache(maxsize=4)
def texts_of(vocab: Vocabulary) -> tuple[bytes, ...]:
    """By id; b"" where an id has no token."""
    data, offsets = vocab.data.tobytes(), vocab.offsets.tolist()
    found = tuple([data[first:end] for first, end in pairwise(offsets)][: vocab.size])
    return found + (b"",) * (vocab.size - len(found))


@lru_cache(maxsize=4)
def ids_by_text(vocab: Vocabulary) -> dict[bytes, int]:
    """The first token of text with these bytes."""
    texts = texts_of(vocab)
    return {texts[i]: i for i in vocab.text_ids[::-1].tolist()}


def tokens_with(vocab: Vocabulary, is_such: np.ndarray) -> np.ndarray:
    """The tokens of text that have such a byte. `is_such`: bool, of each byte of `vocab.data`."""
    before = np.concatenate([[0], np.cumsum(is_such)])[vocab.offsets]
    found: np.ndarray = vocab.text_ids[before[vocab.text_ids + 1] > before[vocab.text_ids]]
    return found


@lru_cache(maxsize=64)
def token_of(vocab: Vocabulary, text: bytes) -> int | None:
    """The first token with these bytes."""
    texts = texts_of(vocab)
    return texts.index(text) if text in texts else None


def spelled(text: bytes) -> bytes:
    """The body of the JSON string that is this text, or its beginning: there is one plain spelling."""
    return b"".join([SPELLED[byte] for byte in text])


def decoded(body: bytes) -> bytes | None:
    """The text of a JSON string's body; None where it is none."""
    try:
        text: str = json.loads(b'"' + body + b'"', strict=True)
        return text.encode()
    except (ValueError, UnicodeEncodeError):
        return None
