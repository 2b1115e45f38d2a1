"""Named arrays in one file: a line of JSON with their offsets, then the arrays one after another.

    [{"rule": ["<i4", [40, 2], 0], ...}, checksum of name and header, checksum of the data]     arrays begin at multiples of 8

numpy's .npz reads each array through zipfile and a parser of Python literals, a millisecond for ten of them; this takes a tenth.
safetensors takes as long as this once it is imported, has no checksum, and its import takes longer than reading ten files.
The arrays are returned with the shapes and dtypes that were saved, or loading fails; the caller checks what the numbers mean. A
file's name is its cache key, so the checksum covers the name: a file under another's name is invalid.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from .cache import write_atomically

HEADER = 1 << 16  # bytes, at most


class Unsound(Exception):
    """The file holds nothing that may be used."""


def demand(true: object) -> None:
    if not true:
        raise Unsound


def save_arrays(path: Path, arrays: dict[str, np.ndarray], largest: int, checksum: Callable[[np.ndarray], int]) -> bool:
    """False where they are too large, or writing fails. The checksum is over a multiple of 8 bytes."""
    header: dict[str, tuple[str, tuple[int, ...], int]] = {}
    at = 0
    for name, array in arrays.items():
        header[name] = (array.dtype.str, array.shape, at)
        at += -(-array.nbytes // 8) * 8
    if at > largest:
        return False
    data = np.zeros(at, np.uint8)
    for name, array in arrays.items():
        begin = header[name][2]
        data[begin : begin + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    known = checksum(data)
    line = json.dumps([header, _sum_of(path.name, header, known), known]).encode()
    line += b" " * (-len(line) % 8 + 7) + b"\n"
    if len(line) > HEADER:
        return False

    def write(file: IO[bytes]) -> None:
        file.write(line)
        file.write(data.data)

    return write_atomically(path, write)


def load_arrays(path: Path, largest: int, checksum: Callable[[np.ndarray], int]) -> dict[str, np.ndarray]:
    """Raises Unsound, or any exception that a missing or damaged file causes."""
    demand(path.stat().st_size <= largest + HEADER)
    content = np.fromfile(path, np.uint8)
    begin = content[:HEADER].tobytes().index(b"\n") + 1
    header, its_sum, known = json.loads(content[:begin].tobytes())
    data = content[begin:]  # begins at a multiple of 8, as it was written
    demand(_sum_of(path.name, header, known) == its_sum and begin % 8 == len(data) % 8 == 0 and checksum(data) == known)
    return {name: _array(data, *where) for name, where in header.items()}


def _sum_of(name: str, header: object, known: int) -> int:
    return zlib.crc32(json.dumps([name, header, known]).encode())


def _array(data: np.ndarray, kind: str, shape: list[int], begin: int) -> np.ndarray:
    dtype = np.dtype(kind)
    size = dtype.itemsize * math.prod(shape)
    demand(dtype.kind in "iu" and begin >= 0 and begin % 8 == 0 and 0 <= size <= len(data) - begin)
    return data[begin : begin + size].view(dtype).reshape(shape)


def touch(path: Path) -> None:
    """Marks the file as used: the least recently used files are removed first."""
    with contextlib.suppress(OSError):
        os.utime(path)


def remove_oldest(folder: Path, most_files: int, most_bytes: int) -> None:
    with contextlib.suppress(OSError):
        entries = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(folder))
        total = kept = 0
        for _, size, path in reversed(entries):
            total, kept = total + size, kept + 1
            if kept > most_files or total > most_bytes:
                os.unlink(path)
