"""Mask rows of an epoch's configs: from their signatures, or by walks."""

from __future__ import annotations

import functools

import numpy as np

from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.shared_rows import SharedRows

from .arena import StackArena
from .program import StackProgram
from .signatures import Signatures
from .steps import StackSteps


class KnownRows(dict[int, np.ndarray | None]):
    """Rows by config; None where there is none yet."""

    def __missing__(self, key: int) -> None:
        return None


class StackRows:
    """The rows that are made so far, and how others are made."""

    def __init__(self, program: StackProgram, arena: StackArena, signatures: Signatures, steps: StackSteps):
        self._program, self._arena, self._signatures, self._steps = program, arena, signatures, steps
        self.known = KnownRows()
        self.known[FINISHED] = program.facts.stop_row
        self._signed: dict[int, np.ndarray] = {}  # by the number of a signature
        self._shared = SharedRows()
        # Do the bytes of tokens alone decide what a row has?
        self._is_plain = not program.checks_ends and not program.token_columns

    @property
    def nbytes(self) -> int:
        return self._shared.nbytes

    @property
    def may_be_known(self) -> bool:
        """Could a row that is missing be that of a known signature?"""
        return bool(self._signed) and self._is_plain and self._signatures.are_made

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
            return self._share(self._filled(config, None), self._buffer[1])
        facts = self._program.facts
        row = self._filled(config, signature).copy()
        bits = row.view(np.uint8)
        for token in self._steps.special_tokens(config):
            bits[token >> 3] |= 1 << (token & 7)
        if self._program.checks_ends:
            ids = ids_of(row & ~facts.stop_row)
            targets, which = np.unique(self._steps.targets(config, ids), return_inverse=True)
            usable = np.array([self._steps.is_usable(target) for target in targets.tolist()], bool)
            for token in ids[~usable[which]].tolist():
                bits[token >> 3] &= ~(1 << (token & 7)) & 0xFF
        return self._share(row, row.ctypes.data)

    def _signed_row(self, config: int, signature: int) -> np.ndarray:
        """The row of a config, shared by all configs with its signature."""
        known = self._signed.get(signature)
        if known is None:
            known = self._signed[signature] = self._share(self._filled(config, signature), self._buffer[1])
        return known

    def _filled(self, config: int, signature: int | None) -> np.ndarray:
        """The row of the tokens that bytes allow, from a signature or by a walk. The next call overwrites it."""
        row, address = self._buffer
        row[:] = self._program.facts.stop_row if self._arena.accepting[config] else 0
        if signature is not None:
            self._signatures.fill(signature, address)
        else:
            self._signatures.walk(config, address)
        return row

    @functools.cached_property
    def _buffer(self) -> tuple[np.ndarray, int]:
        """A row with its address."""
        row = np.zeros(len(self._program.facts.stop_row), np.int32)
        return row, row.ctypes.data

    def _share(self, row: np.ndarray, address: int) -> np.ndarray:
        """States with equal rows share one array, a copy of the first. All rows are dropped when they take too much."""
        if self._shared.nbytes + row.nbytes > self._program.limits.max_bytes // 2:
            finished = self.known[FINISHED]
            self.known.clear()
            self.known[FINISHED] = finished
            self._signed.clear()
            self._shared.clear()
        return self._shared.shared_copy(row, address)
