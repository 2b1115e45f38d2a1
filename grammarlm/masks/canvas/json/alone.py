"""How many states numbers take at least, if states follow more of them.

What follows a number does not hang on its digits, so in each place of a schema it takes as many states as by itself. Those of any
number are the same in all schemas. So it is seen at once that a level takes too many states: to explore as many took 20 to 30 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.json import NO_FRAME, ROW, Kind
from grammarlm.layout.json_canvas import FAR
from grammarlm.layout.numbers import Bound, Flag, Number

from .automaton import byte_automaton
from .explored import SHORT, Explorer, States

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram

KIND = 31  # bits of a thread
SHARE = 0.95  # numbers that may stand in one place can have some states in common
MOST_KEPT = 256
DIGITS_IN_WORD = 16
SIDES = (Number.POSITIVE, Number.NEGATIVE)
Key = tuple[int, ...]
_kept: dict[tuple[Key, int], int] = {}


def least_states(program: JsonSchemaProgram, threads: np.ndarray, block_of: np.ndarray, digits: int) -> int:
    """Of states that follow so many bytes of numbers. `threads`, `block_of`: those of a schema's states that follow the fewest, and
    which of them are one."""
    threads, count = threads[: len(block_of)], int(block_of.max()) + 1
    numbers = np.flatnonzero(threads & KIND == Kind.NUMBER)
    of, blocks = threads[numbers] >> 11 & ROW, block_of[numbers]
    for row in np.unique(of).tolist():
        if is_any(program.json.rows, row):
            few, many = _states_alone(program, row, SHORT), _states_alone(program, row, digits)
            count += len(np.unique(blocks[of == row])) // few * (many - few)
    return int(SHARE * count)


def is_any(rows: Sequence[int], row: int) -> bool:
    """May a number have any digits, and all exponents that anybody writes?"""
    flags = rows[row + Number.FLAGS] & (Flag.OPEN | Flag.STEPS | Flag.TIDY | Flag.PLAIN)
    is_far = all(rows[row + side + Bound.LOW] <= -FAR and rows[row + side + Bound.HIGH] >= FAR for side in SIDES)
    return flags == Flag.OPEN and is_far and not rows[row + Number.EXCLUDED]


def _states_alone(program: JsonSchemaProgram, row: int, digits: int) -> int:
    """Those of a number that has begun, where it is all of a text."""
    key = _key(program.json.rows, row), digits
    if key not in _kept:
        found = Explorer(program, States(digits=digits)).run((int(Kind.NUMBER) | row << 11, 0, 0, NO_FRAME))
        is_number = found.states[:, 0] & KIND == Kind.NUMBER
        is_number[found.start] = False
        block_of = byte_automaton(found, program.clock.check).block_of
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[key] = len(np.unique(block_of[is_number]))
    return _kept[key]


def _key(rows: Sequence[int], row: int) -> Key:
    """What a number's states hang on: its words, and the digits of its bounds in place of where these are."""
    words, digits = list(rows[row : row + Number.LENGTH]), list[int]()
    words[Number.EXCLUDED_AT] = 0
    for side in SIDES:
        for at, length in ((Bound.LOW_AT, Bound.LOW_LENGTH), (Bound.HIGH_AT, Bound.HIGH_LENGTH)):
            first = words[side + at]
            digits += rows[first : first - -words[side + length] // DIGITS_IN_WORD]
            words[side + at] = 0
    return tuple(map(int, (*words, *digits)))
