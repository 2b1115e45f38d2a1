"""The program of a grammar with a stack: its language, what is proved of it, and the shortest texts of its parts."""

from __future__ import annotations

import functools
import weakref

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.cfg.indent import WIDEST

from .ends.spelling import Spelling
from .language import Fork, StackLanguage, Thread
from .proofs.passing import Passing
from .proofs.trust import Trust

__all__ = ["Fork", "StackProgram", "Thread"]

MOST_TERMS = 100_000  # terms that stay from one epoch to the next; a few hundred bytes each


class StackProgram(StackLanguage):
    """What all epochs of one automaton share."""

    @functools.cached_property
    def trust(self) -> Trust:
        """What is proved of it; made when an arena is."""
        # A strong reference back would keep a dropped program alive until Python collects cycles.
        return Trust(weakref.proxy(self))

    @functools.cached_property
    def passing(self) -> Passing:
        """Which lexemes pass the border, made when no end of a text is found at once."""
        return Passing(weakref.proxy(self))

    @property
    def caps(self) -> tuple[str, ...]:  # type: ignore[override]
        """Limits of the language beyond its grammar, for the report."""
        spelled = (
            () if self.tokens_spell_all else (f"texts must end by tokens of single bytes. {self._missing_tokens()}",)
        )
        if self.lr is None or self.lr.blocks is None:
            return spelled
        widest = f"lines are indented by {WIDEST:,} columns at most"
        if self.has_doubtful_blocks:  # each mask looks for ends
            return *spelled, widest
        return *spelled, widest, "indented blocks: that every mask leads to an end of the text is not proved"

    def refuse_tokens(self) -> GrammarError:
        """The error where no text can be ended: with a stack only tokens of single bytes are tried."""
        if self.tokens_spell_all:
            return UnsatisfiableGrammar("no text of the grammar is left by '&' and '-'; check what they take away")
        return UnsupportedFeature(
            "a grammar with a stack over a vocabulary whose tokens of single bytes end none of its texts; whether longer tokens "
            f"do is not decided. {self._missing_tokens()}. Use a tokenizer with all bytes, or gl.Regex or gl.Choices, where it is"
        )

    def _missing_tokens(self) -> str:
        shown = ", ".join(f"0x{b:02X}" for b in self.missing_bytes[:8]) + (", ..." if self.missing_bytes[8:] else "")
        return f"The vocabulary is missing those for bytes of the grammar: {shown}"

    def forget(self) -> None:
        """Drops what was derived; it is derived again on demand.

        The terms of a Lark grammar stay while they are few: the lexer holds them, and each made anew would stand beside its own.
        """
        if not self.is_lark or self.algebra.size > MOST_TERMS:
            self.algebra.forget()
        self.liveness.forget()
        self.trust.forget()
        if "passing" in self.__dict__:
            self.passing.forget()
        if "spelling" in self.__dict__:
            self.spelling.forget()

    @functools.cached_property
    def spelling(self) -> Spelling:
        """The shortest texts of rules and lexemes, made when an end is first asked for."""
        return Spelling(self)
