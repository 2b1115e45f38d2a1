"""The classes of all bytes below each node of the vocabulary's trie, as a set of bits.

In a state of a language that letters and digits lead back to (`[a-z][a-z0-9_]*` after its first letter), a subtree with
nothing but letters and digits is allowed whole, in one step (`loops_of` in kernels/cpu/json/step/languages.py).

    a class      0  1-9  A-F  G-Z  a-f  g-z, each other character of ASCII, those beyond ASCII with the first bytes of a
                 blank, all others
    NEVER        quotes, backslashes and control characters, which no string contains, and invalid UTF-8

Next to the classes, in bits from CHARACTERS_AT on, is the largest number of characters that begin below the node: where
a string's length is bounded, a subtree is allowed whole if even that many fit.
"""

from __future__ import annotations

import numpy as np

from grammarlm.layout.json_strings import BEYOND_ASCII, BLANKS_BEYOND, CHARACTERS_AT, MANY_CHARACTERS, NEVER
from grammarlm.layout.utf8 import BAD, utf8_after
from grammarlm.vocab.byte_trie import ByteTrie

_RUNS = [(0x30, 0x31), (0x31, 0x3A), (0x41, 0x47), (0x47, 0x5B), (0x61, 0x67), (0x67, 0x7B)]


def _classes() -> np.ndarray:
    found = np.full(256, NEVER, np.uint8)
    found[0x80:] = BEYOND_ASCII
    count = 0
    for first, end in [*_RUNS, *((byte, byte + 1) for byte in range(0x20, 0x80))]:
        if found[first] == NEVER and first not in (0x22, 0x5C):
            found[first:end] = count
            count += 1
    return found


def _characters() -> np.ndarray:
    """UTF-8 as an automaton [9, 256]: 0 between characters, BAD where it is invalid."""
    return np.array([[utf8_after(state, byte) for byte in range(256)] for state in range(BAD + 1)])


def _begin_blanks() -> np.ndarray:
    """Pairs of first bytes of blanks and line ends beyond ASCII: U+00A0, U+1680, U+2000, ..., U+3000, U+FEFF."""
    found = np.zeros((256, 256), bool)
    found[:, 0xC2] = True
    for first, second in ((0xE1, 0x9A), (0xE2, 0x80), (0xE2, 0x81), (0xE3, 0x80), (0xEF, 0xBB)):
        found[first, second] = True
    return found


CLASSES, _BEGIN_BLANKS = _classes(), _begin_blanks()


def alphabets(trie: ByteTrie) -> np.ndarray:
    """int64 [N]: the classes of all bytes below each node, as if a character began there; and how many characters begin there."""
    characters, parent = _characters(), trie.parent
    found, characters_below = np.zeros(len(trie.byte), np.int64), np.zeros(len(trie.byte), np.int64)
    begins = (trie.byte & 0xC0) != 0x80
    # Is all that is below well-formed UTF-8, from each state of the automaton?
    is_sound = np.ones((len(trie.byte), 9), bool)
    is_sound[:, BAD] = False
    for here in reversed(trie.levels[1:]):
        first = np.flatnonzero(np.diff(parent[here], prepend=-1))
        above = parent[here[first]]
        bits = found[here] | np.int64(1) << CLASSES[trie.byte[here]].astype(np.int64)
        bits[_BEGIN_BLANKS[trie.byte[parent[here]], trie.byte[here]]] |= np.int64(1) << BLANKS_BEYOND
        found[above] = np.bitwise_or.reduceat(bits, first)
        characters_below[above] = np.maximum.reduceat(characters_below[here] + begins[here], first)
        sound = np.take_along_axis(is_sound[here], characters[:, trie.byte[here]].T, 1)
        is_sound[above] &= np.logical_and.reduceat(sound, first)
    found[~is_sound[:, 0]] |= np.int64(1) << NEVER
    return found | np.minimum(characters_below, MANY_CHARACTERS) << CHARACTERS_AT


def first_backslashes(trie: ByteTrie) -> np.ndarray:
    """int32: the nodes whose byte begins an escape, if a string begins at the root."""
    # The last entry: no node above the root.
    parent, ends = trie.parent, np.append(CLASSES[trie.byte] == NEVER, False)
    has_ended = np.zeros(len(trie.byte) + 1, bool)  # does the path above contain a byte that no string contains?
    for here in trie.levels[1:]:
        has_ended[here] = has_ended[parent[here]] | ends[parent[here]]
    return np.flatnonzero((trie.byte == 0x5C) & ~has_ended[:-1]).astype(np.int32)
