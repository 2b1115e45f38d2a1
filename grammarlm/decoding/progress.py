"""A progress bar of a long batch, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def bar_of(prompts: int, at_once: int, progress: bool | None) -> Iterator[Callable[[int], None]]:
    """The function to call with how many prompts are done: a bar; None: only for more than share a batch, on a terminal."""
    if progress is None:
        progress = prompts > at_once and sys.stderr is not None and sys.stderr.isatty()
    if not progress:
        yield lambda done: None
        return
    with bar_on_stderr("generate") as bar:
        task = bar.add_task("generate", total=prompts)
        yield lambda done: bar.update(task, completed=done)


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
