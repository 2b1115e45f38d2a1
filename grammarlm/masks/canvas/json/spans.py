"""Where the given tokens of a row may be all of a key.

A **span** is a place in a row between two quotes of a key, all of which is given. A quote may be given, too; or it is the last or
the first byte of a masked token beside the span, which may have other bytes as well: then the key is the span's or another.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.vocab.vocabulary import Vocabulary

BODY = rb'[^"\\\x00-\x1f]*'
CLOSED = re.compile(rb"(" + BODY + rb')"[ \t\r\n]*(?::|$)')
TO_THE_END, WHOLE = re.compile(rb'"(' + BODY + rb")$"), re.compile(BODY + rb"$")
BLANKS = b" \t\r\n"
BEFORE_KEYS = (b"", b"{", b",")
MOST_SIDE_BY_SIDE = 4  # masked tokens: two of more need not be the quotes of an empty key
Place = tuple[int, int]  # a position of the row, and an offset in the bytes of its token


@dataclass(frozen=True)
class Run:
    """Given tokens side by side."""

    first: int  # position
    starts: list[int]  # the offset of each token in the text
    text: bytes
    has_left: bool  # may a key have begun before it?
    has_right: bool  # may it end after it?
    begun: bytes = b""  # of a key, by a matcher

    @property
    def end(self) -> int:
        return self.first + len(self.starts)

    def place(self, offset: int) -> Place:
        if offset >= len(self.text):
            return self.end, 0
        at = bisect_right(self.starts, offset) - 1
        return self.first + at, offset - self.starts[at]


@dataclass(frozen=True)
class Span:
    key: bytes
    begin: Place
    end: Place
    is_given: bool  # with both quotes


def runs_in(tokens: Sequence[int], vocab: Vocabulary, begun: bytes | None, is_open: bool) -> list[Run]:
    """The runs of a row of tokens without stop ids, those of no token between two masked ones, too. `begun`: the beginning of a key
    that precedes the row, `is_open`: tokens may follow it."""
    found, first = list[Run](), 0
    for end in (*(i for i, token in enumerate(tokens) if token == MASKED), len(tokens)):
        found.append(run_of(tokens, first, end, vocab, begun, is_open))
        first = end + 1
    return found


def run_of(tokens: Sequence[int], first: int, end: int, vocab: Vocabulary, begun: bytes | None, is_open: bool) -> Run:
    starts, text = list[int](), bytearray()
    for token in tokens[first:end]:
        starts.append(len(text))
        text += vocab.token_bytes(token)
    at_edge = first == 0
    has_right = end < len(tokens) or is_open
    return Run(
        first, starts, bytes(text), not at_edge or begun is not None, has_right, (begun or b"") if at_edge else b""
    )


def openings(run: Run) -> Iterator[int]:
    """The offsets behind quotes that may open a key."""
    at = run.text.find(b'"')
    while at >= 0:
        if run.text[:at].rstrip(BLANKS)[-1:] in BEFORE_KEYS:
            yield at + 1
        at = run.text.find(b'"', at + 1)


def spans_of(run: Run) -> list[Span]:
    found = []
    for at in openings(run):
        if match := CLOSED.match(run.text, at):
            found.append(Span(match[1], run.place(at), run.place(match.end(1)), is_given=True))
        elif run.has_right and (match := TO_THE_END.match(run.text, at - 1)):
            found.append(Span(match[1], run.place(at), (run.end, 0), is_given=False))
    if run.has_left:
        if match := CLOSED.match(run.text):
            found.append(Span(run.begun + match[1], (run.first, 0), run.place(match.end(1)), is_given=run.first == 0))
        elif run.has_right and WHOLE.match(run.text):
            found.append(Span(run.begun + run.text, (run.first, 0), (run.end, 0), is_given=False))
    return found


def all_spans(runs: Sequence[Run]) -> list[Span]:
    """Those of all runs of a row."""
    return [
        span
        for i, run in enumerate(runs)
        if run.starts or _masked_around(runs, i) <= MOST_SIDE_BY_SIDE
        for span in spans_of(run)
    ]


def _masked_around(runs: Sequence[Run], i: int) -> int:
    """The masked tokens side by side around a run of no token."""
    first = last = i
    while first > 0 and not runs[first].starts:
        first -= 1
    while last < len(runs) - 1 and not runs[last].starts:
        last += 1
    return last - first
