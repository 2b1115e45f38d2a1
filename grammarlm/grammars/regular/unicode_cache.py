"""Disk cache of tables over all characters: computing one takes 10-30 ms, reading it a fraction of one.

A table is rows of code points. It depends on the versions of Unicode, Python and the `regex` package and on the code that computes
it; all are hashed into the file's name. The checksum covers the name and the rows, so a renamed file is invalid.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

import numpy as np

from grammarlm.cache import cache_folder, log_read, sources_digest, write_atomically


def code_points(name: str, make: Callable[[], list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """The rows of code points, all of one length, that `make` computes; from the disk cache if there is a valid entry."""
    path = cache_folder("unicode") / f"{name}-{_versions()}.npy"
    try:
        table = np.load(path, allow_pickle=False)
        if table.dtype == np.int32 and table.ndim == 2 and _sum(path.name, table[:-1]) == tuple(table[-1]):
            log_read(path)
            return [tuple(row) for row in table[:-1].tolist()]
        log_read(path, ValueError())
    except Exception as error:  # missing, cut short or damaged: numpy's reader raises almost anything
        log_read(path, error)
    rows = make()
    table = np.array(rows, np.int32)
    write_atomically(
        path, lambda file: np.save(file, np.concatenate([table, [_sum(path.name, table)]]).astype(np.int32))
    )
    return rows


def _sum(name: str, table: np.ndarray) -> tuple[int, ...]:
    """A checksum row over the file's name and the other rows."""
    digest = hashlib.sha256(f"{name}\n".encode() + table.tobytes()).digest()
    return tuple(int.from_bytes(digest[2 * i : 2 * i + 2], "little") for i in range(table.shape[1]))


@cache
def _versions() -> str:
    """Digest of the versions. `regex` is identified by its files: importing it takes longer than computing most tables."""
    python = f"{sys.implementation.name} {sys.version} {unicodedata.unidata_version}"
    digest = hashlib.sha256(f"{python} {sources_digest('grammars', 'layout')}".encode())
    spec = importlib.util.find_spec("regex")
    for folder in (spec and spec.submodule_search_locations) or ():
        for entry in sorted(os.scandir(folder), key=lambda e: e.name):
            if entry.is_file():
                digest.update(f"{entry.name} {entry.stat().st_size}\0".encode())
    return digest.hexdigest()[:16]
