"""What loading a grammar yields: rules without operators, and terminals with their patterns."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

if sys.version_info >= (3, 11):
    from re import _parser as sre_parse  # ty: ignore
else:
    import sre_parse

UNICODE_CATEGORY = re.compile(r"\\p\{")


class Rare(Exception):
    """What this loader does not read, or would refuse: lark's own loader takes over, and words the refusal."""


class Symbol(NamedTuple):
    name: str
    is_terminal: bool


class Rule(NamedTuple):
    origin: str
    expansion: tuple[Symbol, ...]
    priority: int


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
        """The lengths of its shortest and longest text."""
        if self.kind == "str":
            return len(self.value), len(self.value)
        if UNICODE_CATEGORY.search(self.regex):
            raise Rare
        try:
            least, most = sre_parse.parse(self.regex).getwidth()
        except re.error:
            raise Rare from None
        return int(least), int(most)


@dataclass(frozen=True)
class TerminalDefinition:
    name: str
    pattern: Pattern
    priority: int = 0


class Parts(NamedTuple):
    """All of a grammar, as lark's loader returns it."""

    terminals: list[TerminalDefinition]
    rules: list[Rule]
    ignored: list[str]
