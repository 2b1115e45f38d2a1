"""Tokenises Lark's notation: names, strings, regular expressions, numbers and punctuation.

The tokens (pieces) are those of lark's own lexer, but its patterns backtrack: an unclosed string with n backslashes takes it time
exponential in n, n empty lines n². The patterns here read each character once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from grammarlm.errors import GrammarError, LimitExceeded, caret

PIECES = re.compile(
    r"""[ \t]*(?:
      (?P<rule> _?[a-z][_a-z0-9]* )
    | (?P<terminal> _?[A-Z][_A-Z0-9]* )
    | (?P<string> "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"i? )
    | (?P<comment> \s*(?://|\#)[^\n]* )
    | (?P<newline> \r?\n\s*\|? )
    | (?P<blank> [ \t]+ | \\[ ]*\n )
    | (?P<number> [+-]?\d+ )
    | (?P<modifiers> (?:!\??|\?!?)(?=[_a-z]) )
    | (?P<operator> [+*]|\?(?![a-z_]) )
    | (?P<regexp> /(?!/)[^/\\]*(?:\\[\s\S][^/\\]*)*/[imslux]* )
    | (?P<mark> ->|\.\.|%ignore|%override|%declare|%extend|%import|[()\[\]{}:,|.~] ) )
    """,
    re.VERBOSE,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Piece(NamedTuple):
    """`kind` is the name of a pattern above, the punctuation itself, or "end"; the | that continues the line before it
    has the line end before it as well."""

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


class Pieces(NamedTuple):
    """The pieces of a text as lists, which are read much faster than objects."""

    kinds: list[str]
    texts: list[str]
    places: list[int]


def scan(text: str, most: int, tick: Callable[[], None]) -> Pieces:
    """The pieces of a text, at most so many, without blanks and comments; like lark, it adds a line end to every text."""
    source = text + "\n"
    kinds, texts, places = found = Pieces([], [], [])
    match_at, at, count = PIECES.match, 0, 0
    while at < len(source):
        match = match_at(source, at)
        if match is None:
            raise error(text, unreadable(source[at]), at)
        count += 1
        if not count & 1023:
            tick()
        kind, at = match.lastgroup or "", match.end()
        if kind == "blank" or kind == "comment":
            continue
        piece = match[kind]
        if kind == "mark":
            kind = piece
        elif kind == "newline" and piece[-1] == "|":
            kind = "|"
        kinds.append(kind)
        texts.append(piece)
        places.append(at - len(piece))
        if len(kinds) > most:
            raise error(text, f"the grammar is too long: more than {most} names, literals and marks", at, LimitExceeded)
    for _ in range(2):  # the reader looks at the piece after the next one
        kinds.append("end")
        texts.append("")
        places.append(len(text))
    return found


def unreadable(character: str) -> str:
    if character == '"':
        return "a string is not closed: '\"' is missing on this line"
    if character == "/":
        return "a regular expression is not closed: '/' is missing"
    return f"unexpected character {character!r}"
