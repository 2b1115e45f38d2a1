"""Free keys of a language that has few strings: all of them are tracked, since they can be used up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.layout.json import SHARED_BIT

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram

MOST_KEYS = 6  # of languages with few strings
MANY = 100  # as many keys do not fit a row of 256 tokens


def spelled_keys(program: JsonSchemaProgram, languages: Iterable[int]) -> tuple[bytes, ...]:
    """The strings of those languages that have less than MANY."""
    found: set[bytes] = set()
    for start in languages:
        if start and not start & SHARED_BIT:
            strings = _strings(program, start)
            if strings is not None:
                found |= strings
    if len(found) > MOST_KEYS:
        raise UnsupportedFeature(
            f"a canvas over an object whose free keys can be {len(found)} strings; {MOST_KEYS} at most are followed, or any number "
            f"from {MANY} on"
        )
    return tuple(sorted(found))


def _strings(program: JsonSchemaProgram, start: int) -> set[bytes] | None:
    """The strings of a language; None where there are MANY."""
    found: set[bytes] = set()
    waiting = [(start, b"")]
    while waiting:
        state, text = waiting.pop()
        after = steps_of(program, state)
        if is_accepting(program, state):
            found.add(text)
        if len(found) + len(waiting) + len(after) >= MANY or len(text) > MANY:
            return None
        waiting += [(to, text + bytes([byte])) for byte, to in after]
    return found


def steps_of(program: JsonSchemaProgram, state: int) -> list[tuple[int, int]]:
    """(byte, state after it) of a language's state."""
    program.states.make([state])
    row = np.asarray(program.states.placed[0][0]).reshape(-1, 256)[state]
    return [(byte, int(row[byte])) for byte in np.flatnonzero(row > 0).tolist()]


def is_accepting(program: JsonSchemaProgram, state: int) -> bool:
    program.states.make([state])
    return bool(program.states.placed[0][1][state])
