"""Where a JSON text stands that is not complete: the path of the value that is being written, and the keys around it."""

from __future__ import annotations

import json
import re

# A quote by itself begins a string that has not ended.
TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[-+.0-9eE]+|[a-z]+|[{}\[\],"]')
WORDS = (b"true", b"false", b"null")
Path = tuple[str | int, ...]


def standing(text: bytes) -> tuple[Path, dict[Path, list[str]]]:
    """The path of the value in which or before which the text ends (after a value: of the container), and the keys that each open
    object has so far. The text is the beginning of one that is JSON."""
    steps: list[str | int | None] = []  # in each open container the index, or the key (None: before it)
    keys: list[list[str]] = []
    is_after = False  # is a value complete, after which a comma or an end comes?
    for found in TOKEN.finditer(text):
        token, kind = found[0], found[0][:1]
        if kind in b"{[":
            steps.append(None if kind == b"{" else 0)
            keys.append([])
            is_after = False
        elif kind in b"}]":
            steps.pop()
            keys.pop()
            is_after = True
        elif kind == b",":
            before = steps[-1]
            steps[-1], is_after = (before + 1 if isinstance(before, int) else None), False
        elif token == b'"':
            break
        elif steps and steps[-1] is None:
            steps[-1] = json.loads(token)
            keys[-1].append(str(steps[-1]))
        else:
            is_after = kind == b'"' or token in WORDS
    inner = steps[:-1] if steps and (is_after or steps[-1] is None) else steps
    path = tuple(step for step in inner if step is not None)
    return path, {path[:depth]: known for depth, known in enumerate(keys)}
