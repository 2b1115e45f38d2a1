"""A context-free grammar without a lexer, as its reader returns it: named rules over characters.

    Rules("root", {"root": Alternatives((Sequence((Text(b"("), Call("root", 9), Text(b")"))), Text(b"x")))})

Readers (gbnf.py, ebnf.py) produce this, pushdown.py turns it into an automaton. A node refers to another rule by name only, and
readers keep trees flat: brackets around one thing add no node, so 100,000 brackets are no deeper than one. Nodes are never
modified; they are not frozen because frozen objects take three times as long to create.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.grammars.regular.charset import CharSet


@dataclass(slots=True, unsafe_hash=True)
class Text:
    """These bytes."""

    data: bytes


@dataclass(slots=True, unsafe_hash=True)
class Chars:
    """One character from a set."""

    chars: CharSet


@dataclass(slots=True, unsafe_hash=True)
class Call:
    """A text of another rule; `position` is the offset of the name in the grammar."""

    name: str
    position: int


@dataclass(slots=True, unsafe_hash=True)
class Pattern:
    """A text that a regular expression (grammars/regular/syntax.py) matches completely."""

    regex: str
    position: int


@dataclass(slots=True, unsafe_hash=True)
class Token:
    """One token by its text or id, never through its bytes: a special token such as <|tool_call|>."""

    name: str | int
    position: int


@dataclass(slots=True, unsafe_hash=True)
class OtherToken:
    """Any one token but these and those that end a text, by its id; never through its bytes."""

    excluded: tuple[int, ...]
    position: int


@dataclass(slots=True, unsafe_hash=True)
class Sequence:
    """All parts, in this order; without parts: the empty text."""

    parts: tuple[Node, ...]


@dataclass(slots=True, unsafe_hash=True)
class Alternatives:
    """Any of the parts; without parts: the empty language."""

    parts: tuple[Node, ...]


@dataclass(slots=True, unsafe_hash=True)
class Repeat:
    """The body from `low` to `high` times, None = unbounded."""

    body: Node
    low: int
    high: int | None


Node = Text | Chars | Call | Pattern | Token | OtherToken | Sequence | Alternatives | Repeat


@dataclass(frozen=True)
class Rules:
    """Rules by name, and the start rule. Readers have checked that every name called has a rule."""

    start: str
    bodies: dict[str, Node]
