"""The formats of JSON Schema as complete automata, made once a machine.

All states are explored, then minimised (3,900 are left, most of them of exact dates with leap seconds), and saved on
disk; a process reads them in a few milliseconds, and no mask waits for a state of a format. Regular expressions have 9,800 more
states, in a file of their own that is read when a schema asks for them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from grammarlm.array_files import load_arrays, save_arrays
from grammarlm.cache import cache_folder, sources_digest
from grammarlm.grammars.json_schema.strings import formats
from grammarlm.grammars.json_schema.strings.languages import Languages

from .languages import LanguageStates

ARRAYS = ("table", "accepts", "starts", "distances", "ceilings")  # that are kept, in 16 bits
MOST_STATES = 32_767  # of all formats together, before minimisation: their numbers fit in 16 bits
LARGE = {"regex"}
LEFT_OUT = {"hostname"}  # of too many states: its length is counted next to the automaton of its labels


@dataclass(frozen=True)
class FormatAutomata:
    """Minimised automata of all formats. State 0 is dead."""

    names: tuple[str, ...]
    table: np.ndarray  # int16 [S, 256]: the next state, -1: refused
    accepts: np.ndarray  # int32 [S]: 1 where the text may end
    starts: np.ndarray  # int32, by name
    distances: np.ndarray  # int32 [S]: the length in bytes of the shortest text that ends each state
    ceilings: np.ndarray  # int32 [S]: the greatest distance of a state that can be reached from each

    def start(self, name: str) -> int | None:
        return int(self.starts[self.names.index(name)]) if name in self.names else None

    def followed_by(self, other: FormatAutomata) -> FormatAutomata:
        """Both: the states of this one keep their numbers, those of the other come after them."""
        shift = len(self.accepts) - 1
        return FormatAutomata(
            self.names + other.names,
            np.concatenate([self.table, np.where(other.table[1:] > 0, other.table[1:] + shift, -1).astype(np.int16)]),
            np.concatenate([self.accepts, other.accepts[1:]]),
            np.concatenate([self.starts, other.starts + shift]),
            np.concatenate([self.distances, other.distances[1:]]),
            np.concatenate([self.ceilings, other.ceilings[1:]]),
        )


_asked_for: set[str] = set()


def format_automata(name: str = "") -> FormatAutomata:
    """The automata of the usual formats, and of those of `LARGE` that have been asked for by name."""
    if name in LARGE:
        _asked_for.add(name)
    return _joined(tuple(sorted(_asked_for)))


@cache
def _joined(large: tuple[str, ...]) -> FormatAutomata:
    usual = tuple(sorted(formats.FORMATS - LARGE - LEFT_OUT - set(formats.REFUSED) | {formats.LABELS}))
    found = automata_of(usual)
    for name in large:
        found = found.followed_by(automata_of((name,)))
    return found


@cache
def automata_of(names: tuple[str, ...]) -> FormatAutomata:
    """Read from disk where the file is sound."""
    key = " ".join([_fingerprint(), *names])
    path = cache_folder("formats") / hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
    stored = load_arrays(path, key)
    if stored is not None and len(stored) == len(ARRAYS):
        table, *others = stored
        found = FormatAutomata(names, table, *(array.astype(np.int32) for array in others))
        if _is_sound(found):
            return found
    found = _smallest(*_explored(names), names)
    save_arrays(path, key, (getattr(found, name).astype(np.int16) for name in ARRAYS))
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


@dataclass(frozen=True)
class Edges:
    """Pairs of states with a transition from the first to the second, each once: there are far fewer than bytes."""

    starts: np.ndarray  # int64: the first edge of each state; state 0, the dead one, has one to itself
    targets: np.ndarray  # int64
    labels: np.ndarray  # uint64: a hash of the bytes that lead there

    @classmethod
    def of(cls, table: np.ndarray) -> Edges:
        """`table`: every entry is a state."""
        bytes_hashed = np.random.default_rng(0).integers(1, 1 << 63, 256, np.uint64)
        pairs, which = np.unique(np.arange(len(table))[:, None] * len(table) + table, return_inverse=True)
        labels = np.zeros(len(pairs), np.uint64)
        np.add.at(labels, which.reshape(-1), np.tile(bytes_hashed, len(table)))
        sources, targets = np.divmod(pairs, len(table))
        return cls(np.searchsorted(sources, np.arange(len(table))), targets, labels)


def _smallest(table: np.ndarray, accepts: np.ndarray, starts: list[int], names: tuple[str, ...]) -> FormatAutomata:
    """Minimisation by partition refinement: classes are split until all states of a class lead to the same classes."""
    table = np.where(table < 0, 0, table)  # the dead state
    edges = Edges.of(table)
    distances = _distances(edges, accepts)
    same = np.unique(distances, return_inverse=True)[1].reshape(-1)  # equal states are equally far from the end
    count = 0
    while True:
        values = np.random.default_rng(1).integers(1, 1 << 63, same.max() + 1, np.uint64)[same]
        after = np.add.reduceat(values[edges.targets] * edges.labels, edges.starts)
        signatures = after * np.uint64(0x9E3779B97F4A7C15) ^ values
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
    others = (accepts[chosen], same[starts], distances[chosen], _ceilings(edges, distances)[chosen])
    return FormatAutomata(names, small.astype(np.int16), *(array.astype(np.int32) for array in others))


def _distances(edges: Edges, accepts: np.ndarray) -> np.ndarray:
    """The length in bytes of the shortest text that ends each state; of the dead state, more than any."""
    found = np.where(accepts > 0, 0, len(accepts))
    while True:
        nearer = np.minimum(found, np.minimum.reduceat(found[edges.targets], edges.starts) + 1)
        nearer[0] = len(accepts) + 1
        if np.array_equal(nearer, found):
            return found
        found = nearer


def _ceilings(edges: Edges, distances: np.ndarray) -> np.ndarray:
    """The greatest distance of a state that each state can reach, itself included."""
    found = distances.copy()
    found[0] = -1  # a dead state needs no end
    while True:
        farther = np.maximum(found, np.maximum.reduceat(found[edges.targets], edges.starts))
        if np.array_equal(farther, found):
            return found
        found = farther


def _is_sound(found: FormatAutomata) -> bool:
    count = len(found.accepts)
    return (
        found.table.shape == (count, 256)
        and found.starts.shape == (len(found.names),)
        and bool((found.table < count).all() and (found.table >= -1).all())
        and bool((found.starts < count).all() and (found.starts > 0).all())
        and found.distances.shape == (count,)
        and bool((found.distances[found.accepts > 0] == 0).all() and (found.distances[found.accepts == 0] > 0).all())
        and found.ceilings.shape == (count,)
        and bool((found.ceilings[1:] >= found.distances[1:]).all())
    )


def _fingerprint() -> str:
    """A digest of all that the automata depend on: the sources of the grammars, the layout, and this file."""
    return sources_digest("grammars", "layout", "masks/machines/json/formats.py")[:24]
