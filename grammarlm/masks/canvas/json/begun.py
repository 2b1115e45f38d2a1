"""What a matcher has begun where a row starts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from grammarlm.layout.json import ARRAY_BIT, ESCAPE, Frame, Kind
from grammarlm.layout.json_strings import BACKSLASH, HEX

from .texts import spelled

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.configs import Config

CHARACTERS = 24  # bit offset in y: of a string's characters


class Begun(NamedTuple):
    """The most of any of its readings; keys as they are spelled."""

    characters: int = 0  # of a string
    is_string: bool = False  # in one that is no key
    key: bytes | None = None  # what is read of a key
    keys: tuple[frozenset[bytes], ...] = ()  # of objects that are open, those without an entry; the innermost first

    @property
    def every_key(self) -> frozenset[bytes]:
        return frozenset().union(*self.keys)


def begun_of(configs: Iterable[Config]) -> Begun:
    """`configs`: of the schemas in which a matcher stands."""
    characters, is_string, begun, keys = 0, False, None, list[set[bytes]]()
    for c, _, y, frames, key in chain.from_iterable(configs):
        kind = c & 31
        if kind == Kind.STRING:
            characters, is_string = max(characters, y >> CHARACTERS), True
        elif kind == Kind.KEY:
            begun = max(begun or b"", spelled(key) + escape_begun(c >> 5 & 63, y & ESCAPE))
        elif kind == Kind.WORD:
            is_string = True
        keys += [set() for _ in range(len(frames) - len(keys))]
        for had, (words, others, *_) in zip(keys, frames, strict=False):
            had.update(() if words[Frame.ROW] & ARRAY_BIT else map(spelled, others))
    return Begun(characters, is_string, begun, tuple(map(frozenset, keys)))


def escape_begun(sub: int, escape: int) -> bytes:
    """What is read of an escape: of plain ones, none of which is of two halves."""
    if sub == BACKSLASH:
        return b"\\"
    return b"\\u" + b"%0*x" % (sub - HEX, escape) * (sub > HEX) if HEX <= sub < HEX + 4 else b""
