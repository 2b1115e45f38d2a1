"""What the readers of keywords share: nodes, their locations, the languages of strings; and shapes of scalars.

Reading       intersections of nodes, shapes of scalars
Products      intersections and unions of all shapes (products.py)
Normaliser    the loop that computes the shapes of a node (normaliser.py)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from grammarlm.grammars.json_schema.containers.key_languages import KeyLanguages
from grammarlm.grammars.json_schema.containers.values import shapes_of_values
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.read.document import Document
from grammarlm.grammars.json_schema.read.keywords import NUMBER, STRING, TYPE, VALUES
from grammarlm.grammars.json_schema.read.scalars import listings, read_number, read_strings, types
from grammarlm.grammars.json_schema.shapes.shapes import ANYTHING, Node
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.languages import Languages

from .atoms import SchemaAtom, TypeAtom
from .by_type import ANY, EMPTY, FALSE, NOTHING, NULL, NUMBERS, STRINGS, TRUE, TYPES, ByType
from .case_limits import check_size
from .conjunctions import conjunction
from .interning import Nodes
from .locations import Locations

MOST_MULTIPLIED = 65_536  # shapes in a product


class Reading:
    """The nodes of one schema."""

    def __init__(
        self,
        document: Document,
        languages: Languages,
        tick: Callable[[], None] = lambda: None,
        relaxed: frozenset[str] = frozenset(),
        scoped: bool = False,
    ):
        """`relaxed`: pointers of keywords to leave out. `scoped`: the dynamic scope is a part of every location."""
        self.languages, self.tick = languages, tick
        self.formats = "assert" if document.formats else "annotation"
        self.nodes = Nodes()
        self.locations = Locations(document, self.nodes, tick, relaxed, scoped)
        self.key_languages = KeyLanguages(languages)
        self.of_atoms: dict[tuple[int, bool], ByType] = {}  # by code of an atom with its sign, track

    def meet(self, a: Node, b: Node) -> Node:
        """The intersection of two nodes."""
        if a is b or b is ANYTHING:
            return a
        if a is ANYTHING:
            return b
        if a is NOTHING or b is NOTHING:
            return NOTHING
        key = a.key | b.key
        known = self.nodes.by_key.get(key)
        if known is None:
            self.tick()
            known = self.nodes.by_key[key] = conjunction(self.nodes, key, a.pointer or b.pointer, self._admits)
        return known

    def product(self, t: int, a: list[Any], b: list[Any], b_first: bool = False) -> list[Any]:
        """The intersection of shapes of one type. `b_first`: b's properties come first."""
        if a is ANY[t] or not b:
            return b
        if b is ANY[t] or not a or t < STRINGS:
            return a
        if len(a) * len(b) > MOST_MULTIPLIED:
            check_size(len(a) * len(b), "alternatives")
        found = []
        for x in a:
            for y in b:
                met = x if x is y else self.both(t, y, x) if b_first else self.both(t, x, y)
                if met is not None:
                    found.append(met)
            self.tick()
        return found

    def both(self, t: int, a: Any, b: Any) -> Any:
        """The intersection of two shapes of scalars; None where that is certainly empty."""
        if t == STRINGS:
            text = strings.both(a, b, self.languages)
            return None if text.values == () else text
        met = numbers.both(a, b)
        return None if numbers.is_empty(met) else met

    def scalars(self, atom: SchemaAtom) -> ByType:
        """The shapes that satisfy the keywords about scalars, and `enum` and `const`."""
        mask = atom.mask
        found = types(atom) if mask & TYPE else ANY
        if not mask & (VALUES | STRING | NUMBER):
            return found
        by_type = list(found)
        if mask & VALUES:
            for keyword, listed in listings(atom):
                among = shapes_of_values(self.nodes, listed, f"{atom.pointer}/{keyword}", by_type)
                by_type = [self.product(t, among[t], by_type[t]) for t in TYPES]
        if mask & STRING and by_type[STRINGS]:
            by_type[STRINGS] = self.product(STRINGS, by_type[STRINGS], self.strings_of(atom))
        if mask & NUMBER and by_type[NUMBERS]:
            read = read_number(atom)
            if by_type[NUMBERS] is ANY[NUMBERS]:
                by_type[NUMBERS] = EMPTY if numbers.is_empty(read) else [read]
            else:
                by_type[NUMBERS] = self.product(NUMBERS, by_type[NUMBERS], [read])
        return by_type

    def strings_of(self, atom: SchemaAtom) -> list[Any]:
        return read_strings(self.languages, self.formats, atom)

    def _admits(self, code: int, value: Any) -> bool:
        """Does a signed atom about scalars admit a scalar?"""
        by_type = self.of_atoms.get((code & ~1, False))
        if by_type is None:
            by_type = self.of_atoms[code & ~1, False] = self._of_scalar_atom(self.nodes.atoms[code >> 1])
        if isinstance(value, str):
            held = any(strings.has(s, value, self.languages) for s in by_type[STRINGS])
        elif value.__class__ is int:
            held = any(numbers.has(s, Fraction(value)) for s in by_type[NUMBERS])
        else:
            held = bool(by_type[NULL if value is None else TRUE if value else FALSE])
        return held != bool(code & 1)

    def _of_scalar_atom(self, atom: Any) -> ByType:
        if atom.__class__ is SchemaAtom:
            return self.scalars(atom)
        if atom.__class__ is TypeAtom:
            return atom.of_type  # type: ignore[no-any-return]
        return shapes_of_values(self.nodes, list(atom.listed), atom.pointer)
