"""Random regular expressions, as text, from a seeded generator: small languages that use every construct."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

# One character of each UTF-8 length, word and other characters, a newline, and characters that a class must escape.
ALPHABET = "ab1_Z \n-]é€😀"
_CATEGORIES = [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"]
_RANGES = ["a-b", "a-z", "0-9", "A-Z", " -~", "à-ÿ", "ࠀ-€", "😀-😂", r"\x00-\x7f", r"\u0080-\U0010ffff"]
_REPEATS = ["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{,2}", "{2,}"]
_ANCHORS = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
_FLAGS = ["(?i)", "(?s)", "(?m)", "(?im)", "(?ms)", "(?u)", "(?iu)"]

Expression = str | bytes | tuple[str, Any, Any]


class RandomRegex:
    """`pattern()` draws a pattern; `expression()` a pattern or a tree ("&" | "-" | "|" | "+", left, right) of them.

    `look_around` is the share of items that are a look-ahead or a look-behind.
    """

    def __init__(self, seed: int | str, alphabet: str = ALPHABET, look_around: float = 0.03):
        self._rng = random.Random(seed)
        self._alphabet = alphabet
        self._look_around = look_around

    def expression(self) -> Expression:
        if self._rng.random() < 0.75:
            return self.pattern()
        operator = self._rng.choice("&&--|+")
        return (operator, self.pattern(2), self.pattern(2))

    def pattern(self, depth: int = 3) -> str:
        text = self._alternation(depth)
        if self._rng.random() < 5 * self._look_around:
            text = self._rng.choice(["(?=%s)", "(?!%s)"]) % self._alternation(1) + f"(?:{text})"
        if self._rng.random() < 0.15:
            text = self._rng.choice(_FLAGS) + text
        return text

    def _alternation(self, depth: int) -> str:
        branches = self._rng.choice([1, 1, 1, 2, 3])
        return "|".join(self._sequence(depth) for _ in range(branches))

    def _sequence(self, depth: int) -> str:
        return "".join(self._item(depth) for _ in range(self._rng.choice([0, 1, 1, 2, 2, 3])))

    def _item(self, depth: int) -> str:
        chance = self._rng.random()
        if chance < 0.06:
            return self._rng.choice(_ANCHORS)
        if chance < 0.06 + self._look_around / 2:
            return self._rng.choice(["(?<=%s)", "(?<!%s)"]) % self._atom(0)
        if chance < 0.06 + self._look_around:
            return self._rng.choice(["(?=%s)", "(?!%s)"]) % self._alternation(min(depth, 1))
        if chance < 0.35 + self._look_around:
            return self._atom(depth) + self._rng.choice(_REPEATS) + self._rng.choice(["", "", "?"])
        return self._atom(depth)

    def _atom(self, depth: int) -> str:
        chance = self._rng.random()
        if depth > 0 and chance < 0.35:
            opening = self._rng.choice(["(", "(?:", "(?:", "(?i:", "(?s-i:"])
            return f"{opening}{self._alternation(depth - 1)})"
        if chance < 0.75:
            return re.escape(self._rng.choice(self._alphabet))
        if chance < 0.8:
            return "."
        if chance < 0.85:
            return self._rng.choice(_CATEGORIES)
        return self._character_class()

    def _character_class(self) -> str:
        count = self._rng.randint(1, 3)
        items = [self._rng.choice([self._single, self._range, self._category])() for _ in range(count)]
        return f"[{self._rng.choice(['', '', '^'])}{''.join(items)}]"

    def _single(self) -> str:
        return re.escape(self._rng.choice(self._alphabet))

    def _range(self) -> str:
        return self._rng.choice(_RANGES)

    def _category(self) -> str:
        return self._rng.choice(_CATEGORIES)


def random_byte_patterns(seed: int | str) -> Iterator[bytes]:
    """Patterns of bytes: those of the patterns of text that have no character and no flag of their own."""
    patterns = RandomRegex(seed, "ab1_Z \n-]\xe9\xff")
    while True:
        text = patterns.pattern(2)
        if max(text, default="") <= "\xff" and not re.search(r"\\[uU]|\(\?\w*u", text):
            yield text.encode("latin-1")


def build(expression: Expression, leaf: Callable[[str | bytes], Any]) -> Any:
    """The expression with `leaf` called on each pattern, combined by Python's operators."""
    if not isinstance(expression, tuple):
        return leaf(expression)
    operator, left, right = expression
    a, b = build(left, leaf), build(right, leaf)
    return {"&": lambda: a & b, "|": lambda: a | b, "-": lambda: a - b, "+": lambda: a + b}[operator]()


_CODE = re.compile(r"\\x(..)|\\u(....)|\\U(.{8})|\\(.)|([^\W\d_]|\x1b)", re.DOTALL)
_PART = re.compile(
    rf"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<group>\((?!\?))|(?P<special>\(\?(?:<?[=!]|[a-z-]*[:)]))|{_CODE.pattern}|.",
    re.DOTALL,
)


def respelled(pattern: str, rng: random.Random) -> str:
    r"""The same pattern with spellings that Python does not know: \u{...}, \x{...}, \e, (?<name>...)."""
    names = iter(f"group{place}" for place in range(len(pattern)))

    def code(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        letter = match.group()
        if not digits and (match[4] or rng.random() < 0.5):
            return letter
        if letter == "\x1b":
            return r"\e"
        return rng.choice([r"\u{%s}", r"\x{%s}"]) % (digits or f"{ord(letter):X}")

    def part(match: re.Match[str]) -> str:
        if match["class"]:
            return _CODE.sub(code, match.group())
        if match["special"]:
            return match.group()
        if match["group"]:
            return rng.choice(["(", f"(?<{next(names)}>"])
        return _CODE.sub(code, match.group())

    return _PART.sub(part, pattern)
