"""Interned nodes: conjunctions, negations, unions, values. Those of schemas are in places.py.

Conjunctions are sets of atoms. Where one of them lists its values, the other constraints on scalars are applied to each value at
once: in a choice by the value of a key most conjunctions turn out to be empty right here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ...errors import GrammarError, UnsupportedFeature, placed_error
from . import numbers, strings
from .atoms import NOT_SCALAR, ListAtom, SchemaAtom, TypeAtom, UnionAtom
from .document import Document
from .formats import SOUND
from .languages import Languages, only_format
from .parts import (
    ANYTHING,
    FALSE,
    NOTHING,
    NULL,
    NUMBERS,
    STRINGS,
    TRUE,
    TYPE_NODES,
    TYPE_NODES_4,
    TYPE_PARTS,
    Parts,
    Work,
)
from .shapes import Language, StringShape
from .values import ValueAtom, identity

MULTIPLIED = ("oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "contains")  # keywords that multiply cases
MOST_ALTERNATIVES = 256


class Nodes:
    def __init__(
        self,
        document: Document,
        languages: Languages,
        tick: Callable[[], None] = lambda: None,
        relaxed: frozenset[str] = frozenset(),
        scoped: bool = False,
    ):
        self.document = document
        self.languages = languages
        self.tick = tick
        self.relaxed = relaxed  # pointers of keywords to leave out
        self.scoped = scoped  # the dynamic scope is a part of every place
        self.plain_places = not scoped and not relaxed
        self.formats = "assert" if document.formats else "annotation"
        self.atoms: list[Any] = _TYPE_ATOMS.copy()
        self.nodes: dict[frozenset[int], Work] = _TYPE_KEYS.copy()
        self._known: dict[tuple[int, bool], Parts] = {}
        self._others: dict[Any, Work] = {}  # nodes of lists, unions, values, scalars
        self._patterns: dict[str, Language] = {}
        self._words: dict[tuple[str, ...], frozenset[str]] = {}
        self._kept: list[Any] = []  # keeps objects alive that are identified by id()
        self._moved: dict[int, str] = {}  # pointers of lists of alternatives that are read elsewhere

    def new(self, atom: Any) -> Work:
        """The node of a new atom."""
        key = frozenset((2 * len(self.atoms),))
        self.atoms.append(atom)
        node = self.nodes[key] = Work(key, atom.pointer)
        return node

    # ------------------------------------------------------------------ conjunctions

    def meet(self, a: Work, b: Work) -> Work:
        """The intersection."""
        if a is b or b is ANYTHING:
            return a
        if a is ANYTHING:
            return b
        if a is NOTHING or b is NOTHING:
            return NOTHING
        key = a.key | b.key
        known = self.nodes.get(key)
        if known is None:
            known = self.nodes[key] = self._conjunction(key, a.pointer or b.pointer)
        return known

    def _conjunction(self, key: frozenset[int], pointer: str) -> Work:
        self.tick()
        denied = False
        for code in key:
            if code & 1:
                if code ^ 1 in key:
                    return NOTHING
                denied = True
        for code in key:
            if not code & 1 and self._listed(code) is not None:
                return self._among_listed(key, code, pointer)
        if denied and self._contradicts(key):
            return NOTHING
        return Work(key, pointer)

    def _listed(self, code: int) -> tuple[Any, ...] | None:
        """The values of an atom that lists scalars."""
        atom = self.atoms[code >> 1]
        return atom.listed if atom.__class__ is SchemaAtom or atom.__class__ is ListAtom else None

    def _among_listed(self, key: frozenset[int], code: int, pointer: str) -> Work:
        """A conjunction with a list of values: the other atoms about scalars are applied to each value and removed."""
        values = self._listed(code) or ()
        said = [other for other in key if other != code and self._is_scalar(other)]
        if any(v.__class__ is int for v in values):
            said = [other for other in said if not self._spells(other)]
        if not said:
            return Work(key, pointer)
        kept = tuple(v for v in values if all(self._has(other, v) for other in said))
        if not kept:
            return NOTHING
        rest = key.difference(said)
        if len(kept) < len(values):
            named = ("list", tuple([identity(v) for v in kept]))
            node = self._others.get(named)
            if node is None:
                node = self._others[named] = self.new(ListAtom(kept, pointer))
            rest = rest - {code} | node.key
        known = self.nodes.get(rest)
        if known is None:
            known = self.nodes[rest] = Work(rest, pointer)
        return known

    def _spells(self, code: int) -> bool:
        """Does an atom distinguish 1 and 1.0, as draft 4 does?"""
        atom = self.atoms[code >> 1]
        return atom.resource.plain_integers if atom.__class__ is SchemaAtom else code >> 1 == len(TYPE_PARTS) - 1

    def _has(self, code: int, value: Any) -> bool:
        """Does a signed atom about scalars admit a scalar?"""
        parts = self._known.get((code & ~1, False))
        if parts is None:
            parts = self._known[code & ~1, False] = self.atoms[code >> 1].parts(self, True, False)
        if isinstance(value, str):
            held = any(strings.has(s, value, self.languages) for s in parts[STRINGS])
        elif value.__class__ is int:
            held = any(numbers.has(s, Fraction(value)) for s in parts[NUMBERS])
        else:
            held = bool(parts[NULL if value is None else TRUE if value else FALSE])
        return held != bool(code & 1)

    def _contradicts(self, key: frozenset[int]) -> bool:
        """Does the key contain a schema and the negation of an identical one?"""
        held = [a for c in key if not c & 1 and (a := self.atoms[c >> 1]).__class__ is SchemaAtom]
        for code in key:
            denied = self.atoms[code >> 1]
            if code & 1 and denied.__class__ is SchemaAtom:
                for atom in held:
                    same_place = atom.resource is denied.resource and atom.scope == denied.scope
                    if atom.mask == denied.mask and same_place and identical(atom.schema, denied.schema):
                        return True
        return False

    # ------------------------------------------------------------------ negations, unions, values

    def negate(self, node: Work) -> Work:
        """The complement of the node."""
        if node is ANYTHING:
            return NOTHING
        if node is NOTHING:
            return ANYTHING
        if len(node.key) == 1:
            (code,) = node.key
            return self._signed(code ^ 1, node.pointer)
        return self.union([self._signed(code ^ 1, node.pointer) for code in sorted(node.key)], node.pointer)

    def _signed(self, code: int, pointer: str) -> Work:
        key = frozenset((code,))
        known = self.nodes.get(key)
        if known is None:
            known = self.nodes[key] = Work(key, pointer)
        return known

    def union(self, nodes: list[Work], pointer: str) -> Work:
        """The union."""
        found = tuple(dict.fromkeys(node for node in nodes if node is not NOTHING))
        if ANYTHING in found:
            return ANYTHING
        if len(found) < 2:
            return found[0] if found else NOTHING
        known = self._others.get(("union", found))
        if known is None:
            known = self._others["union", found] = self.new(UnionAtom(found, pointer))
        return known

    def value(self, value: Any, pointer: str) -> Work:
        """The node of one value."""
        key = identity(value)
        known = self._others.get(key)
        if known is None:
            self._kept.append(value)
            known = self._others[key] = self.new(ValueAtom(value, pointer))
        return known

    # ------------------------------------------------------------------ languages

    def pattern(self, text: str, atom: SchemaAtom) -> Language:
        """The language of a key of patternProperties."""
        known = self._patterns.get(text)
        if known is None:
            listed = words_of(text)
            if listed is None:
                known = frozenset([("pattern", text, True)])
                self.check_language(known, f"{atom.pointer}/patternProperties")
            else:
                known = frozenset([("words", listed, True)])
            self._patterns[text] = known
        return known

    def check_language(self, language: Language, pointer: str) -> None:
        """Raises the errors of a pattern or format here, where the pointer is known."""
        if only_format(language) in SOUND:
            return
        try:
            self.languages.term(language)
        except GrammarError as error:
            if error.pointer is None:
                raise placed_error(error, pointer) from None
            raise

    def has_key(self, language: Language, name: str) -> bool:
        """Is a key in a language? Lists of words use a hash lookup instead of a walk."""
        rest = []
        for part in language:
            if part[0] == "words":
                words = self._words.get(part[1])  # type: ignore[arg-type]
                if words is None:
                    words = self._words[part[1]] = frozenset(part[1])  # type: ignore[index]
                if (name in words) is not part[2]:
                    return False
            else:
                rest.append(part)
        return not rest or self.languages.has(language if len(rest) == len(language) else frozenset(rest), name)

    def has_string(self, shape: StringShape, text: str) -> bool:
        return strings.has(shape, text, self.languages)

    # ------------------------------------------------------------------ properties of nodes, limits

    def is_scalar(self, node: Work) -> bool:
        """Is it one schema without keywords about items or keys? Conjunctions with it create no new nodes further down."""
        if len(node.key) != 1:
            return not node.key
        (code,) = node.key
        return self._is_scalar(code)

    def schema_of(self, node: Work) -> dict[str, Any] | None:
        """The schema, if the node is a single one."""
        if len(node.key) != 1:
            return None
        (code,) = node.key
        atom = None if code & 1 else self.atoms[code >> 1]
        return atom.schema if atom.__class__ is SchemaAtom else None

    def _is_scalar(self, code: int) -> bool:
        atom = self.atoms[code >> 1]
        if atom.__class__ is SchemaAtom:
            return not atom.mask & NOT_SCALAR and not atom.holds_places
        return atom.__class__ is TypeAtom or atom.__class__ is ListAtom

    def check_size(self, size: int, what: str, pointer: str | None = None) -> None:
        if size > MOST_ALTERNATIVES:
            where = "" if pointer is None else f"{pointer or '#'}: "
            raise UnsupportedFeature(
                f"{where}{what}: more than {MOST_ALTERNATIVES} cases; write the schema with fewer alternatives",
                pointer=pointer,
                keywords=MULTIPLIED,
            )

    def refuse(self, what: str, pointer: str) -> None:
        raise UnsupportedFeature(
            f"{pointer}: {what}, cannot be enforced; leave it out or say it otherwise", pointer=pointer
        )


_TYPE_ATOMS: list[Any] = [TypeAtom(parts) for parts in TYPE_PARTS]
_TYPE_KEYS = {node.key: node for node in (ANYTHING, *TYPE_NODES.values(), *TYPE_NODES_4.values())}


_WORD = r"[A-Za-z0-9_ -]+"  # literal text of a pattern
_WORDS = re.compile(rf"\^(?:({_WORD})|\(({_WORD}(?:\|{_WORD})*)\))\$")


def words_of(pattern: str) -> tuple[str, ...] | None:
    """The words of a pattern such as ^name$ or ^(a|b)$; None where it is of another form."""
    found = _WORDS.fullmatch(pattern)
    if found is None:
        return None
    return (found[1],) if found[1] else tuple(dict.fromkeys(found[2].split("|")))


def identical(a: Any, b: Any) -> bool:
    """The same JSON, where true is not 1."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if a.__class__ is not b.__class__:
            return False
        if isinstance(a, dict):
            if a.keys() != b.keys():
                return False
            stack += [(a[k], b[k]) for k in a]
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif a != b:
            return False
    return True
