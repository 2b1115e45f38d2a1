"""Formats that have a name, a file each: its fields, the models that have it, and a conversation with its text.

    names()            ["deepseek_r1", ..., "hermes", ...]
    read("hermes")     File(layout=Layout(name="hermes", ...), mark=("<tool_call>", ...), conversation=..., text=...)

`mark` is what the chat template of such a model, or its vocabulary, has, `said` what stands in the template itself: by them a
format is chosen for a template from which none is learned, since it writes no calls. Models that were trained further keep the
vocabulary and may write otherwise, so tokens that many of them have are no mark.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..layout import Entries, Layout, Nested

SUFFIX = ".json"


@dataclass(frozen=True)
class File:
    """A format's file."""

    layout: Layout
    mark: tuple[str, ...]
    said: tuple[str, ...]
    conversation: tuple[tuple[Any, ...], ...]  # calls: (name, arguments) or (name, arguments, id)
    text: str  # what they are written as


@functools.cache
def names() -> tuple[str, ...]:
    """The names of the formats, sorted."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(file.name.removesuffix(SUFFIX) for file in files if file.name.endswith(SUFFIX)))


@functools.cache
def read(name: str) -> File:
    """The file of a format; ValueError for a name that is not in `names()`."""
    if name not in names():
        raise ValueError(f"no format is called {name!r:.80}; there are {', '.join(names())}")
    given = json.loads((resources.files(__name__) / (name + SUFFIX)).read_text("utf-8"))
    return File(
        layout=layout_of(name, given["format"]),
        mark=tuple(given.get("mark", ())),
        said=tuple(given.get("said", ())),
        conversation=tuple(tuple(call) for call in given["conversation"]),
        text=given["text"],
    )


def layout_of(name: str, given: dict[str, Any]) -> Layout:
    """The format whose fields are in JSON."""
    arguments = given.pop("arguments", "json")
    if isinstance(arguments, dict):
        values = arguments.pop("values", "json")
        values = Nested(**_tuples(values)) if isinstance(values, dict) else values
        escapes = tuple(map(tuple, arguments.pop("escapes", ())))
        arguments = Entries(values=values, escapes=escapes, **_tuples(arguments))
    return Layout(name=name, arguments=arguments, **_tuples(given))


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
