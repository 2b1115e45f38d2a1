"""Disk cache of token tables.

A file that is damaged, of another key or format, or inconsistent counts as missing: the tokenizer is read again. Every number that
is used as an index is checked first.
"""

from pathlib import Path

import numpy as np

from grammarlm.array_files import load_arrays, save_arrays
from grammarlm.cache import cache_folder

from .token_table import LARGEST_ID, TokenTable

# To be raised when the same tokenizer files give another table: old files are then ignored.
FORMAT = 2
KINDS = [np.dtype(kind) for kind in ("<i8", "<i8", "<i8", "u1")]  # of offsets, special ids, end ids, data


def path_of(key: str) -> Path:
    return cache_folder("vocab", f"{key}.{FORMAT}.tokens")


def save(key: str, table: TokenTable) -> bool:
    arrays = (table.offsets, table.special_ids, table.end_ids, table.data)
    return save_arrays(path_of(key), key, (np.asarray(a, kind) for a, kind in zip(arrays, KINDS, strict=True)))


def load(key: str) -> TokenTable | None:
    arrays = load_arrays(path_of(key), key)
    if arrays is None or [a.dtype for a in arrays] != KINDS or any(a.ndim != 1 for a in arrays):
        return None
    offsets, special, ends, data = arrays
    if not 1 < len(offsets) <= LARGEST_ID + 1 or offsets[0] != 0 or offsets[-1] != len(data):
        return None
    if (offsets[1:] < offsets[:-1]).any():
        return None
    for ids in (special, ends):
        if len(ids) and (ids[0] < 0 or (ids[1:] <= ids[:-1]).any()):
            return None
    return TokenTable(offsets, data, tuple(special.tolist()), tuple(ends.tolist()))
