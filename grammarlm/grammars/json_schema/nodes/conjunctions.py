"""Conjunctions of nodes.

Where one of the atoms lists its values, the other constraints on scalars are applied to each value at once: in a choice by the
value of a key most conjunctions turn out to be empty right here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grammarlm.grammars.json_schema.shapes.shapes import Node

from .atoms import ListAtom, SchemaAtom
from .by_type import NOTHING, SHAPES_OF_TYPES
from .interning import Nodes


def conjunction(nodes: Nodes, key: frozenset[int], pointer: str, admits: Callable[[int, Any], bool]) -> Node:
    """The node of a key. `admits(code, value)`: does a signed atom about scalars admit a scalar?"""
    denied = False
    for code in key:
        if code & 1:
            if code ^ 1 in key:
                return NOTHING
            denied = True
    for code in key:
        if not code & 1 and _listed(nodes, code) is not None:
            return _among_listed(nodes, key, code, pointer, admits)
    if denied and _contradicts(nodes, key):
        return NOTHING
    return Node(key=key, pointer=pointer)


def _listed(nodes: Nodes, code: int) -> tuple[Any, ...] | None:
    """The values of an atom that lists scalars."""
    atom = nodes.atoms[code >> 1]
    return atom.listed if atom.__class__ is SchemaAtom or atom.__class__ is ListAtom else None


def _among_listed(
    nodes: Nodes, key: frozenset[int], code: int, pointer: str, admits: Callable[[int, Any], bool]
) -> Node:
    """A conjunction with a list of values: the other atoms about scalars are applied to each value and removed."""
    values = _listed(nodes, code) or ()
    others = [other for other in key if other != code and nodes.is_scalar_atom(other)]
    if any(v.__class__ is int for v in values):
        others = [other for other in others if not _spells(nodes, other)]
    if not others:
        return Node(key=key, pointer=pointer)
    kept = tuple(v for v in values if all(admits(other, v) for other in others))
    if not kept:
        return NOTHING
    rest = key.difference(others)
    if len(kept) < len(values):
        node = nodes.listed(kept, pointer)
        rest = rest - {code} | node.key
    return nodes.of(rest, pointer)


def _spells(nodes: Nodes, code: int) -> bool:
    """Does an atom distinguish 1 and 1.0, as draft 4 does?"""
    atom = nodes.atoms[code >> 1]
    return atom.resource.plain_integers if atom.__class__ is SchemaAtom else code >> 1 == len(SHAPES_OF_TYPES) - 1


def _contradicts(nodes: Nodes, key: frozenset[int]) -> bool:
    """Does the key contain a schema and the negation of an identical one?"""
    held = [a for c in key if not c & 1 and (a := nodes.atoms[c >> 1]).__class__ is SchemaAtom]
    for code in key:
        denied = nodes.atoms[code >> 1]
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
