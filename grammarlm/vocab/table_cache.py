"""Token tables on disk: a checksum, then .npy arrays one after another.

A file that is damaged, of another format, or says impossible things is as good as none: it is read again from the
tokenizer.
"""

import hashlib
import io
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..cache import cache_folder, write_atomically
from .token_table import LARGEST_ID, TokenTable

# The number rises whenever the same tokenizer files are to give another table: old files are then never looked at.
MAGIC = b"grammarlm token table 1\n"
_DIGEST = 32


def path_of(key: str) -> Path:
    return cache_folder("vocab", f"{key}.1.tokens")


def save(key: str, table: TokenTable) -> bool:
    payload = io.BytesIO()
    for array in (table.offsets, table.data, np.array(table.special_ids, np.int64), np.array(table.end_ids, np.int64)):
        np.save(payload, array, allow_pickle=False)
    content = payload.getvalue()
    stored = MAGIC + hashlib.blake2b(content, digest_size=_DIGEST).digest() + content

    def write(file: BinaryIO) -> None:
        file.write(stored)

    return write_atomically(path_of(key), write)


def load(key: str) -> TokenTable | None:
    try:
        stored = path_of(key).read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + _DIGEST
    content = stored[start:]
    digest = hashlib.blake2b(content, digest_size=_DIGEST).digest()
    if not stored.startswith(MAGIC) or stored[len(MAGIC) : start] != digest:
        return None
    payload = io.BytesIO(content)
    try:
        offsets, data, special, ends = (np.load(payload, allow_pickle=False) for _ in range(4))
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError):  # what numpy raises for a header that is not one
        return None
    return _checked(offsets, data, special, ends)


def _checked(offsets: np.ndarray, data: np.ndarray, special: np.ndarray, ends: np.ndarray) -> TokenTable | None:
    """The table, if every index that is ever made of it lies inside."""
    kinds = (offsets.dtype, data.dtype, special.dtype, ends.dtype) == (np.int64, np.uint8, np.int64, np.int64)
    if not kinds or any(array.ndim != 1 for array in (offsets, data, special, ends)):
        return None
    if (
        not 1 < len(offsets) <= LARGEST_ID + 1
        or offsets[0] != 0
        or offsets[-1] != len(data)
        or (np.diff(offsets) < 0).any()
    ):
        return None
    if any(len(ids) and (ids[0] < 0 or (np.diff(ids) <= 0).any()) for ids in (special, ends)):
        return None
    return TokenTable(offsets, data, tuple(special.tolist()), tuple(ends.tolist()))
