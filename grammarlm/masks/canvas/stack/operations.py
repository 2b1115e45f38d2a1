"""What a terminal's shift does to the stack, whatever follows: said once, for all remainders of tokens that begin with it.

An **operation** takes the symbol on top and puts others in its place. It is a list of groups: each of some symbols may be replaced
by each of some **ways** (symbols, the top last); a symbol is in one group at most. Where the symbol stays, its way begins with it.
The rules of a micro point have an operation in place of the symbol that they pop: the number of symbols plus its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grammarlm.masks.canvas.stack.grammars.needs import Local

from .bits import members

Entry = tuple[int, Local, bool]  # on any of these symbols (as bits), what is pushed, whether they are popped


class Group(NamedTuple):
    symbols: tuple[int, ...]  # ascending
    ways: tuple[Local, ...]


Operation = tuple[Group, ...]


def operation(entries: Iterable[Entry]) -> Operation:
    ways: dict[int, set[Local]] = {}
    for symbols, pushed, pops in entries:
        for symbol in members(symbols):
            ways.setdefault(symbol, set()).add(pushed if pops else (symbol, *pushed))
    groups: dict[tuple[Local, ...], list[int]] = {}
    for symbol in sorted(ways):
        groups.setdefault(tuple(sorted(ways[symbol])), []).append(symbol)
    return tuple(Group(tuple(symbols), of) for of, symbols in groups.items())


class Operations:
    """Those of one grammar, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[Operation, int] = {}
        self._known: dict[tuple[Entry, ...], int] = {}

    def number(self, entries: Sequence[Entry]) -> int:
        key = tuple(entries)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._numbers.setdefault(operation(key), len(self._numbers))
        return known

    @property
    def every(self) -> tuple[Operation, ...]:
        return tuple(self._numbers)


@dataclass(frozen=True, eq=False)
class OperationArrays:
    """Operations as kernels read them (layout/stack_sets.py)."""

    starts: np.ndarray  # int32 [operations + 1]: the groups of each
    symbol_starts: np.ndarray  # int32 [groups + 1]
    symbols: np.ndarray  # int32
    way_starts: np.ndarray  # int32 [groups + 1]
    pushed_starts: np.ndarray  # int32 [ways + 1]
    pushed: np.ndarray  # int32
    group_of: np.ndarray  # int32 [operations, symbols]: 1 + the group that a symbol is in, 0: none
    is_filter: (
        np.ndarray
    )  # int32 [operations]: 1 where all symbols stay as they are, and no other filter lets one of them through


def arrays_of(operations: Sequence[Operation], symbols: int) -> OperationArrays:
    groups = [group for one in operations for group in one]
    ways = [way for group in groups for way in group.ways]
    group_of = np.zeros((len(operations), symbols), np.int32)
    at = 0
    for number, one in enumerate(operations):
        for group in one:
            at += 1
            group_of[number, list(group.symbols)] = at
    return OperationArrays(
        _starts([len(one) for one in operations]),
        _starts([len(group.symbols) for group in groups]),
        np.array([symbol for group in groups for symbol in group.symbols], np.int32),
        _starts([len(group.ways) for group in groups]),
        _starts([len(way) for way in ways]),
        np.array([symbol for way in ways for symbol in way], np.int32),
        group_of,
        _filters(operations),
    )


def _filters(operations: Sequence[Operation]) -> np.ndarray:
    """int32 [operations]: 1 for filters that have no symbol in common."""
    found, known = np.zeros(len(operations), np.int32), set[int]()
    for number, one in enumerate(operations):
        symbols = {symbol for group in one for symbol in group.symbols}
        if all(group.ways == (group.symbols,) for group in one) and not symbols & known:
            found[number] = 1
            known |= symbols
    return found


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
