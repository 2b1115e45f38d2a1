"""The disk cache: `$GRAMMARLM_CACHE`, else the user's cache directory.

Files are keyed by content and written to a temporary name first, so two processes may write the same one at the same time.
"""

import contextlib
import functools
import hashlib
import logging
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .notices import warn
from .version import version

LOGGER = logging.getLogger("grammarlm.cache")
PACKAGE = Path(__file__).parent
UNWRITABLE: set[str] = set()  # cache folders that this process has warned about


@dataclass
class Filling:
    """Seconds that this process has spent on compiling kernels: done once a machine, so not part of a grammar's own time."""

    seconds: float = 0.0


FILLING = Filling()


def cache_folder(*parts: str) -> Path:
    """The folder for one kind of file; it may not exist yet, and may not be writable."""
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


@functools.cache
def sources_digest(*packages: str) -> str:
    """A hash of the source files of this package in these folders (recursively): part of the key of what they compute.

    In a zip file there are no such files; there the version is hashed instead.
    """
    content, names = hashlib.sha256(), sorted(name for package in packages for name in source_files(package))
    for name in names:
        data = (PACKAGE / name).read_bytes()
        content.update(f"\0{name} {len(data)}\0".encode())
        content.update(data)
    return content.hexdigest() if names else hashlib.sha256(f"{packages} {version()}".encode()).hexdigest()


def source_files(package: str) -> list[str]:
    """The name, relative to ours, of each source file below a package."""
    path = PACKAGE / package
    return [file.relative_to(PACKAGE).as_posix() for file in ([path] if path.is_file() else path.rglob("*.py"))]


def write_atomically(path: Path, content: bytes) -> bool:
    """Writes a file so that a reader sees all of it or nothing. False where writing fails: the cache is optional."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".part", delete=False) as file:
            temporary = file.name
            file.write(content)
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
    """Logs that a file was read (no error), is missing, or is unusable."""
    if error is None:
        LOGGER.debug("read %s", path)
    elif isinstance(error, FileNotFoundError):
        LOGGER.debug("%s is not there yet", path)
    else:
        LOGGER.info("%s is damaged or another's, and made anew (%s)", path, type(error).__name__)


def tell_unwritable(error: OSError) -> None:
    """Warns once that nothing can be cached, and what to do."""
    folder, reason = str(cache_folder()), error.strerror or type(error).__name__
    if folder not in UNWRITABLE:
        UNWRITABLE.add(folder)
        warn(
            "grammarlm.cache",
            f"the cache folder {folder} cannot be written ({reason}), so each process compiles and builds anew; "
            "set GRAMMARLM_CACHE to a folder that can be",
        )
