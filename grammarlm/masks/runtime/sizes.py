"""The size of a grammar's description, checked against the limits before any of it is read.

Most of reading is a loop that checks the clock, but some single calls cannot be stopped: a schema is unpacked, strings
are sorted and packed, a text is split. Their cost is bounded here, by counts that cost next to nothing: bytes, and
things that become objects. Both are estimates: a lower bound of the time, the usual amount of memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.items.token_list import TokenList
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.terms import ROOM
from grammarlm.grammars.substring import Substring

from .limits import Clock, Limits

SMALL = 1 << 16  # bytes of a description; smaller ones are not checked
FEW = 1_000  # likewise, in things
WIDE = range(SMALL + 1)  # in place of a text
BYTES_A_MS, THINGS_A_MS = 500_000, 1_000  # highest speed of the single calls that read them
MEMORY_A_BYTE, MEMORY_A_THING = 6, 450
THINGS_A_DOCUMENT = 3  # for each document of a registry: its address, the bytes stored, their content
LETTERS_AS_BYTES = 4  # factor for strings that are sorted, and whose bytes are classified
# Marks in marshal's format: short strings, lists and dicts; longer strings and small numbers contain zeros.
MARKS = (b"{", b"[", b"z", b"Z", b"\xfb", b"\xdb", b"\xfa", b"\xda", b"\0\0")
SIGNS = (",", "{", "[")  # in JSON text: there are at most as many values as these, plus one
PIECES = ("\n", '"', "[", "(", "|")  # in a grammar's text: it has about half as many parts as these
DEEPEST = 500  # nested combinations


def check_size(grammar: Grammar, limits: Limits) -> None:
    """LimitExceeded where the description is larger than max_ms or max_bytes allow."""
    if type(grammar) is JsonSchema:
        if grammar.is_small:
            return
    elif len(getattr(grammar, "pattern", None) or getattr(grammar, "text", None) or WIDE) <= SMALL:
        return
    _Size(limits).add(grammar)


class _Size:
    """The counted size of a description."""

    def __init__(self, limits: Limits):
        self._limits, self._clock = limits, Clock(limits)
        self.bytes = self.things = 0

    def count(self, size: int, things: int = 0) -> None:
        self.bytes, self.things = self.bytes + size, self.things + things
        if self.bytes <= SMALL and self.things <= FEW:
            return
        took = self.bytes / BYTES_A_MS + self.things / THINGS_A_MS  # milliseconds
        memory = MEMORY_A_BYTE * self.bytes + MEMORY_A_THING * self.things
        if took > self._limits.max_ms:
            raise LimitExceeded(
                f"the description has {self._counts}: reading it takes {took:,.0f} ms or more, limits.max_ms is "
                f"{self._limits.max_ms:g}; make it smaller, or raise the limit"
            )
        if memory > 2 * self._limits.max_bytes + ROOM:
            raise LimitExceeded(
                f"the description has {self._counts}: reading it takes about {memory:,} bytes, limits.max_bytes is "
                f"{self._limits.max_bytes:,}; make it smaller, or raise the limit"
            )

    @property
    def _counts(self) -> str:
        return f"{self.bytes:,} bytes" + (f" and about {self.things:,} parts" if self.things else "")

    def add(self, grammar: Grammar) -> None:
        """Counts every part as often as it occurs: one that occurs in two places is read twice."""
        waiting: list[tuple[Grammar, int]] = [(grammar, 0)]
        while waiting:
            self._clock.tick()
            part, depth = waiting.pop()
            if not part.operands:
                self._add_plain(part)
                continue
            if depth == DEEPEST:
                raise LimitExceeded(f"the grammar has more than {DEEPEST} combinations within each other; flatten it")
            self.count(0, len(part.operands))
            waiting += [(inner, depth + 1) for inner in part.operands]

    def _add_plain(self, part: Any) -> None:
        if isinstance(part, JsonSchema):
            sources = part.sources()
            self.count(0, THINGS_A_DOCUMENT * (len(sources) - 1))
            for source in sources:
                self._clock.tick()
                self._add_source(source)
            if isinstance(part.property_order, tuple):
                self.count(0, len(part.property_order))
            return
        if isinstance(part, TokenList):
            self._add_strings((part.separator,))
            part = part.items
        if isinstance(part, Tokens):
            self._add_strings(part.strings or ())
            self.count(0 if part.strings is not None else part.rows.nbytes // MEMORY_A_BYTE)  # sorted, in as many bytes
            return
        for name in ("pattern", "text"):
            if found := getattr(part, name, None):
                self.count(len(found))
                if name == "text" and len(found) > SMALL and not isinstance(part, (Literal, Substring)):
                    self.count(0, sum(map(found.count, PIECES)) // 2)
        for name in ("strings", "until", "excludes"):
            if found := getattr(part, name, None):
                self._add_strings((found,) if isinstance(found, str) else found)

    def _add_strings(self, strings: Iterable[str]) -> None:
        strings = tuple(strings)
        self.count(0, len(strings))
        self.count(sum(map(len, strings)) * LETTERS_AS_BYTES)

    def _add_source(self, source: object) -> None:
        if isinstance(source, (dict, list)):
            self._add_data(source)
            return
        if not isinstance(source, (bytes, str)):
            return
        self.count(len(source))
        if len(source) > SMALL:
            marks: Any = MARKS if isinstance(source, bytes) else SIGNS
            for mark in marks:
                self.count(0, source.count(mark))

    def _add_data(self, data: Any) -> None:
        """Dicts and lists that marshal does not write; one that occurs in several places is read once."""
        waiting, seen = [data], {id(data)}
        for here in waiting:  # it grows
            inner = list(here.values()) if isinstance(here, dict) else here
            self.count(0, len(inner) + 1)
            below = [value for value in inner if isinstance(value, (dict, list)) and id(value) not in seen]
            seen.update(map(id, below))
            waiting += below
