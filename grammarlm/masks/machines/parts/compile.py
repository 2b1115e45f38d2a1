"""compile() for texts whose parts have automata of their own, each compiled by its own machine."""

from __future__ import annotations

from grammarlm.grammars.compose import Grammar
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines.registry import automaton_of
from grammarlm.masks.report import CanonicalReport, Report
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import PartsEpoch
from .program import PartsProgram


def parts_automaton(
    grammar: Grammar, vocab: Vocabulary, limits: Limits, canonical_only: bool
) -> tuple[Automaton, Report]:
    program = PartsProgram(grammar, vocab, limits, lambda part: automaton_of(part, vocab, limits, canonical_only))
    parts = list({id(report): report for report in program.reports}.values())
    report = Report(
        repr(grammar)[:200],
        limits,
        256,
        True,
        relaxed=tuple(line for r in parts for line in r.relaxed),
        canonical=CanonicalReport() if canonical_only else None,
        caps=tuple(dict.fromkeys(line for r in parts for line in r.caps)),
        keywords=lambda once=False: [line for r in parts if r.keywords is not None for line in r.keywords(once)],
    )
    return Automaton(program, PartsEpoch), report
