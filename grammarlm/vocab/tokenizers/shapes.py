r"""Equivalence classes (shapes) of texts that a pre-tokenizer splits alike.

A pattern such as `\p{N}{1,3}| ?[^\s\p{L}\p{N}]+` treats most letters alike. Characters of one general category that the
pattern does not name are one class, and texts with the same sequence of classes, the **shape**, are split alike.
So a vocabulary of 128,000 tokens needs a few thousand lookups. A pattern with an unknown construct keeps all
characters distinct: exact, but slow.

The endings that most patterns name ('s, 'll) distinguish letters only after an apostrophe: letters are kept exactly where one is
before them, in the text itself or at the end of the text before it (`after_apostrophe`).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # ByteLevel's own pattern
_FIRST_CLASS = 0xF0000  # categories are encoded as private-use characters from here on
_PIECE = re.compile(
    r"""
      \\[pP]\{[LMNPSZC][a-z]?\} | \\[sSrntfv] | \(\?(?:i?:|<?[=!]) | \{\d*,?\d*\}
    | (?P<named>\\[^\w\s] | (?!\(\?) [^\\{}-])
    | (?P<hyphen>-)
    """,
    re.VERBOSE,
)
_ENDINGS = re.compile(r"(?:\(\?i:)?'(?:s|t|re|ve|m|ll|d|\|')+(?:\)|(?=\|))\|")  # each is at most two letters
_APOSTROPHE = re.compile(r"'[^']{1,2}")
_FOLDED = "\u017f\u212a\u00df\u1e9e\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06"  # case-insensitive matches of ASCII


class Shapes:
    """The shapes of texts, for a pre-tokenizer from a tokenizer.json."""

    def __init__(self, cuts: Any):
        plain = _Classes(cuts, endings=False)
        self._plain, self._exact = plain, _Classes(cuts, endings=True)

    def of(self, text: str) -> str:
        """The shape of a text with no apostrophe just before it."""
        shape = text.translate(self._plain)
        if "'" in text:
            for found in _APOSTROPHE.finditer(text):
                shape = shape[: found.start()] + found[0].translate(self._exact) + shape[found.end() :]
        return shape

    def after_apostrophe(self, text: str) -> str:
        """The shape of a text after any text, possibly an apostrophe."""
        return text.translate(self._exact)


def ends_with_apostrophe(text: str) -> bool:
    """Can an apostrophe at the end of the text form an ending with the letters after it?"""
    return "'" in text[-2:]


class _Classes(dict[int, str]):
    """Each character's class, encoded as a character, as a table of str.translate."""

    def __init__(self, cuts: Any, endings: bool):
        super().__init__()
        self.named: set[str] | None = set(_FOLDED)
        self.has_patterns = False
        for part in cuts["pretokenizers"] if cuts else ():
            pattern = _pattern(part)
            self.has_patterns |= "Regex" in pattern
            if "String" in pattern:
                self._name(pattern["String"])
            elif (characters := named_in(pattern["Regex"] if endings else _ENDINGS.sub("", pattern["Regex"]))) is None:
                self.named = None
            else:
                self._name(characters)

    def _name(self, characters: str) -> None:
        if self.named is not None:
            self.named |= {form for c in characters for form in (c, *c.lower(), *c.upper())}

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        category = unicodedata.category(character)
        is_class = category not in ("Cc", "Cn") and (code_point > 127 or character.isalnum())
        if self.named is None or character in self.named or (self.has_patterns and not is_class):
            shape = character
        elif not self.has_patterns:
            shape = chr(_FIRST_CLASS)
        else:
            shape = chr(_FIRST_CLASS + 256 * ord(category[0]) + ord(category[1]))
        self[code_point] = shape
        return shape


def _pattern(part: dict[str, Any]) -> dict[str, str]:
    if part["type"] == "ByteLevel":
        return {"Regex": _GPT2} if part.get("use_regex", True) else {"String": ""}
    return part["pattern"] if part["type"] == "Split" else {"Regex": r"\p{N}"}  # Digits


def named_in(pattern: str) -> str | None:
    """The characters that a pattern distinguishes from others of their category; None where that is unknown."""
    named, at, in_class = "", 0, False
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None or (found["hyphen"] and in_class) or pattern.startswith(("[:", "&&"), at):
            return None
        piece = found["named"] or ""
        in_class = (in_class or piece == "[") and piece != "]"
        named += piece.removeprefix("\\")
        at = found.end()
    return named
