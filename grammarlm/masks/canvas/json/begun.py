"""What a matcher has begun where a row starts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from grammarlm.layout.json import ARRAY_BIT, Frame, Kind

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.configs import Config

LONGEST_MANTISSA = 25
CHARACTERS = 24  # bit offset in y: of a string's characters


class Begun(NamedTuple):
    """The most of any of its readings."""

    digits: int = 0  # bytes of a number
    characters: int = 0  # of a string
    is_blank: bool = False  # in a gap that has blanks
    key: bytes | None = None  # what is read of a key
    keys: frozenset[bytes] = frozenset()  # without an entry, of objects that are open


def begun_of(configs: Iterable[Config]) -> Begun:
    """`configs`: of the schemas in which a matcher stands."""
    digits = characters = 0
    is_blank, begun, keys = False, None, set[bytes]()
    for c, _, y, frames, key in chain.from_iterable(configs):
        kind = c & 31
        if kind == Kind.NUMBER:
            digits = LONGEST_MANTISSA
        elif kind == Kind.STRING:
            characters = max(characters, y >> CHARACTERS)
        elif kind == Kind.KEY:
            begun = max(begun or b"", key)
        elif kind not in (Kind.WORD, Kind.LITERAL):
            is_blank = is_blank or y > 0
        for words, others, *_ in frames:
            keys.update(() if words[Frame.ROW] & ARRAY_BIT else others)
    return Begun(digits, characters, is_blank, begun, frozenset(keys))
