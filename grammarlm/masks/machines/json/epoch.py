"""One epoch (generation of texts) under a schema: a machine as matchers use it.

A state is the number of a record. When the machine is full, matchers move their configs to a new epoch, and the old one is freed
with its last holder.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.json import Frame, Kind, Store
from grammarlm.layout.json_calls import ADVANCE, ENDS
from grammarlm.masks.protocol import FINISHED, EpochDefaults

from . import configs
from .configs import Config
from .endings.completion import Endings
from .machine import Machine
from .program import SchemaProgram

IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)
BETWEEN = (Kind.VALUE, Kind.AFTER, Kind.KEYS, Kind.COLON, Kind.ENTRY)  # where white space stands between tokens


class _Rows:
    """What a matcher asks first: rows that need no kernel."""

    def __init__(self, stop_row: np.ndarray):
        self._stop_row = stop_row

    def __getitem__(self, state: int) -> np.ndarray | None:
        return self._stop_row if state == FINISHED else None


class _Accepting:
    def __init__(self, epoch: JsonEpoch):
        self._epoch = epoch

    def __getitem__(self, state: int) -> bool:
        return state == FINISHED or bool(entries.json_call(self._epoch.address, ENDS, state, 0, 0))


class _Terms:
    def __init__(self, epoch: JsonEpoch):
        self._epoch = epoch

    def __getitem__(self, state: int) -> Config:
        return configs.config_of(self._epoch, state)


class JsonEpoch(Machine, EpochDefaults):
    """One epoch of texts under a schema."""

    writes_json = True

    def __init__(self, program: SchemaProgram):
        super().__init__(program)
        self.rows = _Rows(program.facts.stop_row)

    @cached_property
    def endings(self) -> Endings:
        """The completions of its texts."""
        return Endings(self)

    # Views for the matcher, made at each call. Stored, they would form a reference cycle with the epoch: its memory
    # would wait for Python's collector, and each text of another schema would begin in memory that was never touched.

    @property
    def tables(self) -> JsonEpoch:
        """What a matcher keeps alive while a kernel reads."""
        return self

    @property
    def accepting(self) -> _Accepting:
        return _Accepting(self)

    @property
    def terms(self) -> _Terms:
        return _Terms(self)

    def close(self) -> None:
        """A call was interrupted halfway: the epoch is declared full, so that nothing more is made here and its
        matchers move on."""
        self.is_full, self.kernel = True, _moves_on

    @property
    def nbytes(self) -> int:
        """Memory of the schema's tables, its rows and its texts; tables shared by all schemas are not included."""
        program = self.program
        own = program.json.nbytes + program.states.nbytes
        if "endings" in vars(self):
            own += self.endings.reader.nbytes + sum(a.nbytes for a in self.endings.reader.machine.arrays.values())
        return own + self._table.nbytes + 4 * int(self.store[Store.USED]) + sum(a.nbytes for a in self.arrays.values())

    # ------------------------------------------------------------------ what a matcher asks

    def row(self, state: int) -> np.ndarray:
        if state == FINISHED:
            return self.program.facts.stop_row
        out = np.zeros(self.program.vocab.words, np.int32)
        self.fill(state, out)
        return out

    def peek_token(self, address: int, state: int, token: int) -> int:
        return int(entries.json_call(address, ADVANCE, state, token, 0))

    def after_token(self, state: int, token: int) -> int:
        return self.call(ADVANCE, state, token)

    def completion(self, state: int) -> list[bytes] | None:
        """A completion of the text, in pieces that are tokenized one by one (completion.py)."""
        return [] if state == FINISHED else self.endings.pieces(state)

    def closing(self, state: int, most: int) -> tuple[int, bool]:
        """At least how many brackets close before the text may end, and are all threads in strings?"""
        closers, quote = most, True
        while state:
            c, _, _, frame, state = self.arrays["records"][state].tolist()
            quote &= c & 31 in IN_STRINGS
            depth = 0
            while frame and depth < closers:
                depth += 1
                frame = int(self.arrays["frames"][frame, Frame.PARENT])
            closers = depth
        return closers, quote

    def stands_between(self, state: int) -> bool:
        """Does the text stand between two of its tokens, in every parse? A number ends where it can."""
        records = self.arrays["records"]
        while state:
            kind = int(records[state, 0]) & 31
            if kind not in BETWEEN:
                return False
            state = int(records[state, 4])
        return True

    # ------------------------------------------------------------------ terms

    def key(self, state: int) -> Hashable:
        """Equal keys, equal futures, whatever the epoch."""
        return configs.key(self, state)

    def state_of(self, config: Config) -> int:
        """The config, copied into this epoch."""
        return self.start if config is self.program.start else configs.put(self, config)


def _moves_on(what: int, first: int, second: int, third: int) -> int:
    return -1
