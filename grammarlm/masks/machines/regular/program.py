"""A language over a vocabulary: what all states of an automaton are made from, and what never changes while it runs."""

from __future__ import annotations

import functools
import operator

from grammarlm.grammars.regular.byte_classes import byte_partition
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .liveness import Liveness


class RegularProgram(ProgramDefaults):
    """The start term, the algebra that derives it, and the tokens that spell its texts."""

    def __init__(self, start: Term, algebra: Algebra, vocab: Vocabulary, limits: Limits, clock: Clock):
        self.start, self.algebra, self.vocab, self.limits, self.clock = start, algebra, vocab, limits, clock
        self.byte_sets = byte_partition(start)
        self.facts = token_facts(vocab)
        self.lock = shared_lock(PROGRAM)  # the automaton's; writers hold it
        used = functools.reduce(operator.or_, self.byte_sets.used)
        # Where each byte that the language uses is a token of its own, tokens can spell whatever bytes can.
        self.tokens_spell_all = not used & ~self.facts.single_bytes
        self.liveness = Liveness(algebra, limits, clock)

    def forget(self) -> None:
        """Drops what was derived; it is derived again on demand."""
        self.algebra.forget()
        self.liveness.forget()

    def is_alive(self, term: Term) -> bool:
        """Is there a text in the language?"""
        return self.liveness.is_alive(term)
