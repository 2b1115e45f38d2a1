"""An epoch of texts in which items that are objects or arrays must differ, too: an epoch of the JSON machine, with trackers.

A state outside of such arrays is the machine's own number, so that most texts cost what they cost there. Inside it is TRACKED and
the number of a pair: a config of the machine, and a tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import Config
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.protocol import FINISHED, EpochDefaults

from .completion import completion
from .mask import MaskMaker
from .program import DistinctProgram
from .steps import Steps
from .suspects import suspects_of
from .tracker import Tracker

TRACKED = 1 << 40  # states from here on are inside a tracked array
BYTES_OF_PAIR = 800  # about: a pair shares most of its tracker with the one before

Term = tuple[Config, Tracker | None]


class _ByState:
    """Something that is computed for each state."""

    def __init__(self, of: Callable[[int], Any]):
        self._of = of

    def __getitem__(self, state: int) -> Any:
        return self._of(state)


class DistinctEpoch(EpochDefaults):
    """One generation of texts."""

    writes_json = True

    def __init__(self, program: DistinctProgram):
        self.program = program
        self.machine = JsonEpoch(program.machine)
        self.start = self.machine.start
        self._steps = Steps(self.machine, program.tracked)
        self.masks = MaskMaker(self.machine, program.tracked)
        self._opens = suspects_of(program.vocab)[2]
        self._inside: list[tuple[int, Tracker]] = []
        self._held, self._room = 0, max(program.limits.max_bytes // 4, 1 << 16)
        self._is_full = False

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
    def accepting(self) -> _ByState:
        return _ByState(lambda state: state < TRACKED and self.machine.accepting[state])

    @property
    def terms(self) -> _ByState:
        return _ByState(self._term)

    @property
    def rows(self) -> _ByState:
        return _ByState(lambda state: self.program.facts.stop_row if state == FINISHED else None)

    @property
    def nbytes(self) -> int:
        return self.machine.nbytes + self._held

    def close(self) -> None:
        self._is_full = True
        self.machine.close()

    # ------------------------------------------------------------------ states

    def place(self, state: int) -> tuple[int, Tracker | None]:
        """The machine's state, and the tracker inside of a tracked array."""
        return self._inside[state - TRACKED] if state >= TRACKED else (state, None)

    def _term(self, state: int) -> Term:
        record, tracker = self.place(state)
        return self.machine.terms[record], tracker

    def key(self, state: int) -> Hashable:
        record, tracker = self.place(state)
        return self.machine.key(record), tracker

    def state_of(self, term: Term) -> int:
        if term is self.program.start:
            return self.start
        config, tracker = term
        return self._put(self.machine.state_of(config), tracker)

    def _put(self, record: int, tracker: Tracker | None) -> int:
        if tracker is None or record == DEAD:
            return record
        if self._inside and self._held + BYTES_OF_PAIR > self._room:
            self._is_full = True
            raise LimitExceeded("the items that must differ are more than limits.max_bytes has room for")
        self._held += BYTES_OF_PAIR
        self._inside.append((record, tracker))
        return TRACKED + len(self._inside) - 1

    # ------------------------------------------------------------------ reading

    def peek_token(self, address: int, state: int, token: int) -> int:
        if state >= TRACKED or self._opens[token]:
            return -1
        return int(self.machine.peek_token(address, state, token))

    def after_token(self, state: int, token: int) -> int:
        if state < TRACKED and not self._opens[token]:
            return self.machine.after_token(state, token)
        if not self.program.facts.is_text[token]:
            return DEAD
        return self.after_bytes(state, self.program.vocab.token_bytes(token))

    def after_bytes(self, state: int, data: bytes) -> int:
        if not data:
            return state
        record, tracker = self._steps.read(*self.place(state), data)
        return self._put(self._living(record, tracker), tracker)

    def _living(self, record: int, tracker: Tracker | None) -> int:
        """The config without threads that can only end with an item that was there."""
        if tracker is None or record == DEAD:
            return record
        threads = self._steps.threads(record)
        return self._steps.only(record, threads, [self._steps.lives(thread, tracker) for thread in threads])

    # ------------------------------------------------------------------ masks, ends

    def row(self, state: int) -> np.ndarray:
        if state == FINISHED:
            return self.program.facts.stop_row
        return self.masks.row(*self.place(state))

    def completion(self, state: int) -> list[bytes] | None:
        return [] if state == FINISHED else completion(self.machine, self.program.tracked, *self.place(state))

    def closing(self, state: int, most: int) -> tuple[int, bool]:
        return self.machine.closing(self.place(state)[0], most)

    def stands_between(self, state: int) -> bool:
        return self.machine.stands_between(self.place(state)[0])

    def describe(self, state: int) -> str:
        return self.machine.describe(self.place(state)[0])

    def refusal(self, state: int, token: int) -> str:
        record, tracker = self.place(state)
        if tracker is not None and self.program.facts.is_text[token] and self.machine.after_token(record, token):
            return (
                "after it an item of an array could only equal an earlier one, and its items must differ (uniqueItems)"
            )
        return ""
