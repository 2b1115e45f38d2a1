"""Steps of an epoch's configs: what comes after tokens and bytes, and whether tokens can end the text from there."""

from __future__ import annotations

import functools

import numpy as np

from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_calls import ADVANCE, FILL_TARGETS
from grammarlm.masks.machines.stack.ends.completion import StackEnds
from grammarlm.masks.protocol import FINISHED

from .arena import StackArena
from .configs import StackConfigs
from .numbers import StackNumbers
from .program import StackProgram
from .states import StateMaker


class StackSteps:
    def __init__(
        self,
        program: StackProgram,
        arena: StackArena,
        numbers: StackNumbers,
        maker: StateMaker,
        configs: StackConfigs,
    ):
        self._program, self._arena, self._numbers = program, arena, numbers
        self._maker, self._configs = maker, configs
        self._checks_ends = program.checks_ends

    @functools.cached_property
    def ends(self) -> StackEnds:
        return StackEnds(self._program, self._arena, self._numbers, self._maker)

    @property
    def nbytes(self) -> int:
        return self.ends.nbytes if "ends" in self.__dict__ else 0

    def is_usable(self, config: int) -> bool:
        """Can tokens of single bytes, and special ones, complete a text from this config?"""
        return self.ends.is_usable(config)

    def _usable(self, config: int) -> int:
        return config if not self._checks_ends or not config or self.is_usable(config) else 0

    def after_token(self, config: int, token: int) -> int:
        """The config after a token, 0 where it is refused."""
        if token in self._program.token_columns:
            return self._usable(self._after_named(config, token))
        return self._usable(self._maker.made(ADVANCE, config, token))

    def after_bytes(self, config: int, data: bytes) -> int:
        """The config after any bytes, 0 where they are refused."""
        return self._usable(self._maker.after_text(config, data))

    def _after_named(self, config: int, token: int) -> int:
        """The config after a token that the grammar names. One that is text is read by its bytes as well, in other threads."""
        named = self._maker.after_column(config, self._program.token_columns[token])
        spelled = self._maker.made(ADVANCE, config, token) if token in self._program.named_texts else 0
        if not named or not spelled:
            return named or spelled
        threads = [*self._arena.threads_of(named), *self._arena.threads_of(spelled)]
        if len(threads) > layout.WIDEST:
            self._maker.supply(-layout.TOO_WIDE)
        return self._configs.closed(threads)

    def special_tokens(self, config: int) -> list[int]:
        """The tokens that may come next by their ids."""
        columns = self._program.token_columns
        if not columns or config <= FINISHED:
            return []
        states = [q for q, _, _ in self._arena.threads_of(config)]
        asked: np.ndarray = np.any(self._arena.array(Field.Q_NEXT)[states], axis=0)
        return [t for t, column in columns.items() if asked[column] and self._maker.after_column(config, column)]

    def targets(self, config: int, tokens: np.ndarray) -> np.ndarray:
        """The configs after allowed tokens, all found by one walk."""
        targets = np.zeros(self._program.vocab.words * 32 + 1, np.int32)
        scratch = np.zeros(self._program.facts.deepest + 2, np.int32)
        scratch[0] = config
        self._maker.made(FILL_TARGETS, scratch.ctypes.data, len(scratch), targets.ctypes.data)
        for token in self.special_tokens(config):
            targets[token] = self._after_named(config, token)
        found: np.ndarray = targets[tokens]
        return found
