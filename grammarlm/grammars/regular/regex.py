"""Regular expressions in Python's syntax.

    Regex(r"[A-Z]{2}-[0-9]{3,5}")      the whole text matches, as with re.fullmatch
    Regex(rb"\\x00[\\x80-\\xff]+")         a bytes pattern: bytes instead of characters

When not to use it: for a list of known strings Choices is quicker to make; for nested brackets no regex will do.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.errors import brief, check_type
from grammarlm.grammars.compose import Grammar

from .derivatives import Algebra
from .syntax import parse_regex
from .terms import Term


@dataclass(frozen=True, repr=False)
class Regex(Grammar):
    """All texts that the pattern matches completely."""

    pattern: str | bytes

    def __post_init__(self) -> None:
        check_type(self.pattern, (str, bytes), "Regex() takes a pattern as str or bytes")

    def __repr__(self) -> str:
        return f"Regex(pattern={brief(self.pattern, 80)})"

    def language(self, algebra: Algebra) -> Term:
        return parse_regex(self.pattern, algebra)
