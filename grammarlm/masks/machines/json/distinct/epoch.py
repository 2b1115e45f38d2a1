"""An epoch of texts in which items that are objects or arrays must differ, too: an epoch of the JSON machine, with trackers.

A state is the number of a pair: a config of the machine, and a tracker.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import Config
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.protocol import FINISHED, Computed, EpochDefaults

from .completion import completion
from .mask import MaskMaker
from .program import DistinctProgram
from .steps import Steps
from .tracker import START, Tracker

BYTES_OF_PAIR = 800  # about: a pair shares most of its tracker with the one before

Term = tuple[Config, Tracker]


class DistinctEpoch(EpochDefaults):
    """One generation of texts."""

    writes_json = True

    def __init__(self, program: DistinctProgram):
        self.program = program
        self.machine = JsonEpoch(program.machine)
        self._steps = Steps(self.machine, program.tracked)
        self.masks = MaskMaker(self.machine, program.tracked)
        self._pairs = [(DEAD, START), (FINISHED, START)]
        self._most = max(program.limits.max_bytes // 4, 1 << 16) // BYTES_OF_PAIR
        self._is_full = False
        self.start = self._put(self.machine.start, START)

    # Views, made at each call: stored, they would lead back to the epoch.

    @property
    def tables(self) -> DistinctEpoch:
        return self

    @property
    def address(self) -> int:
        return self.machine.address

    @property
    def is_full(self) -> bool:  # type: ignore[override]
        return self._is_full or self.machine.is_full

    @is_full.setter
    def is_full(self, value: bool) -> None:
        self._is_full = value

    @property
    def accepting(self) -> Computed[bool]:
        return Computed(lambda state: self.machine.accepting[self.pair(state)[0]])

    @property
    def terms(self) -> Computed[Term]:
        return Computed(self._term)

    @property
    def rows(self) -> Computed[np.ndarray | None]:
        return Computed(lambda state: self.program.facts.stop_row if state == FINISHED else None)

    @property
    def nbytes(self) -> int:
        return self.machine.nbytes + BYTES_OF_PAIR * len(self._pairs)

    def close(self) -> None:
        self._is_full = True
        self.machine.close()

    # ------------------------------------------------------------------ states

    def pair(self, state: int) -> tuple[int, Tracker]:
        """The machine's state, and the tracker."""
        return self._pairs[state]

    def _term(self, state: int) -> Term:
        record, tracker = self.pair(state)
        return self.machine.terms[record], tracker

    def key(self, state: int) -> Hashable:
        record, tracker = self.pair(state)
        return self.machine.key(record), tracker

    def state_of(self, term: Term) -> int:
        if term is self.program.start:
            return self.start
        config, tracker = term
        return self._put(self.machine.state_of(config), tracker)

    def _put(self, record: int, tracker: Tracker) -> int:
        if record == DEAD:
            return DEAD
        if len(self._pairs) > self._most:
            self._is_full = True
            raise LimitExceeded("the items that must differ are more than limits.max_bytes has room for")
        self._pairs.append((record, tracker))
        return len(self._pairs) - 1

    # ------------------------------------------------------------------ reading

    def peek_token(self, address: int, state: int, token: int) -> int:
        return -1

    def after_token(self, state: int, token: int) -> int:
        if not self.program.facts.is_text[token]:
            return DEAD
        return self.after_bytes(state, self.program.vocab.token_bytes(token))

    def after_bytes(self, state: int, data: bytes) -> int:
        if not data:
            return state
        after = self._steps.read(*self.pair(state), data)
        return self._put(after.record, after.tracker)

    # ------------------------------------------------------------------ masks, ends

    def row(self, state: int) -> np.ndarray:
        if state == FINISHED:
            return self.program.facts.stop_row
        return self.masks.row(*self.pair(state))

    def completion(self, state: int) -> list[bytes] | None:
        return [] if state == FINISHED else completion(self.machine, self.program.tracked, *self.pair(state))

    def closing(self, state: int, most: int) -> tuple[int, bool]:
        return self.machine.closing(self.pair(state)[0], most)

    def stands_between(self, state: int) -> bool:
        return self.machine.stands_between(self.pair(state)[0])

    def describe(self, state: int) -> str:
        return self.machine.describe(self.pair(state)[0])

    def refusal(self, state: int, token: int) -> str:
        if self.program.facts.is_text[token] and self.machine.after_token(self.pair(state)[0], token):
            return (
                "after it an item of an array could only equal an earlier one, and its items must differ (uniqueItems)"
            )
        return ""
