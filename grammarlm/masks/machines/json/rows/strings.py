"""Strings as rows: lengths, the start of a language, or a table of words."""

from __future__ import annotations

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import EVERY_STRING, Node, StringShape
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.languages import only_format
from grammarlm.grammars.json_schema.strings.strings import is_text
from grammarlm.layout.json import Shape
from grammarlm.masks.machines.json.languages import SchemaLanguages
from grammarlm.masks.machines.json.vocabulary.tables import JsonTables

from .string_shapes import UnitedStrings, counted
from .template import TEMPLATE_AT, bound

SHAPES_AT = {StringShape(): TEMPLATE_AT["string"]}
MOST_LENGTHS = 1 << 16  # of strings that have both a language and lengths


class StringRows:
    """The strings of one program."""

    def __init__(self, rows: list[int], blob: bytearray, texts: SchemaLanguages, tables: JsonTables):
        self._rows, self._blob, self._texts, self._tables = rows, blob, texts, tables
        self._written = SHAPES_AT.copy()
        self._all_lengths = False  # does some string of a language have a least length?

    def alternative(self, shape: StringShape, node: Node) -> tuple[int, int]:
        """Kind and row."""
        known = self.of_format(shape)
        if known is None and shape.values is None and shape.language:
            shape = strings.settled(shape, self._texts.languages)
            known = self._written.get(shape)
        if shape.values is not None:
            return Shape.WORDS, self.words(shape.values)
        if known is None:
            known = self._written[shape] = self._new_row(shape, node)
        return Shape.STRING, known

    def of_format(self, shape: StringShape) -> int | None:
        """The row of a string that is written already, or has nothing but a format whose automaton all schemas share;
        None for others."""
        known = self._written.get(shape)
        if known is None and shape.language and not shape.minimum and shape.maximum is None:
            start = self._tables.format_state(only_format(shape.language))
            if start is not None:
                known = self._written[shape] = len(self._rows)
                self._rows += (0, -1, start, 0)
        return known

    def _new_row(self, shape: StringShape, node: Node) -> int:
        shape = counted(shape)
        least, most = bound(shape.minimum), bound(shape.maximum)
        start = lengths = 0
        if shape.language != EVERY_STRING:
            start = self._texts.states.number((self._texts.languages.term(shape.language),))
            if least > 0 or most >= 0:
                lengths = 1
                self._record_lengths(max(least, most), least > 0, node)
        self._rows += [least, most, start, lengths]
        return len(self._rows) - 4

    def united(self, strings: UnitedStrings) -> int:
        languages = self._texts.languages
        term = languages.algebra.alt([languages.term(shape.language) for shape in strings.shapes])
        self._rows += [0, -1, self._texts.states.number((term,)), 0]
        return len(self._rows) - 4

    def _record_lengths(self, longest: int, is_least: bool, node: Node) -> None:
        if longest > MOST_LENGTHS:
            raise UnsupportedFeature(
                f"a pattern or format together with a length of {longest:,} characters (at most {MOST_LENGTHS:,})",
                pointer=node.pointer,
                keywords=("minLength", "maxLength"),
            )
        # With a greatest length alone, the shortest rest of each state is enough; it is found much sooner than all
        # lengths.
        self._all_lengths = self._all_lengths or is_least
        bits_of = self._texts.languages.lengths_from if self._all_lengths else self._texts.languages.shortest_from
        self._texts.states.record_lengths(longest, bits_of)

    def words(self, values: tuple[str, ...]) -> int:
        spelled = sorted({value.encode() for value in values if is_text(value)})
        rows, at = self._rows, len(self._blob)
        table = len(rows)
        for word in spelled:
            rows += (at, len(word), 0, 0)
            at += len(word)
        self._blob += b"".join(spelled)
        rows += (table, 0, len(spelled))
        return len(rows) - 3
