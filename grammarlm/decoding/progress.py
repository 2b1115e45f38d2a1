"""A progress bar of a long batch, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from .request import Request


def shown(parts: list[Request], progress: bool | None) -> Iterator[Request]:
    """Yields the parts, with a bar of the prompts done; None: only for several parts on a terminal."""
    if progress is None:
        progress = len(parts) > 1 and sys.stderr is not None and sys.stderr.isatty()
    if not progress:
        yield from parts
        return
    with bar_on_stderr("generate") as bar:
        task = bar.add_task("generate", total=sum(len(part.prompts) for part in parts))
        for part in parts:
            yield part
            bar.advance(task, len(part.prompts))


def bar_on_stderr(name: str) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
