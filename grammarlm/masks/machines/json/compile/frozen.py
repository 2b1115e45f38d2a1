"""Plain schemas from their frozen form: a kernel reads the bytes (kernels/cpu/schemas/rows.py), Python does the rest.

The rest is strings with patterns and formats, numbers with bounds and schemas that are not plain: for each of them the
reader of plain.py is called, and its result is written where the kernel has reserved room. A document that the
kernel cannot read is read by plain.py; where anything is refused, the general way reads all of it, since it has the
error messages.

There is one reader in a process: its memory is allocated once, and touched only as far as a schema needs it.
"""

from __future__ import annotations

import functools
import marshal
import struct
from array import array
from collections.abc import Callable, Hashable
from typing import NamedTuple, cast

import numpy as np

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.locations import NeedsScope
from grammarlm.grammars.json_schema.numbers.rows import Packed, placed
from grammarlm.grammars.json_schema.read.document import DRAFTS, Document, escape
from grammarlm.grammars.json_schema.read.keywords import IDENTITY, SCHEMA_MAPS, bits_of
from grammarlm.grammars.json_schema.strings.formats import FORMATS
from grammarlm.kernels import entries
from grammarlm.layout.json import SHARED_BIT, Shape
from grammarlm.layout.schema import (
    ASSERTS_FORMATS,
    DEEPEST,
    LEFT,
    NODE_FIX,
    NUMBER_FIX,
    ODD,
    RANGE_FIX,
    STRING_FIX,
    UNION_FIX,
    WITH_FORMATS,
    WITH_PLAIN_INTEGERS,
    Fix,
    Keyword,
    Queued,
    Read,
    Said,
    Tape,
    Template,
    Value,
    Word,
)
from grammarlm.masks.machines.json.formats import format_automata
from grammarlm.masks.machines.json.rows.plain_scalars import NotPlain, packed_number, packed_range, string_alternative
from grammarlm.masks.machines.json.rows.template import LITERALS, TEMPLATE, TEMPLATE_AT, TEMPLATE_ROWS
from grammarlm.masks.runtime.shared_lock import MOMENT, shared_lock

from .plain import PLAIN, TYPES, PlainReader
from .program import JsonProgram, ProgramWriter

LONGEST = 1 << 18  # bytes of a schema; a longer one is read in Python
ROWS, LETTERS, MOST_LEFT, NEEDS = 1 << 17, 1 << 19, 1 << 14, 1 << 17
SLOTS = 256  # size of the hash table of keywords
STRING_WORDS = ("pattern", "format", "minLength", "maxLength")
WORDS = {
    "type": Word.TYPE, "enum": Word.ENUM, "const": Word.CONST, "minLength": Word.LEAST_LENGTH, "maxLength": Word.MOST_LENGTH,
    "pattern": Word.PATTERN, "format": Word.FORMAT, "minimum": Word.LEAST, "maximum": Word.MOST,
    "exclusiveMinimum": Word.ABOVE, "exclusiveMaximum": Word.BELOW, "multipleOf": Word.MULTIPLE,
    "properties": Word.PROPERTIES, "required": Word.REQUIRED, "additionalProperties": Word.OTHERS, "items": Word.ITEMS,
    "minItems": Word.LEAST_ITEMS, "maxItems": Word.MOST_ITEMS, "uniqueItems": Word.UNIQUE, "$ref": Word.REFERENCE,
    "$schema": Word.DRAFT, "id": Word.OLD_ADDRESS, "anyOf": Word.ANY_OF, "oneOf": Word.ONE_OF, "allOf": Word.ALL_OF,
    "$dynamicRef": Word.OTHER_REFERENCE, "$recursiveRef": Word.OTHER_REFERENCE,
    **{name: Word(Word.NULL + i) for i, name in enumerate(TYPES)},
    **{name: Word.MAP for name in SCHEMA_MAPS if name != "properties"},
}  # fmt: skip
UNITED = ("anyOf", "oneOf", "allOf")  # read by kernels/cpu/schemas/unions.py
TEMPLATES = {
    Template.ANYTHING: "anything", Template.STRING: "string", Template.NUMBER: "number", Template.INTEGER: "integer",
    Template.PLAIN_INTEGER: "plain integer", Template.OBJECT: "object", Template.ARRAY: "array",
    **{Template(Template.NULL_NODE + i): "type " + name for i, name in enumerate(TYPES)},
    Template.PLAIN_INTEGER_NODE: "type plain integer",
}  # fmt: skip
NUMBER_NAMES = ("number", "integer", "plain integer")
Scalar = str | int | float | bool | None
SCALARS: dict[int, bool | None] = {Value.TRUE: True, Value.FALSE: False, Value.NULL: None}
FRACTION = struct.Struct("<d")
WHOLE = 1 << 64


