"""Disk cache of tables over all characters: computing one takes 10-30 ms, reading it a fraction of one.

A table is rows of code points. It depends on the versions of Unicode, Python and the `regex` package and on the code that computes
it; all are hashed into the file's name.
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

from grammarlm.array_files import load_arrays, save_arrays
from grammarlm.cache import cache_folder, sources_digest


def code_points(name: str, make: Callable[[], list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """The rows of code points, all of one length, that `make` computes; from the disk cache if there is a valid entry."""
    path = cache_folder("unicode") / f"{name}-{_versions()}"
    stored = load_arrays(path, path.name)
    if stored:
        return [tuple(row) for row in stored[0].tolist()]
    rows = make()
    save_arrays(path, path.name, [np.array(rows, np.int32)])
    return rows


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
