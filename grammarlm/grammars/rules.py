"""A context-free grammar without a lexer, as its reader leaves it: named rules over characters.

    Rules("root", {"root": Alternatives((Sequence((Text(b"("), Call("root", 9), Text(b")"))), Text(b"x")))})

Readers make this (gbnf.py, ebnf.py), pushdown.py makes an automaton of it. A node holds no reference to another rule but by name,
and readers keep trees flat: brackets around one thing are that thing, so 100,000 brackets are no deeper than one.
Nobody writes to a node; it is not frozen because a frozen object takes three times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass

from .charset import CharSet


@dataclass(slots=True, unsafe_hash=True)
class Text:
    """These bytes."""

    data: bytes


@dataclass(slots=True, unsafe_hash=True)
class Chars:
    """One character out of a set."""

    chars: CharSet


@dataclass(slots=True, unsafe_hash=True)
class Call:
    """A text of another rule; `position` is where the grammar names it."""

    name: str
    position: int


@dataclass(slots=True, unsafe_hash=True)
class Pattern:
    """A text that a regular expression (grammars/regex_syntax.py) matches as a whole."""

    regex: str
    position: int


@dataclass(slots=True, unsafe_hash=True)
class Token:
    """One token by its text or id, never through its bytes: a special token such as <|tool_call|>."""

    name: str | int
    position: int


@dataclass(slots=True, unsafe_hash=True)
class Sequence:
    """All parts, in this order; none is the empty text."""

    parts: tuple[Node, ...]


@dataclass(slots=True, unsafe_hash=True)
class Alternatives:
    """Any of the parts; none of them is nothing at all."""

    parts: tuple[Node, ...]


@dataclass(slots=True, unsafe_hash=True)
class Repeat:
    """The body from `low` to `high` times, None = without end."""

    body: Node
    low: int
    high: int | None


Node = Text | Chars | Call | Pattern | Token | Sequence | Alternatives | Repeat


@dataclass(frozen=True)
class Rules:
    """Rules by name, and the one that texts follow. Readers have checked that every name called has a rule."""

    start: str
    bodies: dict[str, Node]
