"""Tokens with more blanks in one place than may stand between tokens of JSON, where states do not count blanks.

Such a token is read apart: what its run of white space does within text, and what it does between tokens of JSON, with the blanks
that a gap has had so far. In a text of several parts a run may leave a gap, and come to another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

RUN = re.compile(rb"[ \t\r\n]+")


Within = tuple[int, tuple[tuple[int, int], ...]]  # what is in text; what is in gaps, with the fewest blanks of each


class LongBlanks(NamedTuple):
    token: int
    spelled: bytes


class Readings(Protocol):
    """What bytes lead to, as numbers; `none` is nothing."""

    none: int

    def move(self, reading: int, byte: int) -> int: ...

    def parted(self, reading: int) -> tuple[int, int]:
        """What of it is in text, and what is not."""

    def united(self, readings: Sequence[int]) -> int: ...


@lru_cache(maxsize=4)
def long_blanks(vocab: Vocabulary) -> list[LongBlanks]:
    """The tokens with a run of white space of more than LONGEST_RUN blanks and tabs."""
    found = []
    for token in np.flatnonzero(np.diff(vocab.offsets) > LONGEST_RUN).tolist():
        spelled = vocab.token_bytes(token)
        if is_long(spelled):
            found.append(LongBlanks(token, spelled))
    return found


def is_long(spelled: bytes) -> bool:
    return any(_is_long(run[0]) for run in RUN.finditer(spelled))


def _is_long(run: bytes) -> bool:
    return len(run.translate(None, b"\r\n")) > LONGEST_RUN


class Capped:
    """Reads such tokens; what single bytes do is remembered."""

    def __init__(self, readings: Readings):
        self._readings = readings
        self._moved: dict[tuple[int, int], int] = {}
        self._steps: dict[tuple[Within, int], Within] = {}
        self._parts: dict[int, tuple[int, int]] = {}

    def read(self, reading: int, spelled: bytes) -> int:
        done = 0
        for run in RUN.finditer(spelled):
            if _is_long(run[0]):
                reading = self._through(self._all(reading, spelled[done : run.start()]), run[0])
                done = run.end()
        return self._all(reading, spelled[done:])

    def _all(self, reading: int, spelled: bytes) -> int:
        for byte in spelled:
            reading = self._move(reading, byte)
        return reading

    def _through(self, reading: int, run: bytes) -> int:
        text, gap = self._part(reading)
        here: Within = text, ((gap, 0),)
        for byte in run:
            key = here, byte
            if key not in self._steps:
                self._steps[key] = self._step(here, byte)
            here = self._steps[key]
        return self._united([here[0], *(gap for gap, _ in here[1])])

    def _step(self, here: Within, byte: int) -> Within:
        texts, gaps, is_blank = list[int](), dict[int, int](), byte in b" \t"
        for reading, blanks in ((here[0], 0), *here[1]):
            text, gap = self._part(self._move(reading, byte))
            texts.append(text)
            if gap != self._readings.none and blanks + is_blank <= LONGEST_RUN:
                gaps[gap] = min(gaps.get(gap, LONGEST_RUN), blanks + is_blank)
        return self._united(texts), tuple(sorted(gaps.items()))

    def _move(self, reading: int, byte: int) -> int:
        if reading == self._readings.none:
            return reading
        key = reading, byte
        if key not in self._moved:
            self._moved[key] = self._readings.move(reading, byte)
        return self._moved[key]

    def _part(self, reading: int) -> tuple[int, int]:
        if reading not in self._parts:
            none = self._readings.none
            self._parts[reading] = (none, none) if reading == none else self._readings.parted(reading)
        return self._parts[reading]

    def _united(self, readings: Iterable[int]) -> int:
        left = sorted({reading for reading in readings if reading != self._readings.none})
        if len(left) < 2:
            return left[0] if left else self._readings.none
        return self._readings.united(left)
