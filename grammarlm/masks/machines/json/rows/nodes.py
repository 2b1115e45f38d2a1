"""Nodes as rows: a row is reserved at the first reference to a node and filled when its turn comes."""

from __future__ import annotations

from grammarlm.grammars.json_schema.nodes.by_type import TYPE_NODES, TYPE_NODES_4
from grammarlm.grammars.json_schema.shapes.shapes import Node

from .string_shapes import spellable
from .template import TEMPLATE_AT

TYPES_AT = {id(node): TEMPLATE_AT["type " + name] for name, node in TYPE_NODES.items()}
TYPES_AT[id(TYPE_NODES_4["integer"])] = TEMPLATE_AT["type plain integer"]


class NodeRows:
    """The nodes of one program, and those that wait for their alternatives."""

    def __init__(self, rows: list[int]):
        self._rows = rows
        self._at: dict[int, int] = dict(TYPES_AT)  # by id of the node
        self._kept: list[Node] = []  # so that no other node gets one of these ids
        self._waiting: list[Node] = []

    def row(self, node: Node) -> int:
        """The offset of a node's row; -1 where it has no values."""
        if node.is_anything:
            return TEMPLATE_AT["anything"]
        known = self._at.get(id(node))
        if known is None:
            count = len(spellable(node))
            if not count:
                return -1
            known = self._at[id(node)] = len(self._rows)
            self._kept.append(node)
            self._rows += [count, 0] + [0] * (2 * count)
            self._waiting.append(node)
        return known

    def next_waiting(self) -> tuple[Node, int] | None:
        """A node whose row is empty, and where the alternatives of its row begin; None: there is none."""
        if not self._waiting:
            return None
        node = self._waiting.pop()
        return node, self._at[id(node)] + 2
