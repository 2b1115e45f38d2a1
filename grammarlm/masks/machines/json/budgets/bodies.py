"""The tokens that stay in a string, by where in a character or escape they end: once a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.layout.json import ANY_STRING, ESCAPE, Kind
from grammarlm.layout.json_calls import QUOTED
from grammarlm.layout.json_strings import BODY
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.token_facts import pack_ids

from .survey import survey_of


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


def bodies_of(endings: Endings) -> Bodies:
    """The vocabulary's: computed once, from an unrestricted string."""
    tables = endings.reader.machine.program.tables
    if tables.bodies is None:
        kinds = _kinds(endings)
        tables.bodies = Bodies(kinds, np.bitwise_or.reduce([body.row for body in kinds]))
    return tables.bodies


def _kinds(endings: Endings) -> list[Body]:
    program = endings.reader.machine.program
    with endings.reader.scratch():
        classes, pairs = survey_of(endings.reader.machine).of((int(Kind.STRING) | ANY_STRING << 11, 0, 0, 0))
        pairs = pairs.copy()
    kinds, characters, words = [], program.tables.strings.characters, program.vocab.words
    for number, (c, _, y, _) in enumerate(classes):
        if c & 31 != Kind.STRING and not c & QUOTED:
            continue
        sub, escape = (c >> 5 & 63, y & ESCAPE) if c & 31 == Kind.STRING else (int(BODY), 0)
        tokens = pairs[pairs[:, 1] == number, 0]
        counts = characters[tokens]
        rows = {int(n): pack_ids(tokens[counts == n], words) for n in np.flatnonzero(np.bincount(counts))}
        sample = program.tables.shared.spelled(int(tokens[0]))
        kinds.append(Body(sub, escape, sample, rows, pack_ids(tokens, words)))
    return kinds
