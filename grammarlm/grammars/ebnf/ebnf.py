r"""EBNF in xgrammar's notation.

    Ebnf(r'''
        root  ::= "[" (value ("," value)*)? "]"     # a list
        value ::= "-"? [0-9]{1,9}
                | root
                | Regex("0x[0-9a-f]+")
    ''')

`"text"`, `[a-z]`, `[^a-z]`, `[^]` (any character), `( )`, `|`, `* + ? {m} {m,} {m,n}`, `#` to the end of the line, `Token(1, 2)`
(one token with any of these ids), `ExcludeToken(1, 2)` (one with any other), `Regex("...")`, `TagDispatch(...)` and
`TokenTagDispatch(...)` (dispatch.py). A rule begins on a line of its own and ends where the next one begins; an empty alternative
is written `""`. A look-ahead `(= ...)` at the end of a rule is xgrammar's hint to itself about what follows: it changes no text and
no mask there, so it is checked and dropped. Substring and rule options such as name[lazy] are refused, and so is any Regex() that
xgrammar and Python read differently (macros.py). A grammar in which any token but some may stand becomes parts (parts.py).

When not to use it: for grammars written for llama.cpp there is Gbnf, which reads escapes, line breaks and tokens as llama.cpp does.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import ClassVar, NoReturn

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.rules import Rules

from .macros import MACRO_CALL, MACROS, read_macro
from .reader import BLANK, BRACES, SIMPLE_REPEATS, RuleReader, RuleText
from .scanner import COMMENT, SPACE

_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_ESCAPES |= {c: c for c in "\\\"'?/"}
_VALUES = {"true", "false"}  # words that are not rule names
_NAME = r"[a-zA-Z_.-][a-zA-Z0-9_.-]*"
_SPACE = re.compile(SPACE)
_REPEATS = (*SIMPLE_REPEATS, "{")
_RULE_OPTIONS = re.compile(
    rf"{_NAME}\[[ \t]*(max_tokens|max_chars|capture\w*|lazy|temperature|stop_capture)\b[^\r\n]*?\][ \t]*::="
)


class Ebnf(RuleText):
    """A grammar in xgrammar's notation; texts follow its rule `start`."""

    def rules(self, tick: Callable[[], None]) -> Rules:
        return _Reader(self.text, tick).read(self.start)


class _Reader(RuleReader):
    """Reader of EBNF: line breaks are spaces, and a token includes the spaces after it."""

    NOTATION, HEX_DIGITS, EMPTY_CLASS = "EBNF", "+", True
    ESCAPES = _ESCAPES
    CLASS_ESCAPES: ClassVar = _ESCAPES | {c: c for c in "^$.*+()[]{}|-"}
    NAME = re.compile(_NAME)
    NAME_BEGINS = string.ascii_letters + "_.-"
    INSIDE: ClassVar = dict.fromkeys([name[0] for name in MACROS], "macro_or_name")
    TOKENS = re.compile(
        rf"""
        (?: {MACRO_CALL}
          | {_NAME} (?: {SPACE} ::= )?
          | "[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"?
          | \[[^\]\\\r\n]*(?:\\[^\r\n][^\]\\\r\n]*)*\]?
          | \(=?
          | ::=
          | {COMMENT}
          | {BRACES}
          | .
        ) [ \t\r\n]*
        """,
        re.VERBOSE | re.DOTALL,
    )

    def __init__(self, text: str, tick: Callable[[], None]):
        super().__init__(text, tick)
        self.hint = False  # inside a look-ahead

    def macro_or_name(self, token: str, at: int) -> None:
        name = self.name_of(token)
        if name in MACROS and not self.is_head(token):
            self.parts.append(read_macro(self, self.calls, name, token, at))
        else:
            self.name(token, at)

    def is_head(self, token: str) -> bool:
        return token.rstrip(BLANK).endswith("::=")  # a macro's call ends with ")"

    def head_inside(self, token: str, at: int) -> None:
        self.check_brackets()
        self.end_rule(at)
        self.begin_rule(token, at)

    def begin_rule(self, head: str, at: int) -> None:
        text, before = self.text, at
        while before and text[before - 1] in " \t":
            before -= 1
        if before and text[before - 1] not in "\r\n":
            raise self.error("a rule begins on a line of its own", at)
        super().begin_rule(head, at)
        name = self.rule or ""
        if name in self.bodies:
            raise self.error(f"there are two rules {name[:60]!r}", at)
        if name in _VALUES:
            raise self.error(f"{name} is a value, not the name of a rule", at)

    def end_rule(self, at: int) -> None:
        self.check_parts(at)
        super().end_rule(at)

    def check_parts(self, at: int) -> None:
        if not self.parts:
            raise self.error('something is missing here; the empty text is written ""', at)

    def alternative(self, token: str, at: int) -> None:
        self.check_parts(at)
        super().alternative(token, at)

    def open(self, token: str, at: int) -> None:
        if token.startswith("(="):
            if self.brackets:
                raise self.error("a look-ahead (= ...) stands at the end of a rule, not inside brackets", at)
            self.end_rule(at)
            self.table, self.hint = self.inside, True
        super().open(token, at)

    def close(self, token: str, at: int) -> None:
        hint_ends = self.hint and len(self.brackets) == 1
        if self.options or hint_ends:  # () is the empty text
            self.check_parts(at)
        super().close(token, at)
        if hint_ends:
            self.parts.clear()
            self.table, self.hint = self.outside, False

    def repeat(self, low: int, high: int | None, token: str, at: int) -> None:
        super().repeat(low, high, token, at)
        follows = at + len(token)
        if self.text.startswith("#", follows) and (space := _SPACE.match(self.text, follows)):
            follows = space.end()
        if self.text.startswith(_REPEATS, follows):
            raise self.error("two repeats of one thing; brackets go between them: (x+)?", follows)

    def negative_limit(self, limit: str, at: int) -> str | None:
        if limit != "-1":  # {2,-1} is how xgrammar prints {2,}
            return super().negative_limit(limit, at)
        return None

    def unexpected(self, token: str, at: int) -> NoReturn:
        # name[lazy] ::= is read as a call and a class, so ::= is the first token out of place
        name = self.calls[-1].position if token.startswith("::=") and self.calls else at
        options = _RULE_OPTIONS.match(self.text, name)
        if options is not None:
            raise self.error(f"the rule option {options.group(1)} is not supported", name, UnsupportedFeature)
        super().unexpected(token, at)
