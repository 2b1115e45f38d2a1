"""One epoch (generation of texts) under a schema: a machine as matchers use it.

A state is the number of a record. When the machine is full, matchers move their configs to a new epoch, and the old one is freed
with its last holder.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from itertools import islice

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.json import Kind, Store
from grammarlm.layout.json_calls import ADVANCE, ENDS
from grammarlm.masks.protocol import FINISHED, Computed, EpochDefaults

from . import configs
from .configs import Config
from .endings.completion import Endings
from .machine import Machine
from .program import SchemaProgram

IN_STRINGS = (Kind.STRING, Kind.WORD, Kind.KEY)
BETWEEN = (Kind.VALUE, Kind.AFTER, Kind.KEYS, Kind.COLON, Kind.ENTRY)  # where white space stands between tokens


class JsonEpoch(Machine, EpochDefaults):
    """One epoch of texts under a schema."""

    writes_json = True

    def __init__(self, program: SchemaProgram):
        super().__init__(program)
        stops = program.facts.stop_row
        self.rows = Computed(lambda state: stops if state == FINISHED else None)  # what a matcher asks first: no kernel

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
    def accepting(self) -> Computed[bool]:
        return Computed(lambda state: state == FINISHED or bool(entries.json_call(self.address, ENDS, state, 0, 0)))

    @property
    def terms(self) -> Computed[Config]:
        return Computed(lambda state: configs.config_of(self, state))

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
        for c, _, _, f in configs.threads_of(self, state):
            quote &= c & 31 in IN_STRINGS
            closers = sum(1 for _ in islice(configs.frames_around(self, f), closers))
        return closers, quote

    def stands_between(self, state: int) -> bool:
        """Does the text stand between two of its tokens, in every parse? A number ends where it can."""
        return all(c & 31 in BETWEEN for c, *_ in configs.threads_of(self, state))

    # ------------------------------------------------------------------ terms

    def key(self, state: int) -> Hashable:
        """Equal keys, equal futures, whatever the epoch."""
        return configs.key(self, state)

    def state_of(self, config: Config) -> int:
        """The config, copied into this epoch."""
        return self.start if config is self.program.start else configs.put(self, config)


def _moves_on(what: int, first: int, second: int, third: int) -> int:
    return -1
