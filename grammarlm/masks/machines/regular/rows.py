"""Mask rows of the regular machine: a walk of the vocabulary's trie, or what another state's row has in common with it.

After a byte that leads two states to the same one they read the same. A text that must not hold a word stands, within the
word, as at its start but for the byte that comes next in it: nearly all of its row is the start's. So rows that are dense are
models for later ones (`epoch.models`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.table import DEAD, Arena

from .program import RegularProgram

MOST_MODELS = 4
FEW_NODES = 1 << 14  # trie nodes; so few are walked as fast as a row is copied from a model
SHARE = 4  # a row is copied from a model only if at most one node in so many must be walked again
Piece = tuple[int, int, int]  # of the trie: the depth of the node above it, its first node, one past its last


class RowView(Protocol):
    """What is read of an epoch, and what may be made in it."""

    program: RegularProgram
    tables: Any  # of epoch.py; what they hold outlives a call only as long as they do
    accepting: list[bool]
    rows: list[np.ndarray | None]
    models: tuple[int, ...]

    @property
    def nodes_below(self) -> np.ndarray: ...

    def scratch(self, state: int) -> np.ndarray: ...

    def expand(self, state: int) -> None: ...

    def is_usable(self, state: int) -> bool: ...


def made_row(epoch: RowView, state: int, may_make: bool) -> np.ndarray | None:
    """The row of a state, None where something is missing that may not be made."""
    facts = epoch.program.facts
    row = np.zeros(len(facts.stop_row) + 1, np.int32)
    pieces = _copied(epoch, state, row) if epoch.models else None
    if epoch.accepting[state]:
        row[:-1] |= facts.stop_row
    if pieces is not None:
        return row[:-1].copy() if add_tokens(epoch, state, pieces, row, may_make) else None
    scratch = epoch.scratch(state)
    memory = scratch.ctypes.data, len(scratch), row.ctypes.data
    tables = epoch.tables  # kept in a local: its arrays must outlive the call
    while missing := entries.fill_row(tables.address, *memory):
        if not may_make:
            return None
        _make(epoch, missing)
        tables = epoch.tables
    if 2 * np.count_nonzero(row) > len(row):
        epoch.models = (state, *epoch.models)[:MOST_MODELS]
    return row[:-1].copy()


def add_tokens(epoch: RowView, state: int, pieces: Iterable[Piece], row: np.ndarray, may_make: bool) -> bool:
    """Allows the tokens of pieces of the trie whose remainders can be read from a state, in a row with a word to spare; False
    where something is missing that may not be made."""
    scratch, tables = epoch.scratch(state), epoch.tables
    arena = tables.arena.copy()
    address, memory = arena.ctypes.data, (scratch.ctypes.data, len(scratch), row.ctypes.data)
    for depth, first, end in pieces:
        scratch[depth], scratch[-1], arena[Arena.NODES] = state, first, end
        while missing := entries.fill_row(address, *memory):
            if not may_make:
                return False
            _make(epoch, missing)
            tables = epoch.tables  # kept in a local: its arrays must outlive the call
            arena = tables.arena.copy()
            arena[Arena.NODES] = end
            address = arena.ctypes.data
    return True


def _make(epoch: RowView, missing: int) -> None:
    """What a walk has found missing."""
    if missing > 0:
        epoch.expand(missing)
    else:
        epoch.is_usable(-missing)


def _copied(epoch: RowView, state: int, row: np.ndarray) -> list[Piece] | None:
    """Copies what a model's row has in common with this one's; the pieces of the trie that are left. None: all of it.

    Asked only where rows are dense and a walk may be long: most rows are made faster than they are compared.
    """
    models, tables = epoch.models, epoch.tables  # in this order: no model is beyond the tables
    after = tables.next[state]
    most = epoch.nodes_below @ (after > DEAD)  # nodes that a walk may visit
    if most <= FEW_NODES:
        return None
    differs = tables.next[list(models)] != after
    left = differs @ epoch.nodes_below
    best = int(left.argmin())
    known = epoch.rows[models[best]]
    if known is None or SHARE * left[best] >= most:
        return None
    facts = epoch.program.facts
    trees = facts.trees[differs[best, tables.class_of]]
    pieces = [(0, first, end) for first, end in trees.tolist() if first < end]
    row[:-1] = known & ~facts.stop_row & ~_tokens_in(epoch, pieces)
    return pieces


def _tokens_in(epoch: RowView, pieces: list[Piece]) -> np.ndarray:
    vocab = epoch.program.vocab
    trie, bits = vocab.trie, np.zeros(vocab.words * 32 + 1, np.uint8)
    for _, first, end in pieces:
        bits[trie.token[first:end]] = 1
    bits[trie.twins[:, 0]] = bits[trie.twins[:, 1]]
    return np.packbits(bits[:-1], bitorder="little").view(np.int32)
