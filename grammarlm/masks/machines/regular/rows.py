"""Mask rows of the regular machine: walks of the vocabulary's trie, or of pieces of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.table import Arena

from .program import RegularProgram

Piece = tuple[int, int, int]  # of the trie: the depth of the node above it, its first node, one past its last


class RowView(Protocol):
    """What is read of an epoch, and what may be made in it."""

    program: RegularProgram
    tables: Any  # of epoch.py; what they hold outlives a call only as long as they do
    accepting: list[bool]

    def scratch(self, state: int) -> np.ndarray: ...

    def expand(self, state: int) -> None: ...

    def is_usable(self, state: int) -> bool: ...


def made_row(epoch: RowView, state: int, may_make: bool) -> np.ndarray | None:
    """The row of a state, None where something is missing that may not be made."""
    facts = epoch.program.facts
    row = np.zeros(len(facts.stop_row) + 1, np.int32)
    if epoch.accepting[state]:
        row[:-1] |= facts.stop_row
    scratch = epoch.scratch(state)
    memory = scratch.ctypes.data, len(scratch), row.ctypes.data
    tables = epoch.tables  # kept in a local: its arrays must outlive the call
    while missing := entries.fill_row(tables.address, *memory):
        if not may_make:
            return None
        _make(epoch, missing)
        tables = epoch.tables
    return row[:-1].copy()


def add_tokens(epoch: RowView, state: int, pieces: Iterable[Piece], row: np.ndarray) -> None:
    """Allows the tokens of pieces of the trie whose remainders can be read from a state, in a row with a word to spare."""
    scratch, tables = epoch.scratch(state), epoch.tables
    arena = tables.arena.copy()
    address, memory = arena.ctypes.data, (scratch.ctypes.data, len(scratch), row.ctypes.data)
    for depth, first, end in pieces:
        scratch[depth], scratch[-1], arena[Arena.NODES] = state, first, end
        while missing := entries.fill_row(address, *memory):
            _make(epoch, missing)
            tables = epoch.tables  # kept in a local: its arrays must outlive the call
            arena = tables.arena.copy()
            arena[Arena.NODES] = end
            address = arena.ctypes.data


def _make(epoch: RowView, missing: int) -> None:
    """What a walk has found missing."""
    if missing > 0:
        epoch.expand(missing)
    else:
        epoch.is_usable(-missing)
