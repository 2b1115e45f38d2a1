"""What the machine reads of a compiled schema, whoever made it."""

from __future__ import annotations

from array import array
from typing import NamedTuple, Protocol

from grammarlm.masks.protocol import Program

from .endings.texts import SpelledCompletions
from .languages import LanguageStates
from .vocabulary.tables import JsonTables


class JsonProgram(NamedTuple):
    """A schema's rows (layout/json.py has their layout)."""

    rows: array[int]  # int64; after them the bytes of keys and words
    blob_at: int  # where those begin, in bytes
    start: int  # the root's row
    # Rows of arrays whose items that are objects or arrays must differ: see distinct/.
    tracked: frozenset[int] = frozenset()

    @property
    def address(self) -> int:
        return self.rows.buffer_info()[0]

    @property
    def nbytes(self) -> int:
        return 8 * len(self.rows)


class SchemaProgram(Program, Protocol):
    """A program of the JSON machine."""

    @property
    def tables(self) -> JsonTables: ...  # of the vocabulary

    @property
    def json(self) -> JsonProgram: ...

    @property
    def caps(self) -> tuple[str, ...]: ...  # bounds of the language beyond its schema

    @property
    def states(self) -> LanguageStates: ...  # of the schema's own languages

    @property
    def mode(self) -> int: ...  # may keys come in any order?

    spelled: SpelledCompletions | None  # what ends strings of the schema's languages, made on first use
    ceilings: dict[int, int]  # by state of a language: see endings/languages.py
