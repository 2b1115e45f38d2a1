"""What a matcher has begun where a row starts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.layout.json import ARRAY_BIT, Frame, Kind
from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.machines.json.vocabulary.blanks import Blanks

LONGEST_MANTISSA = 25
CHARACTERS = 24  # bit offset in y: of a string's characters
NOUGHTS, COUNT, PLACE, COUNT_MASK = 4, 9, 33, 0xFFF  # of a number in x: its last phase of zeros alone, digits, zeros


class Begun(NamedTuple):
    """The most of any of its readings."""

    digits: int = 0  # bytes of a number
    mantissa: int = 0  # its digits before an exponent
    characters: int = 0  # of a string
    is_blank: bool = False  # in a gap that has blanks
    blanks: int = 0  # how many, where a gap's are counted
    is_string: bool = False  # in one that is no key
    key: bytes | None = None  # what is read of a key
    keys: frozenset[bytes] = frozenset()  # without an entry, of objects that are open


def begun_of(configs: Iterable[Config], gaps: Blanks | None) -> Begun:
    """`configs`: of the schemas in which a matcher stands. `gaps`: the white space whose blanks are counted."""
    digits = mantissa = characters = blanks = 0
    is_blank, is_string, begun, keys = False, False, None, set[bytes]()
    for c, x, y, frames, key in chain.from_iterable(configs):
        kind = c & 31
        if kind == Kind.NUMBER:
            digits, mantissa = LONGEST_MANTISSA, max(mantissa, x >> (COUNT if x & 15 > NOUGHTS else PLACE) & COUNT_MASK)
        elif kind == Kind.STRING:
            characters, is_string = max(characters, y >> CHARACTERS), True
        elif kind == Kind.KEY:
            begun = max(begun or b"", key)
        elif kind == Kind.WORD:
            is_string = True
        elif kind != Kind.LITERAL:
            is_blank = is_blank or y > 0
            if gaps is not None and y > 0:
                blanks = max(blanks, LONGEST_RUN - int(blanks_left(gaps)[y]))
        for words, others, *_ in frames:
            keys.update(() if words[Frame.ROW] & ARRAY_BIT else others)
    return Begun(digits, mantissa, characters, is_blank, blanks, is_string, begun, frozenset(keys))


@lru_cache(maxsize=64)
def blanks_left(gaps: Blanks) -> np.ndarray:
    """By state of a gap the most blanks and tabs that can still follow, those in other lines included."""
    table, found = gaps.table[:, :4].astype(np.int64), np.zeros(len(gaps.table), np.int64)
    while True:
        after = np.where(table >= 0, found[table] + [1, 1, 0, 0], 0).max(1)
        if (after == found).all():
            return found
        found = after
