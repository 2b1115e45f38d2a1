"""Where this package keeps files between processes: `$GRAMMARLM_CACHE`, else the user's cache directory.

Files are keyed by content and written to a temporary name first, so two processes may write the same one at the same time.
"""

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .notices import warn

LOGGER = logging.getLogger("grammarlm.cache")
UNWRITABLE: set[str] = set()  # the folders that this process has told of


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
        LOGGER.debug("wrote %s", path)
        return True
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        tell_unwritable(error)
        return False


def log_read(path: Path, error: Exception | None = None) -> None:
    """That a file is used (no error), is not there yet, or is there and of no use."""
    if error is None:
        LOGGER.debug("read %s", path)
    elif isinstance(error, FileNotFoundError):
        LOGGER.debug("%s is not there yet", path)
    else:
        LOGGER.info("%s is damaged or another's, and made anew (%s)", path, type(error).__name__)


def tell_unwritable(error: OSError) -> None:
    """Says that nothing can be kept, and what to do: once, whichever file was the first."""
    folder, reason = str(cache_folder()), error.strerror or type(error).__name__
    if folder not in UNWRITABLE:
        UNWRITABLE.add(folder)
        warn(
            "grammarlm.cache",
            f"the cache folder {folder} cannot be written ({reason}), so each process compiles and builds anew; "
            "set GRAMMARLM_CACHE to a folder that can be",
        )
