"""The automaton of a document's pieces, in arrays: 20 to 30 bytes a byte of text, up to 70 while it is made.

A suffix automaton (kernels/cpu/substring/grow.py) reads what begins anywhere. Pieces begin at borders, so a small trie of the first
characters of pieces comes before it. Where pieces are words, a text's place in the automaton must tell whether a character was the
first of a word: the last byte of such a character is another symbol while the automaton grows (MARK). After the first character of
a piece that follows from the piece itself, so the marks are gone when it is read.

Automata are shared by all constraints over the same document, as long as one of them lives.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from grammarlm.grammars.substring import Document, Substring
from grammarlm.kernels import entries
from grammarlm.layout.substring import MARK, NONE, ROOT, Growing, Listed
from grammarlm.masks.kernel_words import KernelWords
from grammarlm.masks.runtime.shared_lock import MOMENT, shared_lock

CHUNK = 1 << 16  # bytes between two looks at the clock
_alive: weakref.WeakValueDictionary[Substring, Suffixes] = weakref.WeakValueDictionary()
_lock = shared_lock(MOMENT)


class Suffixes:
    """States from 0 on, their edges sorted by byte, and `left`, the bytes to the next border: 0 where a piece may end."""

    edges: np.ndarray  # int32 [states + 1]: where a state's edges begin
    byte: np.ndarray  # uint8 [edges]
    target: np.ndarray  # int32 [edges]
    left: np.ndarray  # int32 [states]

    start: int  # before the first character

    def __init__(self, document: Document, tick: Callable[[], None]):
        growing = _Growing(document, tick)
        trie = _trie(growing.begins(document), int(growing.words[Growing.STATES]))
        growing.settle()
        self.edges, self.byte, self.target, self.left = growing.packed(len(trie), sum(map(len, trie)))
        self.start = len(self.left) - 1
        state = len(self.left) - len(trie)
        for edges in trie:
            first, end = int(self.edges[state]), int(self.edges[state]) + len(edges)
            self.edges[state + 1] = end
            self.byte[first:end], self.target[first:end] = zip(*edges, strict=True)
            self.left[state] = 1 + self.left[self.target[first:end]].min()
            state += 1
        self.left[self.start] = 0  # the empty piece
        self.farthest = int(self.left.max())

    @property
    def nbytes(self) -> int:
        return self.edges.nbytes + self.byte.nbytes + self.target.nbytes + self.left.nbytes

    def following(self, state: int) -> list[tuple[int, int]]:
        """The bytes that come next, each with the state after it."""
        first, end = self.edges[state : state + 2].tolist()
        return list(zip(self.byte[first:end].tolist(), self.target[first:end].tolist(), strict=True))

    def end(self, state: int) -> bytes:
        """The shortest way to a border, of several the first in byte order."""
        data = bytearray()
        while left := int(self.left[state]):
            byte, state = next(edge for edge in self.following(state) if self.left[edge[1]] == left - 1)
            data.append(byte)
        return bytes(data)


class _Growing(KernelWords):
    """An automaton that kernels make."""

    def __init__(self, document: Document, tick: Callable[[], None]):
        super().__init__(Growing.LENGTH)
        entries.load("substring")
        size = len(document.data)
        symbols = document.data + document.begins_word * np.uint16(MARK)
        states = 2 * size + 2
        self.put(Growing.SYMBOLS, symbols)
        self.put(Growing.REST, document.rest)
        self.put(Growing.LISTS, np.empty((3 * size + 4, Listed.WIDTH), np.int32))
        for place, room, root in (
            (Growing.LINK, states + 1, NONE),
            (Growing.LONGEST, states, 0),
            (Growing.HEAD, states, NONE),
            (Growing.LEFT, states, 0),
        ):
            self.put(place, np.empty(room, np.int32))[ROOT] = root
        self.words[Growing.SIZE], self.words[Growing.STATES] = size, 1
        for first, end in pairwise([*range(0, size, CHUNK), size]):
            tick()
            entries.substring_grow(self.address, end - first)

    def begins(self, document: Document) -> dict[bytes, int]:
        """The state after each character that a piece may begin with."""
        found = {}
        for point in document.characters:
            data = chr(point).encode()
            symbols = np.frombuffer(data, np.uint8).astype(np.uint16)
            symbols[-1] += MARK * (point in document.in_words)
            state = entries.substring_find(self.address, symbols.ctypes.data, len(symbols))
            if state != NONE:
                found[data] = state
        return found

    def settle(self) -> None:
        waiting = np.zeros(self.words[Growing.STATES], np.uint16)
        self.words[Growing.OPEN] = waiting.ctypes.data
        entries.substring_settle(self.address)
        for place in (Growing.SYMBOLS, Growing.REST, Growing.LONGEST):  # no longer read
            del self.arrays[place]
            self.words[place] = 0

    def packed(self, more_states: int, more_edges: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The edges and LEFT, with room for some more."""
        states, count = self.words[[Growing.STATES, Growing.EDGES]].tolist()
        byte, target = np.empty(count + more_edges, np.uint8), np.empty(count + more_edges, np.int32)
        entries.substring_pack(self.address, byte.ctypes.data, target.ctypes.data)
        del self.arrays[Growing.LISTS], self.arrays[Growing.HEAD]
        edges, left = self.arrays.pop(Growing.LINK), self.arrays.pop(Growing.LEFT)
        return _resized(edges, states + more_states + 1), byte, target, _resized(left, states + more_states)


def _resized(array: np.ndarray, size: int) -> np.ndarray:
    """With the same beginning: given back is what is not used."""
    found = np.empty(size, array.dtype)
    found[: min(size, len(array))] = array[:size]
    return found


def _trie(begins: dict[bytes, int], states: int) -> list[list[tuple[int, int]]]:
    """The edges of the states before and within the first characters, numbered from `states` on; the last is the start."""
    inner = sorted({data[:size] for data in begins for size in range(len(data))}, key=lambda data: (-len(data), data))
    number = {prefix: states + at for at, prefix in enumerate(inner)}
    below: dict[bytes, list[tuple[int, int]]] = {prefix: [] for prefix in inner}
    for data, state in [*begins.items(), *number.items()]:
        if data:
            below[data[:-1]].append((data[-1], state))
    return [sorted(below[prefix]) for prefix in inner]


def suffixes_of(grammar: Substring, tick: Callable[[], None]) -> Suffixes:
    """The automaton of a grammar's document, made where none is alive."""
    with _lock:
        found = _alive.get(grammar)
    if found is None:
        found = Suffixes(Document(grammar.text, grammar.unit), tick)
        with _lock:
            _alive[grammar] = found
    return found
