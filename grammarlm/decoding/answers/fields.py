"""The fields of an answer: the scalars of its JSON and its named parts, each with its tokens and how probable these were.

A token belongs to the field in which it begins: the fields share none, and with the tokens that begin in no field (keys, brackets,
text between parts) they are all of the answer.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import fsum
from typing import NamedTuple

from grammarlm.decoding.result import Field, Fields, Path
from grammarlm.grammars.json_schema.read.standing import TOKEN, WORDS

Span = tuple[int, int]


class Region(NamedTuple):
    """A piece of an answer in which fields are: JSON, or a part that is one itself."""

    path: Path
    span: Span
    tokens: range
    is_json: bool
    is_complete: bool = True


def fields_of(
    pieces: Sequence[bytes], regions: Sequence[Region], logprobs: Sequence[float], model_logprobs: Sequence[float]
) -> Fields:
    """The fields of these regions; `pieces`: the bytes of each token."""
    data, begins = b"".join(pieces), [0, *accumulate(map(len, pieces))][: len(pieces)]
    fields: dict[Path, Field] = {}
    for region in regions:
        for known, (start, end) in spans(data, region):
            first = bisect_left(begins, start, region.tokens.start, region.tokens.stop)
            last = bisect_left(begins, end, first, region.tokens.stop) if region.is_json else region.tokens.stop
            path = known
            while path in fields:
                path = (None, *path)
            own = slice(first, last)
            figures = fsum(logprobs[own]), fsum(model_logprobs[own])
            fields[path] = Field(path, (start, end), (first, last), *figures)
    return Fields(fields.values())


def spans(data: bytes, region: Region) -> Iterator[tuple[Path, Span]]:
    """The path and the place of each field of a region."""
    if not region.is_json:
        yield region.path, region.span
        return
    start, end = region.span
    for path, (first, last) in scalars(data[start:end], region.is_complete):
        yield (*region.path, *path), (start + first, start + last)


def scalars(data: bytes, is_complete: bool) -> Iterator[tuple[Path, Span]]:
    """The strings, numbers, words and empty containers of a JSON text; of one that was cut those that have ended."""
    steps: list[str | int | None] = []  # the key (None: before it) or index of what is read, in each open container
    begin = -1  # of the innermost container, while nothing is in it
    for found in TOKEN.finditer(data):
        token, is_last = found[0], found.end() == len(data)
        kind = token[:1]
        if token == b'"':
            return
        if kind in b"{[":
            begin = found.start()
            steps.append(None if kind == b"{" else 0)
        elif kind in b"}]":
            steps.pop()
            if begin >= 0:
                yield tuple(steps), (begin, found.end())
            begin = -1
        elif kind == b",":
            before = steps[-1]
            steps[-1] = before + 1 if isinstance(before, int) else None
        elif steps and steps[-1] is None:
            steps[-1], begin = json.loads(token), -1
        elif is_complete or not is_last or kind == b'"' or token in WORDS:
            begin = -1
            yield tuple(steps), found.span()
