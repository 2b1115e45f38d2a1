r"""Scanner of GBNF and EBNF texts: literals such as "a\n", classes such as [^a-z], escapes, comments, and errors.

The two notations differ in their escapes and in whether a quoted string may contain a line break; a subclass of `Scanner` describes
the escapes of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from grammarlm.errors import GrammarError, caret
from grammarlm.grammars.cfg.rules import Alternatives, Chars, Node, Sequence, Text
from grammarlm.grammars.regular import charset
from grammarlm.grammars.regular.charset import CharSet

EMPTY = Sequence(())  # the empty text
NOTHING = Alternatives(())  # the empty language

# Spaces, line breaks and comments. A comment must reach its line's end, so there is one way to match it and no backtracking.
COMMENT = r"\#[^\r\n]*"
SPACE = rf"[ \t\r\n]*(?:{COMMENT}(?:[\r\n][ \t\r\n]*|\Z))*"

LONGEST_NUMBER = 15  # digits of a count or an id
LAST_TOKEN = 2**31 - 1  # the largest id
CLOSED_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
CLOSED_CLASS = re.compile(r"\[[^\]\\]*(?:\\.[^\]\\]*)*\]", re.DOTALL)


def escape_patterns(hex_digits: str) -> tuple[re.Pattern, re.Pattern]:
    """Of an escape, and of an item of a class, or two with a dash between them."""
    digit = "[0-9a-fA-F]"
    escape = rf"\\(?:x{digit}{hex_digits}|u{digit}{{4}}|U{digit}{{8}}|.)"
    return re.compile(escape, re.DOTALL), re.compile(rf"({escape}|.)(?:-({escape}|.))?", re.DOTALL)


class Scanner:
    """Reads single tokens of a grammar; `at` is the token's offset in the text."""

    NOTATION: str  # its name
    ESCAPES: ClassVar[dict[str, str]]  # what the letter after a backslash stands for
    CLASS_ESCAPES: ClassVar[dict[str, str]]  # the same between [ and ]
    HEX_DIGITS: str  # the number of digits after \\x, as in a regular expression: "{2}", or "+" for any number
    EMPTY_CLASS: bool  # is [] no character and [^] any? Otherwise both are refused
    escape: ClassVar[re.Pattern]
    span: ClassVar[re.Pattern]

    def __init__(self, text: str, tick: Callable[[], None]):
        self.text, self.tick = text, tick
        self._nodes: dict[str, Node] = {}  # grammars repeat the same literals and classes

    def error(self, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        where = f"at line {line}, column {column} of the {self.NOTATION} text"
        return kind(f"{message}, {where}:\n{caret(self.text, at)}", position=at)

    def string_node(self, token: str, at: int) -> Node:
        """The node of a quoted literal."""
        node = self._nodes.get(token)
        if node is None:
            data = self.encode(self.string(token, at), at)
            node = self._nodes[token] = Text(data) if data else EMPTY
        return node

    def string(self, token: str, at: int) -> str:
        """The text of a quoted literal."""
        close = token.find('"', 1)
        if close > 0 and "\\" not in token[1:close]:
            return token[1:close]
        closed = CLOSED_STRING.match(token)
        if closed is None:
            raise self.error("this string is not closed: '\"' is missing", at)
        return self.escape.sub(
            lambda escape: chr(self.code_point(escape.group(), at + 1 + escape.start(), self.ESCAPES)),
            closed.group()[1:-1],
        )

    def encode(self, text: str, at: int) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise self.error(f"U+{code:04X} is half of a surrogate pair, which no UTF-8 text contains", at) from None

    def class_node(self, token: str, at: int) -> Node:
        """The node of a character class in square brackets."""
        node = self._nodes.get(token)
        if node is None:
            closed = CLOSED_CLASS.match(token)
            if closed is None:
                raise self.error("this character class is not closed: ']' is missing", at)
            chars = self._class(closed.group()[1:-1], at + 1)
            node = self._nodes[token] = Chars(chars) if chars else NOTHING
        return node

    def _class(self, body: str, at: int) -> CharSet:
        negated = body.startswith("^")
        if len(body) == negated and not self.EMPTY_CLASS:
            raise self.error('this character class is empty; write "" for no character and . for any', at - 1)
        escapes = self.CLASS_ESCAPES
        ranges = []
        for count, span in enumerate(self.span.finditer(body, negated)):
            if not count & 255:
                self.tick()
            first, last = span.groups()
            low = ord(first) if len(first) == 1 else self.code_point(first, at + span.start(), escapes)
            high = low
            if last is not None:
                high = ord(last) if len(last) == 1 else self.code_point(last, at + span.start(2), escapes)
                if high < low:
                    raise self.error(f"bad range {span.group()}: its ends are the wrong way round", at + span.start())
            ranges.append((low, high))
        chars = charset.union(ranges)
        return charset.negate(chars) if negated else chars

    def code_point(self, escape: str, at: int, escapes: dict[str, str]) -> int:
        """The character that an escape stands for."""
        letter = escape[1]
        if len(escape) > 2:
            value = int(escape[2:], 16)
            if value > charset.LAST:
                raise self.error(f"{escape[:20]} is no character: the last one is U+10FFFF", at)
            return value
        if letter in escapes:
            return ord(escapes[letter])
        digits = {"x": self.HEX_DIGITS, "u": "{4}", "U": "{8}"}.get(letter)
        if digits is not None:
            wanted = "" if digits == "+" else digits[1:-1] + " "
            raise self.error(f"incomplete escape: \\{letter} takes {wanted}hexadecimal digits", at)
        known = " ".join(f"\\{c}" for c in escapes)
        raise self.error(f"unknown escape \\{letter}; there are {known} \\x \\u \\U", at)

    def token_id(self, digits: str, at: int) -> int:
        number = self.number(digits, "this token's id", at)
        if number > LAST_TOKEN:
            raise self.error(f"no token has the id {number}", at)
        return number

    def number(self, digits: str, what: str, at: int) -> int:
        if len(digits.lstrip("0")) > LONGEST_NUMBER:
            raise self.error(f"{what} has more than {LONGEST_NUMBER} digits", at)
        return int(digits.lstrip("0") or "0")
