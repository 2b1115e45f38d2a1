r"""GBNF, the notation of llama.cpp.

    Gbnf(r'''
        root  ::= "[" (value ("," value)*)? "]"     # a list
        value ::= "-"? [0-9]{1,9} | root
    ''')

`"text"`, `[a-z]`, `[^a-z]`, `.` (any character), `( )`, `|`, `* + ? {m} {m,} {m,n}`, `#` to the end of the line, `<[1000]>` and
`<think>` (one token, by its id or its text). A rule ends with its line, except within brackets and after `::=` or `|`; of two rules
with one name the second counts. What llama.cpp's own parser accepts means the same here, with two differences: counts beyond 2,000
are exact, and what it would silently read as the empty language is an error: [] and [^], [z-a], {3,1}, half a surrogate pair. Names
may contain underscores, as its documentation says, and left recursion is allowed. Negated tokens (!<think>) are refused.

When not to use it: for a regular language Regex is quicker to compile; for a language with keywords and spaces between words, Lark
grammars say the same in fewer rules.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import ClassVar, NoReturn

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.rules import Chars, Rules, Token
from grammarlm.grammars.regular import charset

from .reader import BRACES, RuleReader, RuleText
from .scanner import COMMENT, SPACE

_ANY = Chars(charset.ALL)


class Gbnf(RuleText):
    """A grammar in llama.cpp's notation; texts follow its rule `start`."""

    def rules(self, tick: Callable[[], None]) -> Rules:
        return _Reader(self.text, tick).read(self.start)


class _Reader(RuleReader):
    """Reader of GBNF: line breaks are tokens, because they end rules."""

    NOTATION, HEX_DIGITS, EMPTY_CLASS = "GBNF", "{2}", False
    ESCAPES = CLASS_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"} | {c: c for c in '\\"[]-'}
    NAME = re.compile(r"[a-zA-Z0-9_-]+")
    NAME_BEGINS = string.ascii_letters + string.digits + "_-"
    INSIDE: ClassVar = {
        "\n": "line_end",
        "\r": "line_end",
        ".": "any_character",
        "<": "token",
        "!": "negated_token",
    }
    TOKENS = re.compile(
        rf"""
        (?: [a-zA-Z0-9_-]+ (?: [ \t]* ::= {SPACE} )?
          | "[^"\\]*(?:\\.[^"\\]*)*"?
          | \[[^\]\\]*(?:\\.[^\]\\]*)*\]?
          | [|(] {SPACE}
          | [\r\n] {SPACE}
          | {COMMENT}
          | !?<[^>]*>?
          | {BRACES}
          | .
        ) [ \t]*
        """,
        re.VERBOSE | re.DOTALL,
    )

    def line_end(self, token: str, at: int) -> None:
        if not self.brackets:
            self.end_rule(at)

    def head_inside(self, token: str, at: int) -> None:
        self.check_brackets()
        raise self.error(
            f"a rule begins inside the rule {str(self.rule)[:60]!r}: each takes lines of its own, "
            'and what is empty before a line break is written ""',
            at,
        )

    def any_character(self, token: str, at: int) -> None:
        self.parts.append(_ANY)

    def token(self, token: str, at: int) -> None:
        """<[1000]> or <think>."""
        token = token.rstrip(" \t")
        if not token.endswith(">"):
            raise self.error("'<' begins a token, <[1000]> or <think>, but there is no '>'", at)
        name: str | int = token
        if token[1] == "[":
            digits = token[2:-2]
            if token[-2] != "]" or not (digits.isascii() and digits.isdigit()):
                raise self.error("'<[' begins a token by its id, such as <[1000]>", at)
            name = self.token_id(digits, at)
        self.parts.append(Token(name, at))

    def negated_token(self, token: str, at: int) -> None:
        if token[1:2] != "<":
            self.unexpected(token, at)
        raise self.error(f"{token[:60].rstrip()} (any token but one) is not supported", at, UnsupportedFeature)

    def unexpected(self, token: str, at: int) -> NoReturn:
        if token[0] == "|" and self.table is self.outside:
            raise self.error("the rule ended with its line; it goes on after a '|' at a line's end, or in brackets", at)
        super().unexpected(token, at)
