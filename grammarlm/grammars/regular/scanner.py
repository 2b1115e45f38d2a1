"""The characters of a regular expression: current position, escapes, and sets such as `[^a-z\\d]` or `\\p{Lu}`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from grammarlm.errors import GrammarError, caret

from . import charset
from .charset import CharSet

IGNORECASE, MULTILINE, DOTALL, VERBOSE, UNICODE = 1, 2, 4, 8, 16
CONTROLS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
CATEGORIES = {"d": charset.DIGITS, "s": charset.SPACES, "w": charset.WORD}
OCTAL, HEX = "01234567", "0123456789abcdefABCDEF"
ESCAPE = 0x1B  # \e
BYTES: CharSet = ((0, 255),)


class Scanner:
    """A position in a pattern, and the flags that hold there."""

    # What differs between dialects; json_schema/strings/ecma.py is another one.
    EXTENDED = True  # \e, \u{...} and \x{...} are read: Python gives them no other meaning
    LENIENT_CLASSES = False  # [] and [^] are classes, and the minus in [\w-.] is one of the characters
    LINE_ENDS: CharSet = charset.NEWLINE

    def __init__(self, pattern: str | bytes, tick: Callable[[], None]):
        self.tick = tick
        self.binary = isinstance(pattern, bytes)
        self.text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        self.at = 0
        self.flags = 0

    def error(self, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return kind(f"{message}, at line {line}, column {column} of the regex:\n{caret(self.text, at)}", position=at)

    def peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def take(self, expected: str) -> bool:
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def until(self, end: str, what: str, start: int) -> str:
        close = self.text.find(end, self.at)
        if close < 0:
            raise self.error(f"{what} is not closed: {end!r} is missing", start)
        found = self.text[self.at : close]
        self.at = close + len(end)
        return found

    # ------------------------------------------------------------------ sets of characters

    def universe(self) -> CharSet:
        return BYTES if self.binary else charset.ALL

    def complement(self, chars: CharSet) -> CharSet:
        return charset.intersect(charset.negate(chars), BYTES) if self.binary else charset.negate(chars)

    def fold(self, chars: CharSet) -> CharSet:
        if not self.flags & IGNORECASE:
            return chars
        return charset.ignore_case(chars, bool(self.flags & UNICODE) and not self.binary)

    def category(self, letter: str) -> CharSet:
        lower = letter.lower()
        unicode = self.flags & UNICODE and not self.binary
        chars = charset.unicode_category(lower) if unicode else CATEGORIES[lower]
        return chars if letter == lower else self.complement(chars)

    def property(self, letter: str, start: int) -> CharSet:
        if self.binary:
            raise self.error(f"bad escape \\{letter}: bytes have no Unicode properties", start)
        if self.take("{"):
            name = self.until("}", f"\\{letter}{{", start)
        else:
            name = self.peek()
            self.at += 1
        negated = name.startswith("^")
        name = name.removeprefix("^")
        try:
            chars = charset.unicode_property(name)
        except KeyError:
            raise self.error(f"unknown Unicode property {name[:40]!r}; e.g. L, Lu, Greek, Script=Han", start) from None
        return self.complement(chars) if negated != (letter == "P") else chars

    def bracket(self, start: int) -> CharSet:
        """[...]: the opening bracket has been read."""
        negated = self.take("^")
        ranges: list[CharSet] = []
        first = self.at
        while True:
            here = self.at
            if here >= len(self.text):
                raise self.error("unterminated character set: ']' is missing", start)
            if self.peek() == "]" and (here > first or self.LENIENT_CLASSES):
                self.at += 1
                break
            self.tick()
            low = self.bracket_item(here)
            if self.peek() != "-" or self.peek(2) == "-]" or self.at + 1 >= len(self.text):
                ranges.append(((low, low),) if isinstance(low, int) else low)
                continue
            self.at += 1
            high = self.bracket_item(self.at)
            is_range = isinstance(low, int) and isinstance(high, int)
            if is_range and low <= high:  # type: ignore[operator]
                ranges.append(((low, high),))  # type: ignore[arg-type]
            elif is_range or not self.LENIENT_CLASSES:
                raise self.error(f"bad character range {self.text[here : self.at]}", here)
            else:
                ranges += [((end, end),) if isinstance(end, int) else end for end in (low, 0x2D, high)]
        chars = self.fold(charset.union(*ranges))
        return self.complement(chars) if negated else chars

    def bracket_item(self, start: int) -> int | CharSet:
        char = self.peek()
        self.at += 1
        if char != "\\":
            return ord(char)
        letter = self.escape_letter(start)
        if letter in "dDsSwW":
            return self.category(letter)
        if letter in "pP":
            return self.property(letter, start)
        if letter == "b":
            return 8
        return self.escaped_character(letter, start, in_bracket=True)

    # ------------------------------------------------------------------ escapes

    def skip_comment(self, end: str) -> bool:
        """Skips past `end`, over escaped characters as `re` does; False where the pattern ends first."""
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == end:
                return True
            if char == "\\":
                self.escape_letter(self.at - 1)
        return False

    def escape_letter(self, start: int) -> str:
        if self.at >= len(self.text):
            raise self.error("bad escape: the pattern ends with a backslash", start)
        self.at += 1
        return self.text[self.at - 1]

    def is_octal(self) -> bool:
        """Three octal digits are a character, fewer are a back-reference (one digit has been read)."""
        digits = self.text[self.at - 1 : self.at + 2]
        return len(digits) == 3 and all(d in OCTAL for d in digits)

    def escaped_character(self, letter: str, start: int, in_bracket: bool = False) -> int:
        if letter in CONTROLS:
            return CONTROLS[letter]
        if letter == "e" and self.EXTENDED:
            return ESCAPE
        if letter in "xuU" and not (self.binary and letter != "x"):
            return self.hex_escape(letter, start)
        if letter == "N" and not self.binary and self.take("{"):
            name = self.until("}", "\\N{", start)
            try:
                return ord(unicodedata.lookup(name))
            except (KeyError, TypeError, UnicodeError):
                raise self.error(f"undefined character name {name[:40]!r}", start) from None
        if letter == "0" or (letter in OCTAL and (in_bracket or self.is_octal())):
            digits = letter
            while len(digits) < 3 and self.peek() and self.peek() in OCTAL:
                digits += self.peek()
                self.at += 1
            if int(digits, 8) > 0o377:
                raise self.error(f"octal escape \\{digits} is beyond \\377", start)
            return int(digits, 8)
        if letter.isascii() and letter.isalnum():
            raise self.error(f"bad escape \\{letter}", start)
        return ord(letter)

    def hex_escape(self, letter: str, start: int) -> int:
        if self.EXTENDED and self.take("{"):
            return self.braced_escape(letter, start)
        count = {"x": 2, "u": 4, "U": 8}[letter]
        digits = self.peek(count)
        if len(digits) < count or any(d not in HEX for d in digits):
            raise self.error(f"incomplete escape \\{letter}{digits}: it takes {count} hexadecimal digits", start)
        self.at += count
        value = int(digits, 16)
        if value > charset.LAST:
            raise self.error(f"\\{letter}{digits} is no character", start)
        return value

    def braced_escape(self, letter: str, start: int) -> int:
        digits = self.until("}", f"\\{letter}{{", start)
        if not 1 <= len(digits) <= 8 or any(d not in HEX for d in digits):
            raise self.error(f"\\{letter}{{...}} takes 1 to 8 hexadecimal digits, not {digits[:20]!r}", start)
        value = int(digits, 16)
        if value > (0xFF if self.binary else charset.LAST):
            raise self.error(f"\\{letter}{{{digits}}} is no character", start)
        return value
