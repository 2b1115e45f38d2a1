"""Files whose names come from outside: only regular files, read up to a bound.

A name may come from an untrusted request or a line of a script. So a pipe, which would block, and a device, which may be endless,
are refused by name and never opened; at most the caller's bound is read; and no message repeats what a file holds.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LARGEST = 256 << 20  # bytes of a grammar, a schema or a text
LONGEST_HEADER = 10_000  # bytes of a .npy header: numpy checks its size only after reading it
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: str | os.PathLike[str]) -> os.stat_result:
    """The stat result of a regular file; ValueError for a pipe, a device or a folder, OSError where it does not exist."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_kind, name in KINDS if is_kind(found.st_mode)), "no file")
        raise ValueError(f"{shown(path)} is {kind}, not a regular file; copy what it gives into one")
    return found


def read_file(path: str | os.PathLike[str], largest: int = LARGEST) -> bytes:
    """All bytes of a regular file; ValueError where there are more than `largest`."""
    if check_regular(path).st_size <= largest:
        with Path(path).open("rb") as file:
            data = file.read(largest + 1)  # it may have grown, and files of /proc report size 0
        if len(data) <= largest:
            return data
    raise ValueError(f"{shown(path)} is larger than {largest:,} bytes, the most that is read")


def map_array(path: str | os.PathLike[str]) -> np.ndarray[Any, Any]:
    """The array of a .npy file, memory-mapped: the file must not change. ValueError where it is not one."""
    import numpy as np  # the command line imports this module, and starts without it

    check_regular(path)
    with open(path, "rb") as file:
        start = file.read(12)  # magic prefix, version, header length
    if start[:6] != np.lib.format.MAGIC_PREFIX:
        raise ValueError(f"{shown(path)} is no .npy file; numpy.save(path, array) writes one")
    length = int.from_bytes(start[8 : 10 if start[6:7] == b"\x01" else 12], "little")
    if length <= LONGEST_HEADER:
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception:  # numpy's reader raises almost anything, and its messages repeat the content
            pass
    raise ValueError(
        f"{shown(path)} is a .npy file that cannot be mapped: it is damaged, cut off, or holds Python objects; "
        "numpy.save(path, array) writes one anew"
    )


def shown(path: str | os.PathLike[str]) -> str:
    return f"{os.fspath(path)!r:.200}"
