"""Interned nodes: of sets of atoms with signs, negations, unions, values. Those of schemas are in locations.py."""

from __future__ import annotations

from typing import Any

from grammarlm.grammars.json_schema.shapes.shapes import ANYTHING, Node

from .atoms import NOT_SCALAR, ListAtom, SchemaAtom, TypeAtom, UnionAtom, ValueAtom, identity
from .by_type import NOTHING, SHAPES_OF_TYPES, TYPE_NODES, TYPE_NODES_4

_TYPE_ATOMS: list[Any] = [TypeAtom(by_type) for by_type in SHAPES_OF_TYPES]
_TYPE_KEYS = {node.key: node for node in (ANYTHING, *TYPE_NODES.values(), *TYPE_NODES_4.values())}


class Nodes:
    """The nodes of one schema."""

    def __init__(self) -> None:
        self.atoms: list[Any] = _TYPE_ATOMS.copy()
        self.by_key: dict[frozenset[int], Node] = _TYPE_KEYS.copy()
        self.others: dict[Any, Node] = {}  # nodes of lists, unions, values, scalars
        self._kept: list[Any] = []  # keeps values alive that are identified by id()

    def new(self, atom: Any) -> Node:
        """The node of a new atom."""
        key = frozenset((2 * len(self.atoms),))
        self.atoms.append(atom)
        node = self.by_key[key] = Node(key=key, pointer=atom.pointer)
        return node

    def of(self, key: frozenset[int], pointer: str) -> Node:
        """The node of a key."""
        known = self.by_key.get(key)
        if known is None:
            known = self.by_key[key] = Node(key=key, pointer=pointer)
        return known

    def negate(self, node: Node) -> Node:
        """The complement of the node."""
        if node is ANYTHING:
            return NOTHING
        if node is NOTHING:
            return ANYTHING
        if len(node.key) == 1:
            (code,) = node.key
            return self.of(frozenset((code ^ 1,)), node.pointer)
        return self.union([self.of(frozenset((code ^ 1,)), node.pointer) for code in sorted(node.key)], node.pointer)

    def union(self, nodes: list[Node], pointer: str) -> Node:
        """The union."""
        found = tuple(dict.fromkeys(node for node in nodes if node is not NOTHING))
        if ANYTHING in found:
            return ANYTHING
        if len(found) < 2:
            return found[0] if found else NOTHING
        known = self.others.get(("union", found))
        if known is None:
            known = self.others["union", found] = self.new(UnionAtom(found, pointer))
        return known

    def value(self, value: Any, pointer: str) -> Node:
        """The node of one value."""
        key = identity(value)
        known = self.others.get(key)
        if known is None:
            self._kept.append(value)
            known = self.others[key] = self.new(ValueAtom(value, pointer))
        return known

    def listed(self, values: tuple[Any, ...], pointer: str) -> Node:
        """The node of some scalars."""
        key = ("list", tuple([identity(value) for value in values]))
        known = self.others.get(key)
        if known is None:
            known = self.others[key] = self.new(ListAtom(values, pointer))
        return known

    def is_scalar(self, node: Node) -> bool:
        """Is it one schema without keywords about items or keys? Conjunctions with it create no new nodes further down."""
        if len(node.key) != 1:
            return not node.key
        (code,) = node.key
        return self.is_scalar_atom(code)

    def schema_of(self, node: Node) -> dict[str, Any] | None:
        """The schema, if the node is a single one."""
        if len(node.key) != 1:
            return None
        (code,) = node.key
        atom = None if code & 1 else self.atoms[code >> 1]
        return atom.schema if atom.__class__ is SchemaAtom else None

    def is_scalar_atom(self, code: int) -> bool:
        """Is an atom certainly about scalars alone? `code`: 2 * its number, and 1 where it is negated."""
        atom = self.atoms[code >> 1]
        if atom.__class__ is SchemaAtom:
            return not atom.mask & NOT_SCALAR and not atom.holds_containers
        return atom.__class__ is TypeAtom or atom.__class__ is ListAtom
