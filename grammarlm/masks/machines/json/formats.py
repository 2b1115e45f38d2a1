"""The formats of JSON Schema as complete automata, made once a machine.

All states are explored, then minimised (3,900 are left, most of them of exact dates with leap seconds), and saved on
disk; a process reads them in a few milliseconds, and no mask waits for a state of a format.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from grammarlm.array_files import load_arrays, save_arrays
from grammarlm.cache import cache_folder, sources_digest
from grammarlm.grammars.json_schema.strings import formats
from grammarlm.grammars.json_schema.strings.languages import Languages

from .languages import LanguageStates

ARRAYS = ("table", "accepts", "starts", "distances")  # that are kept; the numbers of states fit in 16 bits
MOST_STATES = 50_000  # of all formats together, before minimisation
LEFT_OUT = {
    "regex",
    "hostname",
}  # of too many states; a hostname's length is counted next to the automaton of its labels


@dataclass(frozen=True)
class FormatAutomata:
    """Minimised automata of all formats. State 0 is dead."""

    names: tuple[str, ...]
    table: np.ndarray  # int32 [S, 256]: the next state, -1: refused
    accepts: np.ndarray  # int32 [S]: 1 where the text may end
    starts: np.ndarray  # int32, by name
    distances: np.ndarray  # int32 [S]: the length in bytes of the shortest text that ends each state

    def farthest(self, state: int) -> int:
        """Upper bound in bytes on the shortest end from any state reachable from this one."""
        reached = np.zeros(len(self.accepts), bool)
        reached[state] = True
        count = 0
        while count < reached.sum():
            count = int(reached.sum())
            rows = self.table[reached]
            reached[rows[rows > 0]] = True
        return int(self.distances[reached].max())

    def start(self, name: str) -> int | None:
        return int(self.starts[self.names.index(name)]) if name in self.names else None


@cache
def format_automata() -> FormatAutomata:
    """Read from disk where the file is sound."""
    names = tuple(sorted(formats.FORMATS - LEFT_OUT - set(formats.REFUSED) | {formats.LABELS}))
    fingerprint = _fingerprint()
    path = cache_folder("formats") / fingerprint
    stored = load_arrays(path, fingerprint)
    if stored is not None and len(stored) == len(ARRAYS):
        found = FormatAutomata(names, *(array.astype(np.int32) for array in stored))
        if _is_sound(found):
            return found
    found = _smallest(*_explored(names), names)
    save_arrays(path, fingerprint, (getattr(found, name).astype(np.int16) for name in ARRAYS))
    return found


def _explored(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """All states of all formats: table, accepting, starts."""
    languages = Languages()
    states = LanguageStates(
        languages.algebra, languages.every, lambda term: not languages.is_dead(term), MOST_STATES, capacity=8192
    )
    starts = [states.number((languages.term(frozenset([("format", name, True)])),)) for name in names]
    count = 0
    while count < len(states):
        before, count = count, len(states)
        states.make(range(before, count))
    return states.table[:count], states.accepts[:count], starts


def _smallest(table: np.ndarray, accepts: np.ndarray, starts: list[int], names: tuple[str, ...]) -> FormatAutomata:
    """Minimisation by partition refinement: classes are split until all states of a class lead to the same classes."""
    table = np.where(table < 0, 0, table)  # the dead state
    by_byte = np.random.default_rng(2).integers(1, 1 << 63, len(table), np.uint64) @ table.astype(np.uint64)
    kinds = table[:, np.unique(by_byte, return_index=True)[1]]  # bytes with equal columns are merged
    weights = np.random.default_rng(0).integers(1, 1 << 63, kinds.shape[1], np.uint64)
    same = accepts.astype(np.int64)
    count = 0
    while True:
        values = np.random.default_rng(1).integers(1, 1 << 63, same.max() + 1, np.uint64)[same]
        signatures = (values[kinds] * weights).sum(1, np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ values
        _, chosen, now = np.unique(signatures, return_index=True, return_inverse=True)
        before, same, count = count, now.reshape(-1), len(chosen)
        if count == before:
            break
    order = np.argsort(chosen, kind="stable")  # the dead state stays the first
    renamed = np.empty(count, np.int64)
    renamed[order] = np.arange(count)
    same, chosen = renamed[same], chosen[order]
    small = same[table[chosen]]
    if not (np.array_equal(small[same], same[table]) and np.array_equal(accepts[chosen][same], accepts)):
        raise AssertionError("two states were taken for one: the numbers that distinguish them have collided")
    small[small == 0] = -1
    accepts = accepts[chosen]
    arrays = (small, accepts, same[starts], _distances(small, accepts))
    return FormatAutomata(names, *(array.astype(np.int32) for array in arrays))


def _distances(table: np.ndarray, accepts: np.ndarray) -> np.ndarray:
    found = np.where(accepts > 0, 0, len(accepts))
    found[0] = len(accepts) + 1
    while True:
        nearer = np.minimum(found, np.where(table > 0, found[table], len(accepts)).min(1) + 1)
        nearer[0] = found[0]
        if np.array_equal(nearer, found):
            return found
        found = nearer


def _is_sound(found: FormatAutomata) -> bool:
    count = len(found.accepts)
    return (
        found.table.shape == (count, 256)
        and found.starts.shape == (len(found.names),)
        and bool((found.table < count).all() and (found.table >= -1).all())
        and bool((found.starts < count).all() and (found.starts > 0).all())
        and found.distances.shape == (count,)
        and bool((found.distances[found.accepts > 0] == 0).all() and (found.distances[found.accepts == 0] > 0).all())
    )


def _fingerprint() -> str:
    """A digest of all that the automata depend on: the sources of the grammars, the layout, and this file."""
    return sources_digest("grammars", "layout", "masks/machines/json/formats.py")[:24]
