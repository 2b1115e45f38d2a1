"""Mask rows of an epoch's configs: from their signatures, or by walks."""

from __future__ import annotations

import functools

import numpy as np

from grammarlm.layout.stack_calls import FILL_ROW
from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.shared_rows import SharedRows

from .arena import StackArena
from .program import StackProgram
from .signatures import Signatures
from .states import StateMaker
from .steps import StackSteps


class KnownRows(dict[int, np.ndarray | None]):
    """Rows by config; None where there is none yet."""

    def __missing__(self, key: int) -> None:
        return None


class StackRows:
    """The rows that are made so far, and how others are made."""

    def __init__(
        self, program: StackProgram, arena: StackArena, maker: StateMaker, signatures: Signatures, steps: StackSteps
    ):
        self._program, self._arena, self._maker = program, arena, maker
        self._signatures, self._steps = signatures, steps
        self.known = KnownRows()
        self.known[FINISHED] = program.facts.stop_row
        self._signed: dict[int, np.ndarray] = {}  # by the number of a signature
        self._shared = SharedRows()
        # Do the bytes of tokens alone decide what a row has?
        self._is_plain = program.tokens_spell_all and not program.token_columns

    @property
    def nbytes(self) -> int:
        return self._shared.nbytes

    def may_be_known(self, config: int) -> bool:
        """Could a row that is missing be that of a known signature?"""
        return bool(self._signed) and self._is_plain and self._signatures.has(config)

    def of_known_signature(self, config: int) -> np.ndarray | None:
        """The row, if its signature can be found with nothing made."""
        signature = self._signatures.known(config)
        if signature < 0:
            return None
        row = self.known[config] = self._signed_row(config, signature)
        return row

    def make(self, config: int) -> np.ndarray:
        row = self.known[config] = self._make(config)
        return row

    def _make(self, config: int) -> np.ndarray:
        signature = self._signatures.of(config)
        if self._is_plain and signature is not None:
            return self._signed_row(config, signature)
        if self._is_plain:
            return self._share(self._filled(config, None), self._buffers[1])
        facts = self._program.facts
        row = self._filled(config, signature).copy()
        bits = row.view(np.uint8)
        for token in self._steps.special_tokens(config):
            bits[token >> 3] |= 1 << (token & 7)
        if not self._program.tokens_spell_all:
            ids = ids_of(row & ~facts.stop_row)
            for token, target in zip(ids.tolist(), self._steps.targets(config, ids).tolist(), strict=True):
                if not self._steps.is_usable(target):
                    bits[token >> 3] &= ~(1 << (token & 7)) & 0xFF
        return self._share(row, row.ctypes.data)

    def _signed_row(self, config: int, signature: int) -> np.ndarray:
        """The row of a config, shared by all configs with its signature."""
        known = self._signed.get(signature)
        if known is None:
            known = self._signed[signature] = self._share(self._filled(config, signature), self._buffers[1])
        return known

    def _filled(self, config: int, signature: int | None) -> np.ndarray:
        """The row of the tokens that bytes allow, from a signature or by a walk. The next call overwrites it."""
        rows, rows_address, path, path_address = self._buffers
        stops = self._program.facts.stop_row
        words = len(stops)
        if self._arena.accepting[config]:
            rows[:words] = stops
        else:
            rows[:words] = 0
        if signature is not None:
            self._signatures.fill(signature, rows_address)
        else:
            path[0], path[-1] = config, 0  # the walk begins at node 0
            self._maker.made(FILL_ROW, path_address, len(path), rows_address)
        return rows[:words]

    @functools.cached_property
    def _buffers(self) -> tuple[np.ndarray, int, np.ndarray, int]:
        """Two rows, each with a word to spare, and a path through the vocabulary's trie; with their addresses."""
        facts = self._program.facts
        rows, path = np.zeros(2 * (len(facts.stop_row) + 1), np.int32), np.zeros(facts.deepest + 2, np.int32)
        return rows, rows.ctypes.data, path, path.ctypes.data

    def _share(self, row: np.ndarray, address: int) -> np.ndarray:
        """States with equal rows share one array, a copy of the first. All rows are dropped when they take too much."""
        if self._shared.nbytes + row.nbytes > self._program.limits.max_bytes // 2:
            finished = self.known[FINISHED]
            self.known.clear()
            self.known[FINISHED] = finished
            self._signed.clear()
            self._shared.clear()
        return self._shared.shared_copy(row, address)
