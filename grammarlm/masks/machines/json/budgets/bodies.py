"""The tokens that stay in a string, by the number of characters that begin in them: once a vocabulary."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from grammarlm.layout.json import ANY_STRING, Kind
from grammarlm.layout.json_calls import QUOTED
from grammarlm.masks.machines.json.endings.reader import Reader
from grammarlm.masks.machines.json.vocabulary.tables import JsonTables
from grammarlm.masks.token_facts import pack_ids

from .survey import Survey


class Bodies:
    """Rows of the tokens that stay in a string, and of those of them that end no character or escape halfway."""

    def __init__(self, reader: Reader, survey: Survey):
        self._words, self._characters = reader.program.vocab.words, reader.program.tables.strings.characters
        self.longest = int(self._characters.max(initial=0))
        self._rows: dict[tuple[int, bool], tuple[np.ndarray, np.ndarray]] = {}
        survey.make_room(reader.program.vocab.size)  # nearly all tokens stay in a string
        with reader.scratch():
            classes, pairs = survey.of((int(Kind.STRING) | ANY_STRING << 11, 0, 0, 0))
            ends_whole = np.array([*(c & 31 == Kind.AFTER and bool(c & QUOTED) for c, *_ in classes), False])
            self._whole = pack_ids(pairs[ends_whole[pairs[:, 1]], 0], self._words)
        self.row = self.of(0, or_more=True)[0]

    def of(self, count: int, or_more: bool) -> tuple[np.ndarray, np.ndarray]:
        """Those in which `count` characters begin, or more: all, and the whole ones."""
        known = self._rows.get((count, or_more))
        if known is None:
            begun = self._characters
            row = pack_ids(np.flatnonzero((begun >= count) if or_more else (begun == count)), self._words)
            known = self._rows[count, or_more] = row, row & self._whole
        return known


_KNOWN: WeakKeyDictionary[JsonTables, Bodies] = WeakKeyDictionary()


def bodies_of(reader: Reader, survey: Survey) -> Bodies:
    """The vocabulary's: made once, from an unrestricted string."""
    known = _KNOWN.get(reader.program.tables)
    if known is None:
        known = _KNOWN[reader.program.tables] = Bodies(reader, survey)
    return known
