"""Which rows are made of surveys, and their signatures (kernels/cpu/surveys/masks.py)."""

from __future__ import annotations

from grammarlm.errors import GrammarError
from grammarlm.layout.stack_calls import FILL_ROW, FILL_SIGNED, FORGET, SIGN

from .arena import StackArena
from .program import StackProgram
from .states import NeedsWalks, StateMaker
from .survey_scratch import SurveyScratch, idle_scratch


class Signatures:
    """The signatures of an epoch's configs: configs with equal ones have equal rows, but for the end of the text."""

    def __init__(self, program: StackProgram, arena: StackArena, maker: StateMaker):
        self._program, self._arena, self._maker = program, arena, maker
        self._idle = idle_scratch(program.vocab)

    @property
    def are_made(self) -> bool:
        """Are rows made from surveys?

        Not without a lexer: there rules end wherever blanks may follow, which is nearly everywhere, so what remains of tokens is
        nearly the vocabulary.
        """
        return self._program.lr is not None and not self._program.trust.needs_walks

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
        if not self.are_made:
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
            self._end(scratch, found)
            return None
        except GrammarError:
            self._end(scratch, found)
            raise
        self._end(scratch, found)
        return found

    def fill(self, signature: int, row_address: int) -> None:
        """Sets the bits of a signature's tokens in a row."""
        self._maker.ask(FILL_SIGNED, signature, row_address)

    def walk(self, config: int, row_address: int) -> None:
        """Sets the bits of the tokens that can be read from a config in a row, by a walk from the config itself."""
        maker = self._maker
        scratch = self._lent_scratch()
        try:
            found = maker.ask(FILL_ROW, config, row_address)
            while found < 0:
                maker.supply(found)
                found = maker.ask(FILL_ROW, config, row_address, 1)  # goes on where it stopped
        finally:
            self._idle.append(scratch)

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
