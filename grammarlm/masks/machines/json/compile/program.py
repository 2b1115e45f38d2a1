"""From shapes to the rows that the JSON machine runs (layout/json.py has their layout).

The walk over nodes is a worklist, so schemas may be nested to any depth. A node's row is reserved at the first
reference to it and filled when its turn comes, so nodes may contain themselves.
"""

from __future__ import annotations

from array import array

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.json_schema.shapes.shapes import Literal, Node, NumberShape, ObjectShape, StringShape
from grammarlm.grammars.json_schema.shapes.shapes import Shape as JsonShape
from grammarlm.layout.json import Shape
from grammarlm.masks.machines.json.languages import SchemaLanguages
from grammarlm.masks.machines.json.program import JsonProgram
from grammarlm.masks.machines.json.rows.arrays import ArrayRows
from grammarlm.masks.machines.json.rows.nodes import NodeRows
from grammarlm.masks.machines.json.rows.numbers import NumberRows
from grammarlm.masks.machines.json.rows.objects import ObjectRows
from grammarlm.masks.machines.json.rows.string_shapes import UnitedStrings, spellable
from grammarlm.masks.machines.json.rows.strings import StringRows
from grammarlm.masks.machines.json.rows.template import LITERALS, TEMPLATE_ROWS
from grammarlm.masks.machines.json.vocabulary.tables import JsonTables

LARGEST = (1 << 24) - 1  # a row's offset has 24 bits


class ProgramWriter:
    """Writes one program."""

    def __init__(self, texts: SchemaLanguages, tables: JsonTables, first_names: tuple[str, ...] = ()):
        self.texts = texts
        self.rows, self.blob = list(TEMPLATE_ROWS[tables.spelling]), bytearray()
        self.nodes = NodeRows(self.rows)
        self.numbers = NumberRows(self.rows, self.blob, tables.spelling == "plain")
        self.strings = StringRows(self.rows, self.blob, texts, tables)
        self.objects = ObjectRows(self.rows, self.blob, texts, self.nodes, first_names)
        self.arrays = ArrayRows(self.rows, texts, self.nodes, self.numbers)

    def write(self, root: Node) -> JsonProgram:
        return self.finish(self.nodes.row(root))

    def finish(self, start: int) -> JsonProgram:
        """Writes the nodes that were referred to; `start` is the root's row."""
        while (waiting := self.nodes.next_waiting()) is not None:
            node, at = waiting
            for i, shape in enumerate(spellable(node)):
                kind, row = self._alternative(shape, node)
                self.rows[at + 2 * i], self.rows[at + 1 + 2 * i] = kind, row
        if len(self.rows) > LARGEST:
            raise LimitExceeded(
                f"the schema comes down to {len(self.rows):,} words of tables, at most {LARGEST:,} are allowed"
            )
        rows = array("q", self.rows)
        blob_at = 8 * len(rows)
        rows.frombytes(self.blob + bytes(8 - len(self.blob) % 8))
        return JsonProgram(rows, blob_at, start, frozenset(self.arrays.tracked))

    def _alternative(self, shape: JsonShape | UnitedStrings, node: Node) -> tuple[int, int]:
        """Kind and row of a shape."""
        if isinstance(shape, Literal):
            return Shape.LITERAL, LITERALS[shape.text]
        if isinstance(shape, StringShape):
            return self.strings.alternative(shape, node)
        if isinstance(shape, UnitedStrings):
            return Shape.STRING, self.strings.united(shape)
        if isinstance(shape, NumberShape):
            return Shape.NUMBER, self.numbers.row(shape, node)
        if isinstance(shape, ObjectShape):
            return Shape.OBJECT, self.objects.row(shape, node)
        return Shape.ARRAY, self.arrays.row(shape, node)
