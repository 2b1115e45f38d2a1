r"""ECMA-262 patterns for Python: translated to the `regex` package, atom by atom.

What differs and is spelled out: `$` is the very end (Python's is also before a final newline), `\d` and `\w` and `\b` are ASCII,
`\s` and `.` have ECMA's own sets, `[]` matches nothing and `[^]` anything, `\/`, `\cJ`, `\u{1F432}` and surrogate pairs are
characters, a `{` that begins no quantifier is one too. Patterns are read as with the flag u where that has a meaning (`\p{L}`),
and as without it where that would be an error (`\-`).
"""

import functools
from typing import Any

import regex

_WORD = "0-9A-Za-z_"
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_BREAKS = r"\n\r\u2028\u2029"
_SETS = {"d": "0-9", "w": _WORD, "s": _SPACE}
_LETTERS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_ANY = r"[\s\S]"
_NOTHING = "(?!)"
_HEX = frozenset("0123456789abcdefABCDEF")


class BrokenPattern(ValueError):
    """No pattern of ECMA-262."""


@functools.lru_cache(4096)
def compiled(pattern: str) -> Any:
    try:
        return regex.compile(_Translation(pattern).text(), regex.V0)
    except regex.error as error:
        raise BrokenPattern(f"{pattern!r}: {error}") from None


