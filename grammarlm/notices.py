"""What somebody who waits or pays should know without asking: kernels that compile, a cache that cannot be kept.

    warn("grammarlm.kernels", "compiling kernels, once (about 20 s) ...")

It is a record of that logger at WARNING, for whoever has set up logging, and exactly one line on stderr: by a handler of theirs
that writes there, or else by hand. `logging.getLogger("grammarlm").setLevel(logging.ERROR)` says none of it.

Everything else that the package logs is DEBUG or INFO, under the name of its folder ("grammarlm.masks", ...), and seen only by
those who ask for it.
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
    if handlers:  # without any, logging's last resort would print the bare message
        logger.warning("%s", message)
    if not any(writes_to_stderr(handler) for handler in handlers) and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # it may be closed
            print(f"grammarlm: {message}", file=sys.stderr, flush=True)


def handlers_of(logger: logging.Logger) -> Iterator[logging.Handler]:
    """Those that get a record of this logger."""
    place: logging.Logger | None = logger
    while place is not None:
        yield from place.handlers
        place = place.parent if place.propagate else None


def writes_to_stderr(handler: logging.Handler) -> bool:
    stream = getattr(handler, "stream", None)
    return handler.level <= logging.WARNING and stream is not None and stream in (sys.stderr, sys.__stderr__)
