"""Where the given tokens of a row may be all of a key.

A **span** is a place in a row between two quotes of a key, all of which is given. A quote may be given, too; or it is the last or
the first byte of a masked token beside the span, which may have other bytes as well: then the key is the span's or another.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from grammarlm.masks.canvas.json.texts import texts_of
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.vocab.vocabulary import Vocabulary

BODY = rb'(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*'
CLOSED = re.compile(rb"(" + BODY + rb')"[ \t\r\n]*(?::|$)')
INSIDE = re.compile(BODY + rb"\\?")  # to the end of what is given, perhaps within an escape
BLANKS = b" \t\r\n"
BEFORE_KEYS = (b"", b"{", b",")
MOST_KNOWN = 1 << 14  # runs
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

    @cached_property
    def end(self) -> int:
        return self.first + len(self.starts)

    @cached_property
    def spans(self) -> list[Span]:
        return spans_of(self)

    def to_its_end(self, may_be_masked: bool) -> bytes:
        """The text, with the quote before a key that a matcher has begun; `may_be_masked`: or that of a masked token before it."""
        is_begun = self.has_left and (may_be_masked or self.first == 0)
        return b'"' * is_begun + self.begun + self.text

    def from_its_begin(self, may_be_masked: bool) -> bytes:
        """And with one after it."""
        return self.text + b'"' * (self.has_right and may_be_masked)

    def place(self, offset: int) -> Place:
        if offset >= len(self.text):
            return self.end, 0
        at = bisect_right(self.starts, offset) - 1
        return self.first + at, offset - self.starts[at]


class Span(NamedTuple):
    key: bytes
    begin: Place
    end: Place
    is_given: bool  # with both quotes

    @property
    def behind(self) -> int:
        """The first position behind it."""
        return self.end[0] + (self.end[1] > 0)


class Runs:
    """The runs of rows of one length, kept from row to row: of one token more only those beside it are new."""

    def __init__(self, vocab: Vocabulary, begun: bytes | None):
        """`begun`: the beginning of a key that precedes the rows."""
        self._texts, self._begun = texts_of(vocab), begun
        self._known: dict[tuple[object, ...], Run] = {}

    def of(self, tokens: Sequence[int], is_open: bool) -> list[Run]:
        """Those of a row of tokens without stop ids, those of no token between two masked ones, too. `is_open`: tokens may follow
        it."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        found, first, known, count = list[Run](), 0, self._known, len(tokens)
        for end in (*(i for i, token in enumerate(tokens) if token == MASKED), count):
            name = first, end < count or is_open, *tokens[first:end]
            run = known.get(name)
            if run is None:
                run = known[name] = self._made(tokens, first, end, is_open)
            found.append(run)
            first = end + 1
        return found

    def _made(self, tokens: Sequence[int], first: int, end: int, is_open: bool) -> Run:
        starts, text = list[int](), bytearray()
        for token in tokens[first:end]:
            starts.append(len(text))
            text += self._texts[token]
        at_edge, begun = first == 0, self._begun
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
    """In the order of their beginnings."""
    found = []
    if run.has_left:
        if match := CLOSED.match(run.text):
            found.append(Span(run.begun + match[1], (run.first, 0), run.place(match.end(1)), is_given=run.first == 0))
        elif run.has_right and INSIDE.fullmatch(run.text):
            found.append(Span(run.begun + run.text, (run.first, 0), (run.end, 0), is_given=False))
    for at in openings(run):
        if match := CLOSED.match(run.text, at):
            found.append(Span(match[1], run.place(at), run.place(match.end(1)), is_given=True))
        elif run.has_right and INSIDE.fullmatch(run.text, at):
            found.append(Span(run.text[at:], run.place(at), (run.end, 0), is_given=False))
    return found


def all_spans(runs: Sequence[Run]) -> list[Span]:
    """Those of all runs of a row, in the order of their beginnings."""
    found, i, last = list[Span](), 0, len(runs) - 1
    while i <= last:
        end = i + 1
        if not runs[i].starts:
            while end <= last and not runs[end].starts:
                end += 1
            if min(end, last) - max(i - 1, 0) > MOST_SIDE_BY_SIDE:
                i = end
                continue
        for run in runs[i:end]:
            found += run.spans
        i = end
    return found
