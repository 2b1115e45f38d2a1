"""Disk cache of token tables: a checksum over the key and the content; four lengths, then the arrays' bytes.

A file that is damaged, of another key or format, or inconsistent counts as missing: the tokenizer is read again. Nothing is parsed
or unpickled, and every number that is used as an index is checked first.
"""

import hashlib
from pathlib import Path
from typing import IO

import numpy as np

from grammarlm.cache import cache_folder, log_read, write_atomically

from .token_table import LARGEST_ID, TokenTable

# To be raised when the same tokenizer files give another table: old files are then ignored.
FORMAT = 1
MAGIC = f"grammarlm token table {FORMAT}\n".encode()
_DIGEST = 32
_INT64 = np.dtype("<i8")


def path_of(key: str) -> Path:
    return cache_folder("vocab", f"{key}.{FORMAT}.tokens")


def save(key: str, table: TokenTable) -> bool:
    numbers = [np.asarray(array, _INT64) for array in (table.offsets, table.special_ids, table.end_ids)]
    lengths = np.array([len(array) for array in (*numbers, table.data)], _INT64)
    content = b"".join(array.tobytes() for array in (lengths, *numbers, table.data))
    stored = MAGIC + _digest(key, content) + content

    def write(file: IO[bytes]) -> None:
        file.write(stored)

    return write_atomically(path_of(key), write)


def load(key: str) -> TokenTable | None:
    path = path_of(key)
    try:
        table = _read(key, path.read_bytes())
    except OSError as error:
        log_read(path, error)
        return None
    log_read(path, None if table is not None else ValueError())
    return table


def _read(key: str, stored: bytes) -> TokenTable | None:
    """The table; None where the file is not what was stored under this key."""
    start = len(MAGIC) + _DIGEST
    content = memoryview(stored)[start:]
    lengths = np.frombuffer(content[:32], _INT64).tolist() if len(content) >= 32 else []
    if (
        not stored.startswith(MAGIC)
        or stored[len(MAGIC) : start] != _digest(key, content)
        or min(lengths, default=-1) < 0
    ):
        return None
    if 8 * (4 + sum(lengths[:3])) + lengths[3] != len(content):
        return None
    numbers = np.frombuffer(content, _INT64, sum(lengths[:3]), 32)
    offsets, special, ends = np.split(numbers, np.cumsum(lengths[:2]))
    return _checked(offsets, special, ends, np.frombuffer(content, np.uint8, lengths[3], 32 + numbers.nbytes))


def _digest(key: str, content: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(f"{key}\n".encode(), digest_size=_DIGEST)
    digest.update(content)
    return digest.digest()


def _checked(offsets: np.ndarray, special: np.ndarray, ends: np.ndarray, data: np.ndarray) -> TokenTable | None:
    """The table, if all its indices are in range."""
    if not 1 < len(offsets) <= LARGEST_ID + 1 or offsets[0] != 0 or offsets[-1] != len(data):
        return None
    if (offsets[1:] < offsets[:-1]).any():
        return None
    for ids in (special, ends):
        if len(ids) and (ids[0] < 0 or (ids[1:] <= ids[:-1]).any()):
            return None
    return TokenTable(offsets, data, tuple(special.tolist()), tuple(ends.tolist()))
