"""The tokens that stay in a string, by where in a character or escape they end: once a vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from grammarlm.layout.json import ANY_STRING, ESCAPE, Kind
from grammarlm.layout.json_calls import QUOTED
from grammarlm.layout.json_strings import BODY
from grammarlm.masks.machines.json.endings.reader import Reader
from grammarlm.masks.machines.json.vocabulary.tables import JsonTables
from grammarlm.masks.token_facts import pack_ids

from .survey import Survey


@dataclass(frozen=True)
class Body:
    """Tokens that stay in a string and end at the same point of a character or escape, by how many characters begin in them."""

    sub: int
    escape: int
    sample: bytes  # the bytes of one of them
    rows: dict[int, np.ndarray]  # by the number of characters
    row: np.ndarray  # all of them


@dataclass(frozen=True)
class Bodies:
    """All of them."""

    kinds: list[Body]
    row: np.ndarray


_KNOWN: WeakKeyDictionary[JsonTables, Bodies] = WeakKeyDictionary()


def bodies_of(reader: Reader, survey: Survey) -> Bodies:
    """The vocabulary's: computed once, from an unrestricted string."""
    tables = reader.program.tables
    known = _KNOWN.get(tables)
    if known is None:
        kinds = _kinds(reader, survey)
        known = _KNOWN[tables] = Bodies(kinds, np.bitwise_or.reduce([body.row for body in kinds]))
    return known


def _kinds(reader: Reader, survey: Survey) -> list[Body]:
    program = reader.program
    survey.make_room(program.vocab.size)  # nearly all tokens stay in a string
    with reader.scratch():
        classes, pairs = survey.of((int(Kind.STRING) | ANY_STRING << 11, 0, 0, 0))
        pairs = pairs.copy()
    kinds, characters, words = [], program.tables.strings.characters, program.vocab.words
    for number, tokens in _grouped(pairs[:, 1], pairs[:, 0]):
        c, _, y, _ = classes[number] if number >= 0 else (int(Kind.VALUE), 0, 0, 0)
        if c & 31 != Kind.STRING and not c & QUOTED:
            continue
        sub, escape = (c >> 5 & 63, y & ESCAPE) if c & 31 == Kind.STRING else (int(BODY), 0)
        rows = {count: pack_ids(some, words) for count, some in _grouped(characters[tokens], tokens)}
        sample = program.tables.shared.spelled(int(tokens[0]))
        kinds.append(Body(sub, escape, sample, rows, pack_ids(tokens, words)))
    return kinds


def _grouped(keys: np.ndarray, values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each key, and its values in their order."""
    order = np.argsort(keys, kind="stable")
    found = keys[order]
    starts = [0, *(np.flatnonzero(np.diff(found)) + 1).tolist(), len(keys)]
    for start, end in pairwise(starts):
        if start < end:
            yield int(found[start]), values[order[start:end]]
