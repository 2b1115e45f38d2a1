"""The tokens that lead from a state back to it: the reason for its default edge.

Inside a JSON string most tokens change nothing. Which ones is decided by bytes: read from the state, each of 256 bytes
leads back to it, elsewhere, or to a place from which more bytes lead back (inside a character of several bytes). These
few places are a small automaton, which reads all tokens of the vocabulary. Every string of every schema has the same
one, so the result is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache

import numpy as np

from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

MOST_PLACES = 12  # a character of UTF-8 can be half read in eight ways
HOME, LEAVES = 0, -1
LIKELY = b"ae 1"  # a state where most tokens stay leads back to itself with one of these
Step = Callable[[int, bytes], int]


def staying_row(vocab: Vocabulary, state: int, step: Step, key: Callable[[int], Hashable]) -> np.ndarray | None:
    """int32 [W]: the text tokens that lead from a state back to it, through few places; None where there are none.

    `step(state, byte)` reads a byte, 0 where it cannot be read; states with equal keys are the same.
    """
    home = key(state)
    if not any((after := step(state, LIKELY[i : i + 1])) and key(after) == home for i in range(len(LIKELY))):
        return None
    return _row(vocab, _places(state, step, key).tobytes())


def _places(state: int, step: Step, key: Callable[[int], Hashable]) -> np.ndarray:
    """int8 [places, 256]: the place after each byte. New places are only those after bytes of characters beyond ASCII."""
    numbers, states, table = {key(state): HOME}, [state], []
    for here in states:  # grows meanwhile
        row = np.full(256, LEAVES, np.int8)
        for byte in range(256):
            after = step(here, bytes([byte]))
            if not after:
                continue
            known = numbers.get(found := key(after))
            if known is None and byte >= 0x80 and len(states) < MOST_PLACES:
                known = numbers[found] = len(states)
                states.append(after)
            if known is not None:
                row[byte] = known
        table.append(row)
    return np.stack(table)


@lru_cache(maxsize=256)
def _row(vocab: Vocabulary, table: bytes) -> np.ndarray:
    """The tokens that lead from HOME to HOME in a table of places."""
    places = np.frombuffer(table, np.int8).reshape(-1, 256)
    ids = vocab.text_ids
    at, end = vocab.offsets[ids], vocab.offsets[ids + 1]
    here = np.full(len(ids), HOME, np.int8)
    reading = np.arange(len(ids))
    while len(reading):
        here[reading] = places[here[reading], vocab.data[at[reading]]]
        at[reading] += 1
        reading = reading[(here[reading] != LEAVES) & (at[reading] < end[reading])]
    return pack_ids(ids[here == HOME], vocab.words)
