"""A machine that reads bytes as a small automaton over classes of bytes: states with equal futures are one.

An **effect** is what bytes do to a state, as a number: a state that they lead to; NONE; or, from the number of states on, one of
`effects`: a set of ways, each of which ends in a state after pushes, or in the middle of a token after a pop.

    (STEP, state)                 (PUSH, symbols, state)         (POP, vector)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.json_canvas import NONE, POP, PUSH, SPECIAL, STEP
from grammarlm.layout.stack_sets import Refine

Way = tuple[Any, ...]  # the first word says which
ALL_RETURNS = 0  # the number of the vector that leaves each state as it is after a pop


class ByteTable(Protocol):
    """What each byte does to each state: of the JSON machine unrolled (json/states/explored.py), of regular automata, of parts."""

    @property
    def next(self) -> np.ndarray: ...

    @property
    def specials(self) -> np.ndarray: ...

    @property
    def accepts(self) -> np.ndarray:
        """int or bool [S]: 0 where a text cannot end, else what may follow its end, by numbers (parts/machines.py)."""


@dataclass(frozen=True, eq=False)
class ByteAutomaton:
    """S states, C classes of bytes. The symbol of a push is the state to which its pop returns."""

    next: np.ndarray  # int32 [S, C]: effects
    class_of: np.ndarray  # uint8 [256]
    effects: list[frozenset[Way]]  # those from S on
    accepts: np.ndarray  # int or bool [S], as of ByteTable
    block_of: np.ndarray  # int32: the state of each unrolled state
    returns: np.ndarray  # int32: the states that are symbols

    @property
    def states(self) -> int:
        return len(self.next)


def byte_automaton(explored: ByteTable, check: Callable[[], None]) -> ByteAutomaton:
    """Partition refinement: states are apart where one accepts, or a byte leads to states that are apart."""
    columns, class_of = _byte_classes(explored.next)
    chains = _chains(explored, columns)
    check()
    block = _blocks(columns, explored.accepts.astype(np.int64), chains)
    check()
    first = np.unique(block, return_index=True)[1]
    entries, effects = _entries(columns, block, chains)
    assert (entries == entries[first[block]]).all(), "two states were taken for one"
    symbols = {way[1] for chain in chains.values() for way in chain if way[0] == PUSH}
    returns = np.unique(block[sorted(symbols)]) if symbols else np.zeros(0, np.int64)
    return ByteAutomaton(
        entries[first].astype(np.int32), class_of.astype(np.uint8), effects, explored.accepts[first],
        block.astype(np.int32), returns.astype(np.int32),
    )  # fmt: skip


def _byte_classes(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that differ, and which of them each byte has; by hashes, which are checked."""
    entries.load("stack_sets")
    table = np.ascontiguousarray(table, np.int32)
    hashes = np.zeros(256, np.uint64)
    entries.byte_columns(address_of(table), len(table), address_of(hashes), 0)
    _, first, class_of = np.unique(hashes, return_index=True, return_inverse=True)
    class_of = class_of.reshape(-1)
    like = np.ascontiguousarray(first[class_of], np.int64)
    assert entries.byte_columns(address_of(table), len(table), 0, address_of(like)), "two bytes were taken for one"
    return np.ascontiguousarray(table[:, first]), class_of.astype(np.uint8)


def _blocks(columns: np.ndarray, kinds: np.ndarray, chains: dict[int, list[tuple[int, int, int]]]) -> np.ndarray:
    """The coarsest partition in which states of a block are of one kind and do alike; by hashes, which the caller checks."""
    entries.load("stack_sets")
    states, wide = columns.shape
    special = columns <= SPECIAL
    numbers, places = np.unique(columns[special], return_inverse=True)
    steps = np.where(columns == NONE, np.int32(states), columns)
    steps[special] = states + 1 + places.reshape(-1)
    parts = [(number, *way) for number, entry in enumerate(numbers.tolist()) for way in chains[entry]]
    arena = np.zeros(Refine.LENGTH, np.int64)
    block = np.unique(kinds, return_inverse=True)[1].reshape(-1).astype(np.int64)
    arrays = {
        Refine.STEPS: np.ascontiguousarray(steps),
        Refine.WEIGHTS: np.random.default_rng(0).integers(1, 1 << 63, wide, np.uint64) * np.uint64(2) + np.uint64(1),
        Refine.PART: np.array(parts, np.int64).reshape(-1, 4),
        Refine.BLOCK: block,
    }
    for place, array in arrays.items():
        arena[place] = address_of(array)
    for place, number in (
        (Refine.STATES, states), (Refine.COLUMNS, wide), (Refine.PARTS, len(parts)), (Refine.SPECIALS, len(numbers)),
    ):  # fmt: skip
        arena[place] = number
    entries.refine_blocks(address_of(arena))
    return block


def _chains(explored: ByteTable, columns: np.ndarray) -> dict[int, list[tuple[int, int, int]]]:
    """(operation, symbol, state) of each special entry."""
    found = {}
    for entry in np.unique(columns[columns <= SPECIAL]).tolist():
        chain, at = [], SPECIAL - entry
        while True:
            operation, symbol, state, after = explored.specials[at].tolist()
            chain.append((operation, symbol, state))
            if after == NONE:
                break
            if after >= 0:
                chain.append((STEP, 0, after))
                break
            at = SPECIAL - after
        found[entry] = chain
    return found


def _entries(
    columns: np.ndarray, block: np.ndarray, chains: dict[int, list[tuple[int, int, int]]]
) -> tuple[np.ndarray, list[frozenset[Way]]]:
    """The effects of each state by class of byte, as blocks; and the special ones."""
    blocks = int(block.max()) + 1
    numbers: dict[frozenset[Way], int] = {}
    lowest = min(int(columns.min(initial=0)), NONE)
    of = np.full(len(block) - lowest, NONE, np.int32)  # by entry - lowest
    of[-lowest:] = block
    for entry, chain in chains.items():
        ways = frozenset(_way(operation, symbol, state, block) for operation, symbol, state in chain)
        if len(ways) == 1 and (one := next(iter(ways)))[0] == STEP:
            of[entry - lowest] = one[1]
        else:
            of[entry - lowest] = blocks + numbers.setdefault(ways, len(numbers))
    return of[columns - lowest], list(numbers)


def _way(operation: int, symbol: int, state: int, block: np.ndarray) -> Way:
    if operation == STEP:
        return STEP, int(block[state])
    if operation == PUSH:
        return PUSH, (int(block[symbol]),), int(block[state])
    return POP, ALL_RETURNS
