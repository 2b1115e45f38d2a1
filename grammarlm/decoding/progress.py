"""A progress bar of a long batch, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from .request import Request


def with_bar(batches: list[Request], progress: bool | None) -> Iterator[Request]:
    """Yields the batches, with a bar of the prompts done; None: only for several batches on a terminal."""
    if progress is None:
        progress = len(batches) > 1 and sys.stderr is not None and sys.stderr.isatty()
    if not progress:
        yield from batches
        return
    with bar_on_stderr("generate") as bar:
        task = bar.add_task("generate", total=sum(len(batch.prompts) for batch in batches))
        for batch in batches:
            yield batch
            bar.advance(task, len(batch.prompts))


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
