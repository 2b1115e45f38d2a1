"""Conjunctions of nodes.

Where one of the atoms lists its values, the other constraints on scalars are applied to each value at once: in a choice by the
value of a key most conjunctions turn out to be empty right here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.strings import strings

from .atoms import ListAtom, SchemaAtom
from .by_type import FALSE, NOTHING, NULL, NUMBERS, SHAPES_OF_TYPES, STRINGS, TRUE, Conjunction

if TYPE_CHECKING:
    from .normaliser import Normaliser


def conjunction(n: Normaliser, key: frozenset[int], pointer: str) -> Conjunction:
    n.tick()
    denied = False
    for code in key:
        if code & 1:
            if code ^ 1 in key:
                return NOTHING
            denied = True
    for code in key:
        if not code & 1 and _listed(n, code) is not None:
            return _among_listed(n, key, code, pointer)
    if denied and _contradicts(n, key):
        return NOTHING
    return Conjunction(key, pointer)


def _listed(n: Normaliser, code: int) -> tuple[Any, ...] | None:
    """The values of an atom that lists scalars."""
    atom = n.nodes.atoms[code >> 1]
    return atom.listed if atom.__class__ is SchemaAtom or atom.__class__ is ListAtom else None


def _among_listed(n: Normaliser, key: frozenset[int], code: int, pointer: str) -> Conjunction:
    """A conjunction with a list of values: the other atoms about scalars are applied to each value and removed."""
    values = _listed(n, code) or ()
    others = [other for other in key if other != code and n.nodes.is_scalar_atom(other)]
    if any(v.__class__ is int for v in values):
        others = [other for other in others if not _spells(n, other)]
    if not others:
        return Conjunction(key, pointer)
    kept = tuple(v for v in values if all(_has(n, other, v) for other in others))
    if not kept:
        return NOTHING
    rest = key.difference(others)
    if len(kept) < len(values):
        node = n.nodes.listed(kept, pointer)
        rest = rest - {code} | node.key
    return n.nodes.of(rest, pointer)


def _spells(n: Normaliser, code: int) -> bool:
    """Does an atom distinguish 1 and 1.0, as draft 4 does?"""
    atom = n.nodes.atoms[code >> 1]
    return atom.resource.plain_integers if atom.__class__ is SchemaAtom else code >> 1 == len(SHAPES_OF_TYPES) - 1


def _has(n: Normaliser, code: int, value: Any) -> bool:
    """Does a signed atom about scalars admit a scalar?"""
    by_type = n.of_atoms.get((code & ~1, False))
    if by_type is None:
        by_type = n.of_atoms[code & ~1, False] = n.nodes.atoms[code >> 1].shapes_by_type(n, True, False)
    if isinstance(value, str):
        held = any(strings.has(s, value, n.languages) for s in by_type[STRINGS])
    elif value.__class__ is int:
        held = any(numbers.has(s, Fraction(value)) for s in by_type[NUMBERS])
    else:
        held = bool(by_type[NULL if value is None else TRUE if value else FALSE])
    return held != bool(code & 1)


def _contradicts(n: Normaliser, key: frozenset[int]) -> bool:
    """Does the key contain a schema and the negation of an identical one?"""
    held = [a for c in key if not c & 1 and (a := n.nodes.atoms[c >> 1]).__class__ is SchemaAtom]
    for code in key:
        denied = n.nodes.atoms[code >> 1]
        if code & 1 and denied.__class__ is SchemaAtom:
            for atom in held:
                is_together = atom.resource is denied.resource and atom.scope == denied.scope
                if atom.mask == denied.mask and is_together and identical(atom.schema, denied.schema):
                    return True
    return False


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
