"""Tokenises Lark's notation: names, strings, regular expressions, numbers and punctuation.

The tokens (pieces) are those of lark's own lexer, but its patterns backtrack: an unclosed string with n backslashes takes it time
exponential in n, n empty lines n². The patterns here read each character once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from grammarlm.errors import GrammarError, caret

PIECES = re.compile(
    r"""
      (?P<comment> \s*(?://|\#)[^\n]* )
    | (?P<newline> \r?\n\s* )
    | (?P<blank> [ \t]+ | \\[ ]*\n )
    | (?P<number> [+-]?\d+ )
    | (?P<modifiers> (?:!\??|\?!?)(?=[_a-z]) )
    | (?P<operator> [+*]|\?(?![a-z_]) )
    | (?P<rule> _?[a-z][_a-z0-9]* )
    | (?P<terminal> _?[A-Z][_A-Z0-9]* )
    | (?P<string> "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"i? )
    | (?P<regexp> /(?!/)[^/\\]*(?:\\[\s\S][^/\\]*)*/[imslux]* )
    | (?P<mark> ->|\.\.|%ignore|%override|%declare|%extend|%import|[()\[\]{}:,|.~] )
    """,
    re.VERBOSE,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Piece(NamedTuple):
    """`kind` is the name of a pattern above, the punctuation itself, or "end"; a line that begins with | continues the line before
    it."""

    kind: str
    text: str
    at: int

    @property
    def shown(self) -> str:
        return "the end of the line" if self.kind in {"newline", "end"} else repr(self.text.strip()[:40])


def error(text: str, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return kind(f"{message}, at line {line}, column {column} of the grammar:\n{caret(text, at)}", position=at)


def scan(text: str, tick: Callable[[], None]) -> Iterator[Piece]:
    """The pieces of a text without blanks and comments; like lark, it adds a line end to every text."""
    source = text + "\n"
    at = count = 0
    while at < len(source):
        match = PIECES.match(source, at)
        if match is None:
            raise error(text, unreadable(source[at]), at)
        count += 1
        if not count & 1023:
            tick()
        kind = match.lastgroup or ""
        start, at = at, match.end()
        if kind == "newline" and source.startswith("|", at):
            kind, at = "|", at + 1
        elif kind == "mark":
            kind = match.group()
        if kind not in {"comment", "blank"}:
            yield Piece(kind, match.group(), start)
    yield Piece("end", "", len(text))


def unreadable(character: str) -> str:
    if character == '"':
        return "a string is not closed: '\"' is missing on this line"
    if character == "/":
        return "a regular expression is not closed: '/' is missing"
    return f"unexpected character {character!r}"
