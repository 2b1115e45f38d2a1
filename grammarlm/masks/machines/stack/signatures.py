"""Which rows are made of surveys, and their signatures (kernels/cpu/surveys/masks.py)."""

from __future__ import annotations

import numpy as np

from grammarlm.errors import GrammarError
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_calls import FILL_SIGNED, FORGET, SIGN

from .arena import StackArena
from .arena_plan import Surveys
from .program import StackProgram
from .states import NeedsWalks, StateMaker
from .survey_scratch import SurveyScratch, idle_scratch

INSIDE = 80  # bytes that lead back to the state: more than a name has, fewer than a string


class Signatures:
    """The signatures of an epoch's configs: configs with equal ones have equal rows, but for the end of the text."""

    def __init__(self, program: StackProgram, arena: StackArena, maker: StateMaker, surveys: Surveys):
        self._program, self._arena, self._maker = program, arena, maker
        self.surveys = surveys
        self._idle = idle_scratch(program.vocab)
        self._insides: dict[int, bool] = {}  # by state
        self._asked = 0, False  # the last config asked about, and the answer

    def has(self, config: int) -> bool:
        """Is the row of a config made from surveys?"""
        if self.surveys is Surveys.NOWHERE or self._program.trust.needs_walks:
            return False
        if self.surveys is Surveys.EVERYWHERE:
            return True
        asked, is_inside = self._asked  # a row that is missing is asked about twice
        if asked != config:
            threads = [thread for thread in self._arena.threads_of(config) if thread[0] > layout.EXIT]
            is_inside = all(border == layout.ANY and self._stays_inside(q) for q, _, border in threads)
            self._asked = config, is_inside
        return is_inside

    def _stays_inside(self, q: int) -> bool:
        """Do most bytes lead from a state back to itself, and can nothing end there, as inside a string?"""
        known = self._insides.get(q)
        if known is None:
            after = self._arena.array(Field.Q_NEXT)[q].take(self._program.byte_sets.class_of)
            loops = bool(np.count_nonzero(after == q) >= INSIDE)
            known = self._insides[q] = loops and not self._arena.array(Field.Q_MOVES)[q, 1]
        return known

    def known(self, config: int) -> int:
        """The number of a config's signature; negative where something must be made first."""
        scratch = self._lent_scratch()
        signature = self._maker.ask(SIGN, config)
        if signature < 0:
            self._maker.ask(FORGET, 0)
        self._idle.append(scratch)
        return signature

    def of(self, config: int) -> int | None:
        """The number of a config's signature; None where the row takes a walk from the config itself."""
        if not self.has(config):
            return None
        maker = self._maker
        scratch = self._lent_scratch()
        maker.begin_signing()
        found = -1
        try:
            found = maker.ask(SIGN, config)
            while found < 0:
                maker.supply(found)
                found = maker.ask(SIGN, config, 1)  # goes on where it stopped
        except NeedsWalks:
            if self.surveys is Surveys.INSIDE:
                self._insides |= dict.fromkeys((q for q, _, _ in self._arena.threads_of(config)), False)
                self._asked = 0, False
            self._end(scratch, found)
            return None
        except GrammarError:
            self._end(scratch, found)
            raise
        self._end(scratch, found)
        return found

    def fill(self, signature: int, rows_address: int) -> None:
        """Sets the bits of a signature's tokens in the first of two rows; the second is scratch."""
        self._maker.ask(FILL_SIGNED, signature, rows_address)

    def _end(self, scratch: SurveyScratch, found: int) -> None:
        # Given up: configs left over would be found again, with row numbers that belong to others by then.
        if found < 0:
            self._maker.ask(FORGET, 0)
        self._maker.end_signing()
        self._idle.append(scratch)

    def _lent_scratch(self) -> SurveyScratch:
        """Scratch for a mask, which kernels use until it is put back."""
        try:
            scratch = self._idle.pop()
        except IndexError:  # all are in use by other constraints over the vocabulary
            scratch = SurveyScratch(self._program.vocab)
        self._arena.lend(scratch)
        return scratch
