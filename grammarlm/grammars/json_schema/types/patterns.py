r"""Translates patterns of pydantic's validators, in Rust's or Python's syntax, to JSON Schema's (ECMA-262).

pattern_of_validator(r"^\d+\D$", "rust-regex")           ^\d+\P{Nd}$

There `\d \w \s` are Unicode's, here they are ASCII's (`\s` nearly). The result accepts only what both readings accept: in a negated
class, or in a negative look-around, the wider class is excluded.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_SPACES = r"\t-\r \x85\xA0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000"
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200C\u200D\w"
NARROW = {"d": "0-9", "w": "A-Za-z0-9_", "s": r"\t-\r "}
WIDE = {"d": r"\p{Nd}", "w": _WORD, "s": rf"{_SPACES}\uFEFF\x1C-\x1F"}
SYNTAX = frozenset("^$\\.*+?()[]{}|/")
PLAIN = {"t", "n", "r", "f", "v"}
OTHERS = {"a": r"\x07", "A": "^", "z": "$", "Z": "$"}
_REPEAT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_FLAGS = re.compile(r"\?([a-zA-Z-]*)([:)])")
_CODE = re.compile(r"(?:x([0-9A-Fa-f]{2})|[xu]\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_PROPERTY = re.compile(r"([pP])(?:\{(\^?)([^}]*)\}|([A-Z]))")


def pattern_of_validator(pattern: Any, engine: str) -> str:
    """The translated pattern; ValueError where it cannot be expressed, or might mean something else."""
    flags = 0
    if isinstance(pattern, re.Pattern):
        pattern, flags, engine = pattern.pattern, pattern.flags & ~(re.UNICODE | re.ASCII), "python-re"
    if not isinstance(pattern, str):
        raise ValueError("a pattern of bytes is not enforced")
    if flags & ~re.IGNORECASE:
        raise ValueError(f"pattern {pattern!r:.80}: of Python's flags only IGNORECASE is enforced")
    found = _Translation(pattern, engine == "python-re").run()
    if flags & re.IGNORECASE:
        found = f"(?i){found}"
    return f"^(?:{found})" if engine == "python-re" and _begins_at_the_start() else found


@cache
def _begins_at_the_start() -> bool:
    """Older versions match Python's patterns only at the start of a text."""
    from pydantic_core import SchemaValidator, ValidationError

    try:
        SchemaValidator({"type": "str", "pattern": "b"}, {"regex_engine": "python-re"}).validate_python("ab")
    except ValidationError:
        return True
    return False


class _Translation:
    def __init__(self, pattern: str, python: bool):
        self.pattern, self.python, self.at = pattern, python, 0
        self.out: list[str] = []
        self.negative = [False]  # per open group: is it negated?

    def run(self) -> str:
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            self.at += 1
            if char == "\\":
                self.out.append(self._escape(False, self.negative[-1]))
            elif char == "[":
                self._class()
            elif char == "(":
                self._group()
            elif char == "{":
                self._repeat()
            else:
                self._other(char)
        return "".join(self.out)

    def refuse(self, what: str) -> ValueError:
        return ValueError(
            f"pattern {self.pattern!r:.80}: {what} at character {self.at} is not enforced; write it in another way, or in a "
            "validator of your own"
        )

    def _other(self, char: str) -> None:
        if char == ")" and len(self.negative) > 1:
            self.negative.pop()
        if char == "$" and self.python and self.negative[-1]:
            raise self.refuse("an end of the text in a negative look-around")
        self.out.append({".": r"[^\n]", "]": r"\]", "}": r"\}"}.get(char, char))

    def _group(self) -> None:
        rest = self.pattern[self.at :]
        denied = self.negative[-1]
        if rest.startswith(("?!", "?<!")):
            denied = not denied
        elif rest.startswith("?P<"):
            self.at += 2
            self.out.append("(?")
            self.negative.append(denied)
            return
        elif rest.startswith("?") and not rest.startswith(("?:", "?=", "?<")):
            flags = _FLAGS.match(rest)
            if flags is None or flags[1] not in ("i", "u"):
                raise self.refuse(f"(?{rest[1:3]}")
            self.at += flags.end()
            self.out.append("" if flags[1] == "u" and flags[2] == ")" else "(?:" if flags[1] == "u" else f"({flags[0]}")
            if flags[2] == ":":
                self.negative.append(denied)
            return
        self.out.append("(")
        self.negative.append(denied)

    def _repeat(self) -> None:
        found = _REPEAT.match(self.pattern, self.at - 1)
        if found is None or not (found[1] or found[3]):
            self.out.append(r"\{")
            return
        self.at = found.end()
        self.out.append(f"{{{found[1] or 0}{found[2]}{found[3]}}}")

    def _class(self) -> None:
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        parts, first = ["[^" if negated else "["], True
        while True:
            char = self.pattern[self.at : self.at + 1]
            self.at += 1
            if not char:
                raise self.refuse("a class without an end")
            if char == "]" and not first:
                break
            if self.pattern[self.at - 1 : self.at + 1] in ("&&", "--", "~~", "||") or (char == "[" and not self.python):
                raise self.refuse("an operation on classes")
            escaped = self._escape(True, negated != self.negative[-1]) if char == "\\" else None
            parts.append(escaped or (f"\\{char}" if char in "[]" else char))
            first = False
        self.out.append("".join(parts) + "]")

    def _escape(self, inside: bool, denied: bool) -> str:
        """Translates what follows a backslash. `denied`: more of it means fewer texts."""
        char = self.pattern[self.at : self.at + 1]
        code = _CODE.match(self.pattern, self.at)
        if code is not None:
            self.at = code.end()
            return rf"\u{{{next(filter(None, code.groups())).lstrip('0') or '0'}}}"
        named = _PROPERTY.match(self.pattern, self.at)
        if named is not None:
            self.at = named.end()
            opposite = (named[1] == "P") != bool(named[2])
            return rf"\{'P' if opposite else 'p'}{{{named[3] or named[4]}}}"
        self.at += 1
        if char.lower() in NARROW and char:
            return self._kind(char, inside, denied)
        if char in PLAIN or char.isdigit():
            return f"\\{char}"
        if char in OTHERS and not inside:
            return OTHERS[char]
        if not char or (char.isascii() and char.isalpha()) or char in "<>":
            raise self.refuse(f"\\{char}")
        return f"\\{char}" if char in SYNTAX or (inside and char == "-") else char

    def _kind(self, char: str, inside: bool, denied: bool) -> str:
        """`\\d` and the like: a negated class is the complement of the wide class, or of the narrow one where it is denied."""
        word = char.lower()
        if char == word:
            members = WIDE[word] if denied else NARROW[word]
            return members if inside else f"[{members}]"
        left_out = NARROW[word] if denied else WIDE[word]
        if not inside:
            return f"[^{left_out}]"
        if word == "d":
            return r"\D" if denied else r"\P{Nd}"
        if word == "w" and denied:
            return r"\W"
        raise self.refuse(f"\\{char} inside a class")
