"""What loading a grammar yields: rules over numbered symbols, and terminals with their patterns."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

if sys.version_info >= (3, 11):
    from re import _constants as sre_constants  # ty: ignore
    from re import _parser as sre_parse  # ty: ignore
else:
    import sre_constants
    import sre_parse

UNICODE_CATEGORY = re.compile(r"\\p\{[A-Za-z_]+\}")  # which `re` does not know
MAXWIDTH = getattr(sre_parse, "MAXWIDTH", sre_constants.MAXREPEAT)


class Rule(NamedTuple):
    """Symbols are numbers of `Symbols`; `origin` is one, too."""

    origin: int
    expansion: tuple[int, ...]
    priority: int


class Symbols:
    """Terminals and nonterminals by number, in the order in which they were met."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.is_terminal: list[bool] = []
        self._known: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def __call__(self, name: str, is_terminal: bool) -> int:
        known = self._known[is_terminal]
        found = known.get(name)
        if found is None:
            found = known[name] = len(self.names)
            self.names.append(name)
            self.is_terminal.append(is_terminal)
        return found


@dataclass(frozen=True)
class Pattern:
    """A string ("str") or a regular expression ("re"), with flags."""

    kind: Literal["str", "re"]
    value: str
    flags: frozenset[str] = frozenset()

    @cached_property
    def regex(self) -> str:
        regex = re.escape(self.value) if self.kind == "str" else self.value
        for flag in sorted(self.flags):
            regex = f"(?{flag}:{regex})"
        return regex

    @cached_property
    def widths(self) -> tuple[int, int]:
        """The lengths of its shortest and longest text, as lark finds them. Raises ValueError where it is no pattern."""
        if self.kind == "str":
            return len(self.value), len(self.value)
        plain = UNICODE_CATEGORY.sub("A", self.regex)
        try:
            least, most = sre_parse.parse(plain).getwidth()
            return int(least), int(most)
        except re.error:  # the package `regex` has more
            import regex

            try:
                return int(regex.compile(plain).match("") is None), int(MAXWIDTH)
            except regex.error as error:
                raise ValueError(f"/{self.value:.60}/ is no regular expression: {error}") from None


@dataclass(frozen=True)
class TerminalDefinition:
    name: str
    pattern: Pattern
    priority: int = 0
    at: int = field(default=0, compare=False)  # where the grammar has it


class Parts(NamedTuple):
    """All of a grammar. Terminals that are only declared occur in rules alone."""

    symbols: Symbols
    terminals: list[TerminalDefinition]
    rules: list[Rule]
    ignored: list[str]