def found(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text, as `pattern` of JSON Schema wants it."""
    return compiled(pattern).search(text) is not None


def _literal(code: int) -> str:
    return f"\\U{code:08x}"


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str):
        self.pattern, self.at = pattern, 0
        self.groups = sum(
            1
            for place, char in enumerate(pattern)
            if char == "(" and (pattern[place + 1 : place + 2] != "?" or pattern[place + 2 : place + 3] == "<")
        )

    def broken(self, why: str) -> BrokenPattern:
        return BrokenPattern(f"{self.pattern!r}, at {self.at}: {why}")

    def take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def text(self) -> str:
        parts, depth = [], 0
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            if char == "(":
                parts.append(self.group())
                depth += 1
            elif char == ")":
                depth -= 1
                if depth < 0:
                    raise self.broken("nothing to close")
                parts.append(")")
                self.at += 1
            else:
                parts.append(self.atom(char))
        if depth:
            raise self.broken("an open group")
        return "".join(parts)

    def group(self) -> str:
        for start in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if self.take(start):
                return start
        if self.take("(?<"):
            end = self.pattern.find(">", self.at)
            if end < 0:
                raise self.broken("a group's name does not end")
            name, self.at = self.pattern[self.at : end], end + 1
            return f"(?P<{name}>"
        if self.pattern.startswith("(?", self.at):
            raise self.broken("no group of ECMA-262")
        self.at += 1
        return "("

    def atom(self, char: str) -> str:
        if char == "[":
            return self.char_class()
        if char == "\\":
            return self.escape()
        if char in "*+?{":
            return self.quantifier(char)
        self.at += 1
        return {
            "^": r"\A",
            "$": r"\Z",
            ".": f"[^{_BREAKS}]",
            "|": "|",
        }.get(char) or _literal(ord(char))

    def quantifier(self, char: str) -> str:
        read = regex.compile(r"\{[0-9]+(?:,[0-9]*)?\}|[*+?]").match(self.pattern, self.at)
        if read is None:
            self.at += 1
            return _literal(ord(char))
        self.at = read.end()
        lazy = "?" if self.take("?") else ""
        following = regex.compile(r"\{[0-9]+(?:,[0-9]*)?\}|[*+?]").match(self.pattern, self.at)
        if following:
            raise self.broken("nothing to repeat")
        return read[0] + lazy

    def escape(self) -> str:
        """A backslash outside of a class."""
        kind = self.pattern[self.at + 1 : self.at + 2]
        if kind in "bB" and kind:
            self.at += 2
            inside, outside = f"(?<=[{_WORD}])(?![{_WORD}])", f"(?<![{_WORD}])(?=[{_WORD}])"
            edge = f"(?:{inside}|{outside})"
            return edge if kind == "b" else f"(?!{edge})"
        if kind == "k" and self.pattern.startswith("<", self.at + 2):
            end = self.pattern.index(">", self.at)
            name, self.at = self.pattern[self.at + 3 : end], end + 1
            return f"(?P={name})"
        if kind in "123456789" and kind:
            number = regex.compile("[0-9]+").match(self.pattern, self.at + 1)[0]
            if int(number) <= self.groups:
                self.at += 1 + len(number)
                return f"(?:\\g<{number}>)"
        member = self.class_escape()
        return _literal(member) if isinstance(member, int) else f"[{member}]"

    def class_escape(self) -> "int | str":
        """A code point, or the inside of a class."""
        self.at += 1
        if self.at >= len(self.pattern):
            raise self.broken("a backslash at the end")
        kind = self.pattern[self.at]
        self.at += 1
        if kind in _SETS:
            return _SETS[kind]
        if kind.lower() in _SETS:
            return f"^{_SETS[kind.lower()]}"
        if kind in "pP" and self.take("{"):
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise self.broken("a property's name does not end")
            name, self.at = self.pattern[self.at : end], end + 1
            return f"\\{kind}{{{name}}}"
        if kind in _LETTERS:
            return _LETTERS[kind]
        if kind == "c" and self.pattern[self.at : self.at + 1].isalpha():
            self.at += 1
            return ord(self.pattern[self.at - 1]) % 32
        if kind == "0" and not self.pattern[self.at : self.at + 1].isdigit():
            return 0
        if kind == "x" and (code := self.hexadecimal(2)) is not None:
            return code
        if kind == "u":
            return self.code_point()
        if kind.isdigit():
            raise self.broken("an octal escape")
        return ord(kind)

    def hexadecimal(self, count: int) -> "int | None":
        digits = self.pattern[self.at : self.at + count]
        if len(digits) < count or not set(digits) <= _HEX:
            return None
        self.at += count
        return int(digits, 16)

    def code_point(self) -> int:
        if self.take("{"):
            end = self.pattern.find("}", self.at)
            digits, self.at = self.pattern[self.at : end], end + 1
            if end < 0 or not digits or not set(digits) <= _HEX or int(digits, 16) > 0x10FFFF:
                raise self.broken("no code point")
            return int(digits, 16)
        high = self.hexadecimal(4)
        if high is None:
            return ord("u")
        if 0xD800 <= high < 0xDC00 and self.pattern.startswith("\\u", self.at):
            before = self.at
            self.at += 2
            low = self.hexadecimal(4)
            if low is not None and 0xDC00 <= low < 0xE000:
                return 0x10000 + ((high - 0xD800) << 10) + low - 0xDC00
            self.at = before
        return high

    def char_class(self) -> str:
        """A class as alternatives of plain classes: a negated set inside one has no other spelling in every version."""
        self.at += 1
        negated = self.take("^")
        plain, whole = [], []
        while not self.take("]"):
            if self.at >= len(self.pattern):
                raise self.broken("an open class")
            low = self.class_member()
            ranged = self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] not in (
                "]",
                "",
            )
            if not ranged:
                (whole if isinstance(low, str) else plain).append(low)
                continue
            self.at += 1
            high = self.class_member()
            if isinstance(low, str) or isinstance(high, str):
                for each in (low, ord("-"), high):
                    (whole if isinstance(each, str) else plain).append(each)
            elif low > high:
                raise self.broken("a range out of order")
            else:
                plain.append((low, high))
        inside = "".join(f"{_literal(p[0])}-{_literal(p[1])}" if isinstance(p, tuple) else _literal(p) for p in plain)
        parts = ([f"[{inside}]"] if inside else []) + [f"[{each}]" for each in whole]
        if not parts:
            return _ANY if negated else _NOTHING
        joined = f"(?:{'|'.join(parts)})"
        return f"(?:(?!{joined}){_ANY})" if negated else joined

    def class_member(self) -> "int | str":
        if self.pattern[self.at] != "\\":
            self.at += 1
            return ord(self.pattern[self.at - 1])
        if self.pattern.startswith("\\b", self.at):
            self.at += 2
            return 8
        return self.class_escape()
