"""Arrays in files of the disk cache: a digest, then the arrays as numpy writes them.

Beside `cache`, which imports nothing heavy.
"""

import hashlib
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .cache import log_read, write_atomically

DIGEST = 32  # bytes before the arrays of a file


def save_arrays(path: Path, key: str, arrays: Iterable[np.ndarray]) -> bool:
    """Writes arrays, after a digest of the key and of all of them. False where writing fails."""
    content = io.BytesIO()
    for array in arrays:
        np.save(content, array, allow_pickle=False)
    return write_atomically(path, keyed_digest(key, content.getvalue()) + content.getvalue())


def load_arrays(path: Path, key: str) -> list[np.ndarray] | None:
    """What `save_arrays` wrote under this key; None where the file is missing, damaged or another's."""
    try:
        stored = path.read_bytes()
        content, arrays = io.BytesIO(stored[DIGEST:]), []
        if stored[:DIGEST] != keyed_digest(key, content.getvalue()):
            raise ValueError("its digest is another")
        while content.tell() < len(stored) - DIGEST:
            arrays.append(np.load(content, allow_pickle=False))
    except Exception as error:  # numpy's reader raises almost anything where somebody else wrote the file
        log_read(path, error)
        return None
    log_read(path)
    return arrays


def keyed_digest(key: str, content: bytes) -> bytes:
    digest = hashlib.blake2b(f"{key}\n".encode(), digest_size=DIGEST)
    digest.update(content)
    return digest.digest()
