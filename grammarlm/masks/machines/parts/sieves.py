"""Where tokens may cross a border, decided by single bytes: shared by all grammars whose borders have these bytes.

A **split** is a node of the vocabulary's trie with a child whose byte can begin what follows. JSON texts end with a
bracket, a quote, a digit or a letter, and white space, so other nodes are no splits. Nor can a prefix end the text that
has fewer closing brackets than are open, or no quote where a string is open, or only white space where the text may not
end yet: so inside a string few nodes are walked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from grammarlm.masks.runtime.shared_lock import TABLES, shared_lock
from grammarlm.masks.token_facts import tokens_at
from grammarlm.vocab.vocabulary import Vocabulary

from .forests import MOST_CLOSERS, Forest, Paths, narrowed, paths_of, whole

MOST_BYTES = 32 << 20  # of all sieves of a vocabulary
DIGITS = range(0x30, 0x3A)
# The byte that a JSON value begins with, and those that it may end with.
ENDS_BY_START = {
    0x7B: (0x7D,), 0x5B: (0x5D,), 0x22: (0x22,), 0x74: (0x65,), 0x66: (0x65,), 0x6E: (0x6C,), 0x2D: DIGITS,
    **dict.fromkeys(DIGITS, DIGITS),
}  # fmt: skip


class Needs(NamedTuple):
    """What a prefix must contain to end a part."""

    closers: int  # at least this number of closing brackets
    quote: bool
    solid: bool  # something that is not white space


NOTHING_NEEDED = Needs(0, False, False)
JSON_NEEDS = [
    NOTHING_NEEDED,
    *(Needs(closers, quote, True) for closers in range(MOST_CLOSERS + 1) for quote in (False, True)),
]


def fewer(needs: Needs) -> Needs:
    """One need less, so that a sieve is derived from a small one."""
    if needs.quote:
        return needs._replace(quote=False)
    return needs._replace(closers=needs.closers - 1) if needs.closers else NOTHING_NEEDED


@dataclass(frozen=True)
class Rim:
    """The bytes at a border, a flag for each."""

    firsts: bytes  # may what follows begin with it?
    lasts: (
        bytes | None
    )  # may the part end with it, before white space? None: the part is not JSON, and any byte may be its last


def json_lasts(firsts: np.ndarray) -> bytes:
    """The bytes that JSON texts with these first bytes may end with."""
    found = np.zeros(256, bool)
    for first, lasts in ENDS_BY_START.items():
        if firsts[first]:
            found[list(lasts)] = True
    return found.tobytes()


@dataclass(frozen=True)
class Sieve:
    """The nodes that lead to splits of a border."""

    forest: Forest
    is_split: np.ndarray  # bool [M]

    @property
    def nbytes(self) -> int:
        return self.forest.nbytes + len(self.is_split)


def needing(wide: Sieve, needs: Needs, paths: Paths) -> Sieve:
    """The part of a sieve for a text that needs something to end."""
    node = wide.forest.node
    is_split = wide.is_split & (paths.closers[node] >= needs.closers)
    if needs.quote:
        is_split &= paths.quote[node]
    if needs.solid:
        is_split &= paths.last[node] >= 0
    return Sieve(*narrowed(wide.forest, is_split))


Kept = TypeVar("Kept", np.ndarray, Sieve)


class Sieves:
    """The sieves of one vocabulary."""

    IS_SHARED = True  # not counted as a constraint's (object_sizes.py)

    def __init__(self, vocab: Vocabulary):
        self._vocab, self._trie, self._paths = vocab, vocab.trie, paths_of(vocab)
        self._known: dict[Hashable, Any] = {}
        self._nbytes = 0
        self._lock = shared_lock(TABLES)

    def splits(self, rim: Rim) -> np.ndarray:
        """bool [N]: which nodes are splits."""

        def make() -> np.ndarray:
            found = np.zeros(len(self._trie.byte), bool)
            found[self._paths.parent[self._begins(rim)]] = True
            return found

        return self._kept(rim, make)

    def crossing(self, rim: Rim) -> np.ndarray:
        """int32 [W]: the tokens that may cross the border, those at and below what may begin after a split. A yes may be wrong, a
        no never is."""

        def make() -> np.ndarray:
            begins, steps = self._begins(rim), np.zeros(len(self._trie.byte) + 1, np.int32)
            steps[begins] = 1
            np.subtract.at(steps, self._trie.end[begins], 1)
            return tokens_at(self._vocab, np.cumsum(steps[:-1]) > 0)

        return self._kept((rim, "crossing"), make)

    def _begins(self, rim: Rim) -> np.ndarray:
        """The nodes where what follows may begin, each below a split."""
        starts = self.starts(rim.firsts)
        if rim.lasts is None:
            return starts
        may_end = np.append(np.frombuffer(rim.lasts, bool), True)  # or white space alone
        return starts[may_end[self._paths.last[self._paths.parent[starts]]]]

    def starts(self, firsts: bytes) -> np.ndarray:
        """The nodes of these bytes, except those right below the root."""
        return self._kept(
            firsts, lambda: np.flatnonzero(np.frombuffer(firsts, bool)[self._trie.byte] & (self._trie.depth > 1))
        )

    def sieve(self, rim: Rim, needs: Needs = NOTHING_NEEDED) -> Sieve:
        def make() -> Sieve:
            if needs != NOTHING_NEEDED:
                return needing(self.sieve(rim, fewer(needs)), needs, self._paths)
            return Sieve(*narrowed(whole(self._trie), self.splits(rim)))

        return self._kept((rim, needs), make)

    def _kept(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Made once; the cache is cleared where it takes too much, and refilled on demand."""
        with self._lock:
            found: Kept | None = self._known.get(key)
            if found is None:
                found = make()
                if self._nbytes + found.nbytes > MOST_BYTES:
                    self._known.clear()
                    self._nbytes = 0
                self._nbytes += found.nbytes
                self._known[key] = found
            return found


@lru_cache(maxsize=2)
def sieves_of(vocab: Vocabulary) -> Sieves:
    return Sieves(vocab)
