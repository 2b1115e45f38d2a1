"""Where this package keeps files between processes: `$GRAMMARLM_CACHE`, else the user's cache directory.

Files are keyed by content and written to a temporary name first, so two processes may write the same one at the same time.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass
class Filling:
    """Seconds that this process has spent on compiling kernels, which is done once a machine: no grammar's own time."""

    seconds: float = 0.0


FILLING = Filling()


def cache_folder(*parts: str) -> Path:
    """The folder for a kind of file; it may not exist yet, and may not be writable."""
    chosen = os.environ.get("GRAMMARLM_CACHE")
    if chosen:
        return Path(chosen, *parts)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "grammarlm", *parts)


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> bool:
    """Writes a file so that a reader sees all of it or nothing. False where the disk does not take it: a cache is optional."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".part", delete=False) as file:
            temporary = file.name
            write(file)
        os.replace(temporary, path)
        return True
    except OSError:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
