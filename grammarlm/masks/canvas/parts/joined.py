"""The states of all parts of a text as those of one machine.

Parts are joined at bytes, not at tokens: where a part may end, its state also does what the beginnings of what follows do. So a
token may cross the ends of parts, and a text may be read in several ways, as sets of ways in the entries of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grammarlm.layout.json_canvas import NONE, PUSH, SPECIAL, STEP
from grammarlm.masks.canvas.tables.automaton import ByteTable

Rows = tuple[tuple[int, int, int], ...]  # (operation, symbol, state) of each way


@dataclass(frozen=True, eq=False)
class Links:
    """Which parts follow one another."""

    firsts: tuple[int, ...]
    lasts: tuple[int, ...]
    follow: list[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Part:
    """The table of a part, and the state in which its texts begin."""

    table: ByteTable
    start: int


@dataclass(frozen=True, eq=False)
class Table:
    """A ByteTable."""

    next: np.ndarray  # int32 [S, 256]
    specials: np.ndarray  # int32 [N, 4]
    accepts: np.ndarray  # int or bool [S]


@dataclass(frozen=True, eq=False)
class Joined(Table):
    """Of all parts."""

    first: tuple[int, ...]  # state 0 of each part
    begins: tuple[int, ...]  # the state in which texts of each part begin
    starts: tuple[int, ...]  # where those of the whole do


def joined(parts: Sequence[Part], graph: Links, ends: Sequence[int], check: Callable[[], None]) -> Joined:
    """One table of the states of all parts; `graph` says which parts follow one another, `ends` what states accept in which a part
    may end."""
    first = [0, *np.cumsum([len(part.table.accepts) for part in parts]).tolist()]
    tables, specials = [], list[np.ndarray]()
    for part, offset in zip(parts, first, strict=False):
        known = sum(map(len, specials))
        tables.append(_moved(part.table.next, offset, known))
        specials.append(_moved_specials(part.table.specials, offset, known))
    table, accepts = np.concatenate(tables), np.concatenate([part.table.accepts for part in parts])
    unions, end_of = _Unions(np.concatenate(specials)), np.zeros(len(accepts), np.int64)
    rows = [table[offset + part.start].copy() for part, offset in zip(parts, first, strict=False)]
    is_empty = [bool(part.table.accepts[part.start]) for part in parts]
    for number, (begin, end) in enumerate(pairwise(first)):
        here = begin + np.flatnonzero(accepts[begin:end])
        end_of[here] = ends[number]
        for after in entered(graph, graph.follow[number], is_empty):
            check()
            table[here] = unions.of_rows(table[here], rows[after])
    begins = tuple(offset + part.start for part, offset in zip(parts, first, strict=False))
    return Joined(
        table,
        unions.specials(),
        end_of,
        tuple(first[:-1]),
        begins,
        tuple(begins[part] for part in graph.firsts),
    )


def entered(graph: Links, parts: Iterable[int], is_empty: Sequence[bool]) -> list[int]:
    """These parts, and those that follow the empty ones among them."""
    found, waiting = dict[int, None](), list(parts)
    while waiting:
        part = waiting.pop()
        if part not in found:
            found[part] = None
            waiting += graph.follow[part] if is_empty[part] else ()
    return list(found)


def _moved(entries: np.ndarray, states: int, specials: int) -> np.ndarray:
    """Entries, with states and specials numbered from these on."""
    return np.where(entries == NONE, NONE, np.where(entries >= 0, entries + states, entries - specials)).astype(
        np.int32
    )


def _moved_specials(rows: np.ndarray, states: int, specials: int) -> np.ndarray:
    found = np.array(rows, np.int32).reshape(-1, 4)
    found[:, 1] += states * (found[:, 0] == PUSH)
    found[:, 2] = _moved(found[:, 2], states, 0)
    found[:, 3] = _moved(found[:, 3], states, specials)
    return found


class _Unions:
    """Entries that have the ways of two."""

    def __init__(self, specials: np.ndarray):
        self._rows: list[tuple[int, int, int, int]] = list(map(tuple, specials.tolist()))
        self._known: dict[Rows, int] = {}

    def specials(self) -> np.ndarray:
        return np.array(self._rows, np.int32).reshape(-1, 4)

    def of_rows(self, rows: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Entries of states, int32 [n, 256], each with the ways of one state, int32 [256]."""
        beside = np.broadcast_to(other, rows.shape)
        found = np.where(rows == NONE, beside, rows)
        both = (rows != NONE) & (beside != NONE) & (rows != beside)
        pairs, of = np.unique(np.stack([rows[both], beside[both]]), axis=1, return_inverse=True)
        unions = [self._union(a, b) for a, b in pairs.T.tolist()]
        found[both] = np.array(unions, np.int32)[of.reshape(-1)]
        return found

    def _union(self, a: int, b: int) -> int:
        ways = tuple(sorted({*self._ways(a), *self._ways(b)}))
        if len(ways) == 1 and ways[0][0] == STEP:
            return ways[0][2]
        known = self._known.get(ways)
        if known is None:
            after = NONE
            for way in ways:
                self._rows.append((*way, after))
                after = SPECIAL - (len(self._rows) - 1)
            known = self._known[ways] = after
        return known

    def _ways(self, entry: int) -> list[tuple[int, int, int]]:
        found = []
        while entry <= SPECIAL:
            *way, entry = self._rows[SPECIAL - entry]
            found.append((way[0], way[1], way[2]))
        return found if entry == NONE else [*found, (STEP, 0, entry)]
