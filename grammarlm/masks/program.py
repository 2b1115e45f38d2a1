"""A language over a vocabulary: what all states of an automaton are made from, and what never changes while it runs."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import LimitExceeded
from ..grammars.byte_classes import byte_partition
from ..grammars.regular import Algebra
from ..grammars.terms import Term
from ..vocab.vocabulary import Vocabulary
from .limits import Clock, Limits


class Program:
    """The start term and the algebra that derives it, beside the tokens that spell its texts."""

    def __init__(self, start: Term, algebra: Algebra, vocab: Vocabulary, limits: Limits, clock: Clock):
        self.start, self.algebra, self.vocab, self.limits, self.clock = start, algebra, vocab, limits, clock
        self.byte_sets = byte_partition(start)
        self.facts = token_facts(vocab)
        used = functools.reduce(operator.or_, self.byte_sets.used)
        # Where each byte that the language uses is a token of its own, tokens can spell whatever bytes can.
        self.tokens_spell_all = not used & ~self.facts.single_bytes
        self._alive: dict[Term, bool] = {}

    def forget(self) -> None:
        """Drops what was derived; it is derived again on demand."""
        self.algebra.forget()
        self._alive.clear()

    def is_alive(self, term: Term) -> bool:
        """Is there a text in the language? Searched breadth first, the term's path to it remembered."""
        if term.sure or term.nullable or term in self._alive:
            return term.sure or term.nullable or self._alive[term]
        came_from: dict[Term, Term | None] = {term: None}
        queue = deque([term])
        found = None
        while queue and found is None:
            here = queue.popleft()
            self.clock.check()
            for _, target in self.algebra.edges(here):
                if target in came_from or self._alive.get(target) is False:
                    continue
                came_from[target] = here
                if target.nullable or target.sure or self._alive.get(target):
                    found = target
                    break
                queue.append(target)
            if len(came_from) > self.limits.max_states:
                raise LimitExceeded(
                    f"whether a text exists is not decided after {self.limits.max_states} states; "
                    "simplify intersections and look-aheads, or raise limits.max_states"
                )
        if found is None:
            self._alive.update(dict.fromkeys(came_from, False))
            return False
        while found is not None:
            self._alive[found] = True
            found = came_from[found]
        return True


@dataclass(frozen=True)
class TokenFacts:
    """What all automata over one vocabulary share."""

    stops: frozenset[int]
    stop_row: np.ndarray  # int32 [W]: the stop ids alone
    everything: np.ndarray | None  # int32 [W]: all ids, where there can be such a row (no special ids, no padding)
    is_text: np.ndarray  # uint8: may a mask allow this id for its bytes?
    single_bytes: int  # the bytes that are tokens of their own, as a 256-bit integer
    deepest: int  # bytes of the longest token


@functools.lru_cache(maxsize=16)
def token_facts(vocab: Vocabulary) -> TokenFacts:
    is_text = np.zeros(len(vocab.offsets) - 1, np.uint8)
    is_text[vocab.text_ids] = 1
    stops = frozenset(vocab.stop_ids)
    complete = len(vocab.text_ids) + len(stops) == vocab.size
    everything = pack_ids(range(vocab.size), vocab.words) if complete else None
    single_bytes = sum(1 << b for b in range(256) if vocab.single_bytes[b])
    return TokenFacts(stops, pack_ids(stops, vocab.words), everything, is_text, single_bytes, vocab.trie.deepest)


def pack_ids(ids: Iterable[int], words: int) -> np.ndarray:
    """A mask row in which exactly these ids are allowed."""
    bits = np.zeros(words * 32, np.uint8)
    bits[list(ids)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
