"""compile() for regular languages: regular expressions, choices, and what `+ | & -` make of them."""

from __future__ import annotations

from grammarlm.errors import UnsatisfiableGrammar
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import NOTHING
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.report import CanonicalReport, Report
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import RegularEpoch
from .program import RegularProgram


def regular_automaton(
    grammar: Grammar, vocab: Vocabulary, limits: Limits, canonical_only: bool
) -> tuple[Automaton, Report]:
    clock = Clock(limits)
    algebra = Algebra(limits.max_depth, clock.tick, limits.max_bytes)
    start = grammar.language(algebra)
    if start is NOTHING:
        raise UnsatisfiableGrammar("the grammar matches no text at all; check its look-aheads and intersections")
    program = RegularProgram(start, algebra, vocab, limits, clock)
    canonical = CanonicalReport() if canonical_only else None
    classes, spells_all = len(program.byte_sets.samples), program.tokens_spell_all
    return Automaton(program, RegularEpoch), Report(
        repr(grammar)[:200], limits, classes, spells_all, canonical=canonical
    )
