"""The lazy automaton: states are made when somebody walks there, and shared by all matchers of a constraint.

When an epoch (epoch.py) has reached its limits a new, empty one takes its place, and a matcher that still holds a state of the old
one moves over by the state's term; the old epoch goes with its last holder.
"""

from __future__ import annotations

import threading

from ..errors import LimitExceeded, UnsatisfiableGrammar
from ..grammars.terms import Term
from .epoch import Epoch
from .program import Program


class Automaton:
    """A program and the current epoch of its states."""

    def __init__(self, program: Program):
        self.program = program
        self.lock = threading.RLock()
        self.checks_tokens = not program.tokens_spell_all
        if not program.is_alive(program.start):
            raise UnsatisfiableGrammar("the grammar matches no text at all; check its intersections and look-aheads")
        self.epoch = Epoch(program)
        if self.checks_tokens and not self.epoch.is_usable(self.epoch.start):
            raise UnsatisfiableGrammar(
                "no sequence of this vocabulary's tokens spells a text of the grammar; "
                "the vocabulary lacks tokens for some of its bytes"
            )

    def renew(self, term: Term) -> tuple[Epoch, int]:
        """The current epoch and the state of the term in it; a new epoch where the current one is full."""
        with self.lock:
            if not self.epoch.is_full:
                try:
                    return self.epoch, self.epoch.state_of(term)
                except LimitExceeded:
                    if not self.epoch.is_full:
                        raise
            self.program.forget()
            self.epoch = Epoch(self.program)
            return self.epoch, self.epoch.state_of(term)