class Reading(NamedTuple):
    """What the kernel has written, and what it has left to Python."""

    rows: array[int]  # int64: the program; without the blob where something is left
    blob_at: int
    start: int
    letters: bytes = b""
    fixes: list[list[int]] = []  # noqa: RUF012  # never written to
    spans: list[list[list[int]]] = []  # noqa: RUF012  # for each fix the values of its keywords: kind, offset, size
    patches: list[int] = []  # noqa: RUF012
    tape: np.ndarray | None = None  # present where nodes are left


def _fnv(text: bytes) -> int:
    found = 0xCBF29CE484222325
    for byte in text:
        found = (found ^ byte) * 0x100000001B3 % WHOLE
    return found - WHOLE if found >= WHOLE // 2 else found


def said_of(word: str, bits: int) -> int:
    """What the kernel is told of a keyword. It names those that it reads: any other leaves the schema to Python, so a keyword that
    is new, or that means something else, cannot be passed over."""
    if not bits or word == "additionalItems":  # which matters only next to a list of items, which is left to Python
        return 0
    if bits == IDENTITY:
        return int(Said.ADDRESS)
    if word in UNITED:
        return int(Said.COMBINE)
    return bits if word in PLAIN else int(Said.HARD)


def _keyword_table(formats: bool) -> tuple[np.ndarray, np.ndarray]:
    """The keywords of all drafts as a hash table, and their bytes."""
    known = bits_of(2020, True, formats)
    entries: dict[str, tuple[int, int, int]] = {}
    for word in {*known, *WORDS, *DRAFTS, *FORMATS}:
        entries[word] = said_of(word, known.get(word, 0)), int(WORDS.get(word, Word.NONE)), DRAFTS.get(word, 0)
    table, letters = np.zeros((SLOTS, Keyword.LENGTH), np.int64), bytearray()
    for word, (bits, name, draft) in entries.items():
        spelled = word.encode()
        hashed = _fnv(spelled)
        slot = hashed % SLOTS
        while table[slot, Keyword.SIZE]:
            slot = (slot + 1) % SLOTS
        table[slot] = [hashed, len(letters), len(spelled), bits, name, draft, -int(word in FORMATS)]
        letters += spelled
    return table, np.frombuffer(bytes(letters), np.uint8)


