"""One epoch (generation of states) of a pushdown machine: a `state` is the number of a config.

It joins the arrays (arena.py), the numbers of states and borders (numbers.py), what makes their rows (states.py),
configs, steps and mask rows. When the arena is full a new, empty epoch takes its place (masks/automaton.py).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from types import SimpleNamespace

import numpy as np

from grammarlm.collector import PATIENT
from grammarlm.kernels import entries
from grammarlm.layout.stack_calls import ADVANCE
from grammarlm.masks.protocol import FINISHED, ByState, EpochDefaults

from .arena import StackArena
from .configs import StackConfigs
from .description import RuleNames, describe
from .ends.completion import parts
from .language import Thread
from .numbers import StackNumbers
from .program import StackProgram
from .rows import StackRows
from .signatures import Signatures
from .states import StateMaker
from .steps import StackSteps

BYTES_OF_STATE = 400  # about the size of a state's object


class StackEpoch(EpochDefaults):
    """One epoch of configs. All methods run under the automaton's lock; `rows` is read without it."""

    targets_at_once = 1024  # of more, most lead to one state, which is found faster without a walk
    tables = SimpleNamespace(address=0)

    def __init__(self, program: StackProgram):
        self.program = program
        self.arena = StackArena(program)
        self.numbers = StackNumbers(program, self.arena)
        self.maker = StateMaker(program, self.arena, self.numbers)
        self.signatures = Signatures(program, self.arena, self.maker)
        self._configs = StackConfigs(self.arena, self.numbers, self.maker)
        self._steps = StackSteps(program, self.arena, self.numbers, self.maker, self._configs)
        self._rows = StackRows(program, self.arena, self.signatures, self._steps)
        self.rows = self._rows.known
        self._lock = program.lock
        self._ask, self._address = entries.ask, self.arena.address
        # May the kernel be asked for steps at once? It knows bytes only. Not after `close`.
        self._peeks = not program.checks_ends and not program.token_columns
        self._start_state: int | None = None
        self.start = self.state_of(program.start)  # made now, since it may be refused

    # ------------------------------------------------------------------ the epoch as a whole

    @property
    def is_full(self) -> bool:
        return self.arena.is_full

    @is_full.setter
    def is_full(self, value: bool) -> None:
        self.arena.is_full = value

    @property
    def nbytes(self) -> int:
        states = BYTES_OF_STATE * len(self.numbers.objects)
        return self.arena.nbytes + self._rows.nbytes + states + self._steps.nbytes

    def close(self) -> None:
        """A call was interrupted halfway: the epoch is declared full, so that nothing more is made here and its
        matchers move on."""
        with self._lock:
            self.arena.is_full, self._peeks = True, False

    # ------------------------------------------------------------------ states

    def state_of(self, threads: tuple[Thread, ...]) -> int:
        """The number of a config in this epoch."""
        if threads is not self.program.start:
            return self._configs.number_of(threads)
        if self._start_state is None:
            self._start_state = self._configs.number_of(threads)
        return self._start_state

    @property
    def terms(self) -> StackConfigs:
        return self._configs

    def key(self, state: int) -> Hashable:
        """Equal keys, equal futures: configs are interned within an epoch."""
        return self, state

    @property
    def accepting(self) -> ByState[bool]:
        return self.arena.accepting

    def is_usable(self, state: int) -> bool:
        """Can tokens of single bytes, and special ones, complete a text from this state?"""
        return self._steps.is_usable(state)

    # ------------------------------------------------------------------ rows

    def row(self, state: int) -> np.ndarray:
        """The mask row of a state (read only): tokens that can be read and completed, stop ids iff the text may end."""
        known = self.rows[state]
        if known is None:
            with PATIENT:  # one garbage collection at most for all objects that a mask makes
                known = self._rows.make(state)
        return known

    def try_row(self, state: int) -> np.ndarray | None:
        """row() where all its parts are cached; None where something must be made first."""
        known = self.rows[state]
        if known is not None or not self._rows.may_be_known:
            return known
        with self._lock:
            if self.is_full:
                return None
            try:
                return self._rows.of_known_signature(state)
            except BaseException:
                self.close()
                raise

    # ------------------------------------------------------------------ steps

    def peek_token(self, address: int, state: int, token: int) -> int:
        """The answer of after_token, negative where Python must make something first."""
        with self._lock:  # the call may intern configs
            if not self._peeks:
                return -1  # Python must make it
            after: int = self._ask(ADVANCE, self._address, state, token, 0)
        return after

    def after_token(self, state: int, token: int) -> int:
        """The state after a token, 0 where it is refused."""
        return self._steps.after_token(state, token)

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state after any bytes, 0 where they are refused."""
        return self._steps.after_bytes(state, data)

    def special_tokens(self, state: int) -> list[int]:
        """The tokens that may come next by their ids."""
        return self._steps.special_tokens(state)

    def targets(self, state: int, tokens: np.ndarray) -> np.ndarray:
        """The states after allowed tokens, all found by one walk."""
        return self._steps.targets(state, tokens)

    def completion(self, state: int) -> list[bytes | int] | None:
        """Bytes and special tokens that end the text; None where none are known."""
        if state == FINISHED:
            return []
        letters = self._steps.ends.of(state)
        return None if letters is None else parts(letters)

    # ------------------------------------------------------------------ words

    @functools.cached_property
    def _rule_names(self) -> RuleNames:
        return RuleNames(self.program)

    def describe(self, state: int) -> str:
        """Where the text stands, in words."""
        if state == FINISHED:
            return ""
        return describe(self.program, self.arena, self.numbers, self.maker, self._rule_names, state)
