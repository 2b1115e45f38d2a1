"""The lazy automaton: states are made on first use, and shared by all matchers of a constraint.

When an epoch (machines/*/epoch.py), one generation of states, has reached its limits a new, empty one takes its place. A matcher
that still holds a state of the old one moves it over by the state's term; the old epoch is freed with its last holder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, UnsatisfiableGrammar
from grammarlm.layout.table import DEAD

from .protocol import Epoch, Program, StateTerm


class Automaton:
    """A program and the current epoch of its states."""

    machine: str  # the name of the one that compiled it: a derived grammar does not tell

    def __init__(self, program: Program, make_epoch: Callable[[Any], Epoch]):
        self.program: Any = program
        self.make_epoch = make_epoch
        self.lock = program.lock
        self.epoch: Epoch = make_epoch(program)
        if self.epoch.start == DEAD:  # certainly no text
            raise UnsatisfiableGrammar(
                "the grammar matches no text at all; check its intersections and look-aheads, and what comes after parts in "
                "lark's notation: their last lexeme takes what it can of it"
            )
        if program.checks_ends and not self.epoch.is_usable(self.epoch.state_of(program.start)):
            raise program.refuse_tokens()

    def renew(self, term: StateTerm) -> tuple[Epoch, int]:
        """The current epoch and the state of the term (or config) in it; a new epoch where the current one is full."""
        with self.lock:
            if not self.epoch.is_full:
                try:
                    return self._state_of(term)
                except LimitExceeded:
                    if not self.epoch.is_full:
                        raise
            self.program.forget()
            self.epoch = self.make_epoch(self.program)
            return self._state_of(term)

    def _state_of(self, term: StateTerm) -> tuple[Epoch, int]:
        try:
            return self.epoch, self.epoch.state_of(term)
        except GrammarError:
            raise
        except BaseException:  # Ctrl-C halfway: half-made states are not used again
            self.epoch.close()
            raise
