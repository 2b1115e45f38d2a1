"""Warnings that a waiting user should see without asking: kernels that compile, a cache that cannot be written.

    warn("grammarlm.kernels", "compiling kernels, once (about 20 s) ...")

Each is a record of that logger at WARNING, for users who have set up logging, and exactly one line on stderr: by a handler of
theirs that writes there, else printed here. `logging.getLogger("grammarlm").setLevel(logging.ERROR)` silences them.

All other logging of the package is DEBUG or INFO, under the name of its folder ("grammarlm.masks", ...), and seen only on request.
"""

import contextlib
import logging
import sys
from collections.abc import Iterator


def warn(logger_name: str, message: str) -> None:
    logger = logging.getLogger(logger_name)
    if not logger.isEnabledFor(logging.WARNING):
        return
    handlers = list(handlers_of(logger))
    if handlers:  # without a handler, logging.lastResort would print the bare message
        logger.warning("%s", message)
    if not any(writes_to_stderr(handler) for handler in handlers) and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # it may be closed
            print(f"grammarlm: {message}", file=sys.stderr, flush=True)


def handlers_of(logger: logging.Logger) -> Iterator[logging.Handler]:
    """The handlers that get a record of this logger."""
    place: logging.Logger | None = logger
    while place is not None:
        yield from place.handlers
        place = place.parent if place.propagate else None


def writes_to_stderr(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    return handler.level <= logging.WARNING and stream is not None and stream in (sys.stderr, sys.__stderr__)
