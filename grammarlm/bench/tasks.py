"""What a child process can do with a case, by name: the class that does it, and the class of its records."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

from .cases import Case
from .record import Record

Step = Callable[[Record], None]  # takes what is known so far; the limit of time starts anew


class Task(Protocol):
    """Lives in a child process; made once, with all that is loaded and warmed up before the first case."""

    def __init__(self, settings: dict[str, Any]) -> None: ...
    def run(self, case: Case, step: Step) -> Record: ...


# name: (task, its record); records are imported by the parent process, tasks by its children alone
TASKS = {
    "judge": ("verdicts.task:Judge", "verdicts.record:Verdicts"),
    "generate": ("generation.task:Generate", "generation.record:Generated"),
    "validate": ("generation.validation:Validate", "generation.validation:Validated"),
}


def task_class(name: str) -> type[Task]:
    """One of TASKS, or module:Class elsewhere, whose member `record` is the class of its records."""
    return _load(TASKS[name][0]) if name in TASKS else _load(name, elsewhere=True)


def record_class(name: str) -> type[Record]:
    found: type[Record] = _load(TASKS[name][1]) if name in TASKS else _load(name, elsewhere=True).record
    return found


def _load(name: str, elsewhere: bool = False) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module if elsewhere else f".{module}", __package__), attribute)
