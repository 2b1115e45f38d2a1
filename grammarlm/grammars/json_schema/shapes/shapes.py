"""The compiled form of a schema: nodes, and the typed shapes that a value of a node may have.

A **node** is a set of JSON values, given as **alternatives**: a value belongs to the node iff some alternative admits it. An
alternative is a shape of one JSON type with all its constraints merged. Everything decidable in advance has been applied: a shape
that no value satisfies is no alternative, a key or item that cannot exist has a node without alternatives.

    Literal         null, true or false
    StringShape     lengths and languages, or a finite set
    NumberShape     an interval, multiples, integers or not
    ObjectShape     keys with their own nodes, languages of other keys, required keys, number of keys
    ArrayShape      items by position, number of items, number of each kind, uniqueness

Different spellings are the same value: 1, 1.0 and 10e-1; "a" and "\\u0061".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Union

# A language of strings: the intersection of its parts. A part is (kind, text, holds): kind "pattern" (ECMA-262, a search), "format"
# (a name), or "words" (text is a tuple of strings: exactly these); holds=False: the complement. The empty set of parts: every
# string.
Part = tuple[str, "str | tuple[str, ...]", bool]
Language = frozenset[Part]
EVERY_STRING: Language = frozenset()


def without_words(language: Language) -> Language:
    """The language without its lists of words."""
    return frozenset(part for part in language if part[0] != "words")


@dataclass(frozen=True, slots=True)
class Literal:
    text: str  # "null", "true" or "false"


@dataclass(frozen=True, slots=True)
class StringShape:
    minimum: int = 0  # characters (code points)
    maximum: int | None = None
    language: Language = EVERY_STRING
    values: tuple[str, ...] | None = None  # exactly these; then the other fields are ignored


@dataclass(frozen=True, slots=True)
class NumberShape:
    low: Fraction | None = None
    low_open: bool = False  # low itself is excluded
    high: Fraction | None = None
    high_open: bool = False
    integer: bool = False
    fractional: bool = False  # no integers
    multiples: tuple[Fraction, ...] = ()  # a multiple of each of these
    not_multiples: tuple[Fraction, ...] = ()  # and of none of these
    plain: bool = False  # draft 4: an integer has no fraction or exponent


@dataclass(eq=False, slots=True)
class Node:
    """A set of values. Filled in after creation, since nodes can be recursive."""

    alternatives: tuple[Shape, ...] = ()
    is_anything: bool = False  # every JSON value
    pointer: str = ""  # its location in the schema, for messages
    key: frozenset[int] = frozenset()  # its atoms, and what is known before there are alternatives: see by_type.py
    by_type: Sequence[list[Any]] | None = None
    satisfiable: bool = False  # certainly not empty
    seen: bool = False  # reached in the traversal from the root
    kept: bool = False  # can occur below the root

    def __repr__(self) -> str:
        return f"<node {self.pointer or '#'} {sorted(self.key)}>"


class Item(NamedTuple):
    """One way to read an item. `counts`: bit i is set where the item counts for contains[i]."""

    node: Node
    counts: int = 0


Ways = tuple[Item, ...]

ANYTHING = Node(is_anything=True)
ANY_OTHERS: tuple[tuple[Language, Node], ...] = ((EVERY_STRING, ANYTHING),)
ANY_ITEM: Ways = (Item(ANYTHING),)
# A constraint that a shape cannot express, and the pointer of its keyword: the schema is refused if a value can reach the shape.
Refusal = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The keys or items that the applicators of an alternative have evaluated, for unevaluatedProperties and unevaluatedItems."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    everything: bool = False
    prefix: int = 0  # the first `prefix` items
    nodes: frozenset[Node] = frozenset()  # and the items that belong to one of these

    def with_(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            self.everything or other.everything,
            max(self.prefix, other.prefix),
            self.nodes | other.nodes,
        )

    def covers(self, other: Evaluated) -> bool:
        return self.everything or (
            not other.everything
            and self.names >= other.names
            and self.patterns >= other.patterns
            and self.prefix >= other.prefix
            and self.nodes >= other.nodes
        )


@dataclass(eq=False, slots=True)
class ObjectShape:
    # In order of appearance; those only in `required` come last.
    properties: dict[str, Node] = field(default_factory=dict)
    # Keys that are not in `properties`: disjoint languages, each with the node of its values. A key in none of them may not occur.
    # () means: no other keys.
    others: tuple[tuple[Language, Node], ...] = ANY_OTHERS
    required: frozenset[str] = frozenset()  # all of them are in `properties`
    minimum: int = 0  # number of all keys
    maximum: int | None = None
    # If the key is present, these must be, too (all are in `properties`).
    implied: dict[str, frozenset[str]] = field(default_factory=dict)
    # Some key must have a value of a certain node, whichever key it is: each bit is such an obligation. A way to meet obligations:
    # their bits, the node of the key's values (of one language in `others`, and of nothing else), the node of those that meet them.
    obligations: tuple[tuple[int, Node, Node], ...] = ()

    # Only until all keywords are applied, and impossible keys removed:
    tail: frozenset[str] = frozenset()  # properties that are not declared, only mentioned: they come last
    # Obligations: a key in the language, with a value of the node, must occur (and the pointer of the keyword that requires it).
    some: tuple[tuple[Language, Node, str], ...] = ()
    evaluated: Evaluated | None = None
    refusal: Refusal | None = None


@dataclass(eq=False, slots=True)
class ArrayShape:
    prefix: tuple[Ways, ...] = ()  # by position; several ways are disjoint or count at most once too few
    rest: Ways = ANY_ITEM  # after the prefix; (): no more items
    minimum: int = 0
    maximum: int | None = None  # at most len(prefix) where rest is empty, and not beyond a position without ways
    contains: tuple[tuple[int, int | None], ...] = ()  # least and largest number of items that count
    unique: bool = False

    # Only until all keywords are applied:
    evaluated: Evaluated | None = None
    refusal: Refusal | None = None

    def ways(self, position: int) -> Ways:
        return self.prefix[position] if position < len(self.prefix) else self.rest


Shape = Union[Literal, StringShape, NumberShape, ObjectShape, ArrayShape]  # noqa: UP007  (Python 3.10 reads it at import)