class FrozenReader:
    """Reads one schema at a time. The buffers used by each call are array.array and bytearray, which are faster to
    reach than numpy's."""

    def __init__(self) -> None:
        entries.load("schemas")
        self._lock = shared_lock(MOMENT)
        self._knows_formats = False
        self._arena = arena = array("q", bytes(8 * Read.LENGTH))
        self._address = arena.buffer_info()[0]
        self._data = bytearray(LONGEST)
        self._bytes = memoryview(self._data)
        self._rows = array("q", bytes(8 * ROWS))
        self._templates = {spelling: array("q", rows) for spelling, rows in TEMPLATE_ROWS.items()}
        self._spelling = ""
        self._kept: list[np.ndarray] = []  # keeps arrays alive whose addresses are in the arena
        self._blob, self._fixes = np.empty(LETTERS, np.uint8), np.empty((MOST_LEFT, Fix.LENGTH), np.int64)
        self._tape, self._patches = np.empty((LONGEST, Tape.LENGTH), np.int32), np.empty(ROWS, np.int32)
        self._tables = [_keyword_table(formats) for formats in (False, True)]
        (words, spelled), (all_words, all_spelled) = self._tables
        templates, texts = np.zeros(Template.LENGTH, np.int64), LONGEST + 256
        for template, name in TEMPLATES.items():
            templates[template] = TEMPLATE_AT[name]
        for slot, kept in (
            (Read.DATA, np.frombuffer(self._data, np.uint8)), (Read.TAPE, self._tape), (Read.REFERRED, np.empty(LONGEST, np.int32)),
            (Read.STACK, np.empty(2 * DEEPEST + 8, np.int32)), (Read.BLOB, self._blob), (Read.FIXES, self._fixes),
            (Read.QUEUE, np.empty((LONGEST // 2, Queued.LENGTH), np.int32)), (Read.PATCHES, self._patches),
            (Read.TEXTS, np.empty(texts, np.int32)), (Read.ORDER, np.empty(texts, np.int32)),
            (Read.SPARE, np.empty(texts, np.int32)), (Read.CHILDREN, np.empty(texts, np.int32)),
            (Read.NEEDS, np.empty((NEEDS, 3), np.int32)), (Read.TEMPLATES, templates), (Read.POINTS, np.empty(512, np.int64)),
            (Read.FOUND, np.zeros(Word.LENGTH, np.int32)),
            (Read.TABLES, words), (Read.TABLES + 1, spelled), (Read.TABLES + 2, all_words), (Read.TABLES + 3, all_spelled),
        ):  # fmt: skip
            self._kept.append(kept)
            arena[slot] = int(kept.ctypes.data)
        for slot, number in (
            (Read.KEYWORD_MASK, SLOTS - 1), (Read.ROOM, ROWS), (Read.BLOB_ROOM, LETTERS), (Read.FIX_ROOM, MOST_LEFT),
            (Read.NEED_ROOM, NEEDS), (Read.TEMPLATE_END, len(TEMPLATE)), (Read.ROWS, self._rows.buffer_info()[0]),
        ):  # fmt: skip
            arena[slot] = number

    def learn_formats(self) -> None:
        """Enters the start states of formats; the tables of the vocabulary have their automata."""
        self._knows_formats = True
        automata = format_automata()
        table, letters = self._tables[True]
        for entry in table:
            at, size = entry[Keyword.AT], entry[Keyword.SIZE]
            start = automata.start(letters[at : at + size].tobytes().decode()) if size else None
            if start is not None:
                entry[Keyword.FORMAT] = start | SHARED_BIT

    def read(self, frozen: bytes, options: int, spelling: str) -> Reading | None:
        """The rows of a schema; None where Python has to read it. WITH_FORMATS: the vocabulary's tables have their automata."""
        size = len(frozen)
        if size > LONGEST:
            return None
        if options & WITH_FORMATS and not self._knows_formats:
            self.learn_formats()
        with self._lock:
            self._bytes[:size] = frozen
            if spelling != self._spelling:
                self._rows[: len(TEMPLATE)] = self._templates[spelling]
                self._spelling = spelling
            start = entries.read_schema(self._address, size, options)
            if start == ODD:
                return None
            arena = self._arena
            used, left = arena[Read.USED], arena[Read.FIX_COUNT]
            if not left:
                return Reading(self._rows[: arena[Read.TOTAL]], 8 * used, start)
            fixes = self._fixes[:left]
            words = np.where(fixes[:, Fix.WHAT, None] <= NUMBER_FIX, fixes[:, Fix.WORDS :], -1)
            values = self._tape[words, : Tape.SIZE + 1]
            values[words < 0] = 0
            patches = self._patches[: arena[Read.PATCH_COUNT]].tolist()
            tape = self._tape[: arena[Read.COUNT]].copy() if patches or start <= LEFT else None
            letters = self._blob[: arena[Read.BLOB_USED]].tobytes()
            return Reading(self._rows[:used], 8 * used, start, letters, fixes.tolist(), values.tolist(), patches, tape)


@functools.cache
def frozen_reader() -> FrozenReader:
    return FrozenReader()


def frozen_program(
    frozen: bytes,
    formats: str,
    plain_integers: bool,
    spelling: str,
    has_formats: bool,
    make_writer: Callable[[list[int], bytearray], ProgramWriter],
    make_document: Callable[[], Document],
    tick: Callable[[], None],
) -> JsonProgram | None:
    """The rows of a frozen schema; None where another way has to read it, NotPlain where the plain way has no rows either."""
    options = (
        ASSERTS_FORMATS * (formats == "assert") + WITH_PLAIN_INTEGERS * plain_integers + WITH_FORMATS * has_formats
    )
    found = frozen_reader().read(frozen, options, spelling)
    if found is None:
        return None
    if not found.fixes:
        return JsonProgram(found.rows, found.blob_at, found.start)
    try:
        return _Rest(
            frozen, found, make_writer(found.rows.tolist(), bytearray(found.letters)), formats, make_document, tick
        ).written()
    except (NeedsScope, GrammarError, UnsupportedFeature, RecursionError) as error:
        raise NotPlain from error


TURNS: dict[int, int] = {
    Shape.STRING: 2, Shape.WORDS: 2, Shape.NUMBER: 3, Shape.OBJECT: 4, Shape.ARRAY: 5,
}  # fmt: skip


def turn_of(alternative: list[int]) -> int:
    """The rank of an alternative among those of other types."""
    kind, row = alternative
    return int(row != LITERALS["null"]) if kind == Shape.LITERAL else TURNS[kind]


class _Rest:
    """Does what the kernel has left."""

    def __init__(
        self,
        frozen: bytes,
        found: Reading,
        writer: ProgramWriter,
        formats: str,
        make_document: Callable[[], Document],
        tick: Callable[[], None],
    ):
        self._frozen, self._found, self._writer, self._formats = frozen, found, writer, formats
        self._make_document, self._tick = make_document, tick
        self._strings: dict[Hashable, tuple[int, int]] = {}
        self._numbers: dict[Hashable, int] = {}

    def written(self) -> JsonProgram:
        found, rows = self._found, self._writer.rows
        nodes: dict[int, int] = {}
        unions: dict[int, list[int]] = {}
        for number, (fix, spans) in enumerate(zip(found.fixes, found.spans, strict=True)):
            what, at = fix[Fix.WHAT], fix[Fix.VALUE]
            if what == STRING_FIX:
                rows[at : at + 2] = self._string(spans)
            elif what == RANGE_FIX:
                rows[at : at + 2] = Shape.NUMBER, self._range(*fix[Fix.WORDS : Fix.WORDS + 2])
            elif what == UNION_FIX:
                unions[at] = rows[at + 2 : at + 2 + fix[Fix.NAME]]
            elif what == NODE_FIX:
                nodes[LEFT - number] = self._node(at)
            else:
                rows[at : at + 2] = Shape.NUMBER, self._number(NUMBER_NAMES[fix[Fix.NAME]], spans)
        for at in found.patches:
            rows[at] = nodes[rows[at]]
        for at, below in unions.items():
            self._unite(at, below)
        return self._writer.finish(nodes.get(found.start, found.start))

    def _value(self, kind: int, at: int, size: int) -> Scalar:
        """A scalar of the schema."""
        if kind in (Value.TEXT, Value.HALF_TEXT):
            return self._frozen[at : at + size].decode("utf-8", "surrogatepass")
        if kind == Value.INTEGER:
            return at
        if kind == Value.FRACTION:
            return cast(float, FRACTION.unpack_from(self._frozen, at)[0])
        if kind == Value.LARGE:
            return cast(int, marshal.loads(self._frozen[at : at + size]))
        if kind in SCALARS:
            return SCALARS[kind]
        raise NotPlain

    def _number(self, name: str, spans: list[list[int]]) -> int:
        values = tuple([self._value(*of) if of[0] else ... for of in spans])
        key = name, values, tuple(map(type, values))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = self._placed(packed_number(*key, self._writer.is_tidy))
        return known

    def _range(self, low: int, high: int) -> int:
        """The row of listed integers that follow one another."""
        key = low, high
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = self._placed(packed_range(low, high, self._writer.is_tidy))
        return known

    def _placed(self, packed: Packed) -> int:
        rows = self._writer.rows
        row = placed(packed, rows)
        at = len(rows)
        rows += row
        return at

    def _unite(self, at: int, below: list[int]) -> None:
        """Writes the alternatives of a union, in the order of types; a union among the nodes was written before."""
        rows, found = self._writer.rows, []
        for row in below:
            found += [rows[i : i + 2] for i in range(row + 2, row + 2 + 2 * rows[row], 2)]
        found.sort(key=turn_of)
        rows[at + 2 : at + 2 + 2 * len(found)] = [word for alternative in found for word in alternative]

    def _string(self, spans: list[list[int]]) -> tuple[int, int]:
        key = tuple([self._value(*of) if of[0] else ... for of in spans[: len(STRING_WORDS)]])
        known = self._strings.get(key)
        if known is None:
            schema = {word: value for word, value in zip(STRING_WORDS, key, strict=True) if value is not ...}
            known = self._strings[key] = string_alternative(self._writer, schema, self._formats, str)
        return known

    @functools.cached_property
    def _reader(self) -> PlainReader:
        return PlainReader(self._writer, self._make_document(), self._tick)

    @functools.cached_property
    def _columns(self) -> list[list[int]]:
        assert self._found.tape is not None
        columns: list[list[int]] = self._found.tape.T.tolist()
        return columns

    def _node(self, value: int) -> int:
        """The row of the node of a schema that is not plain."""
        kinds, ats, sizes, ends = self._columns[: Tape.END + 1]
        reader = self._reader
        here, schema, pointer = 0, reader.contents, ""
        while here != value:
            child, index = here + 1, 0
            while True:
                inner = child + (kinds[here] == Value.DICT)
                if value < ends[inner]:
                    break
                child, index = ends[inner], index + 1
            if kinds[here] == Value.DICT:
                token = cast(str, self._value(kinds[child], ats[child], sizes[child]))
                schema, pointer = schema[token], f"{pointer}/{escape(token)}"
            else:
                schema, pointer = schema[index], f"{pointer}/{index}"
            here = inner
        return reader.general(schema, pointer)
