"""compile() for grammars that need a stack."""

from __future__ import annotations

from dataclasses import replace

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.assembly import Assembly
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.lark.tables import join
from grammarlm.grammars.regular.byte_classes import byte_partition
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import ANYTHING, Term
from grammarlm.grammars.text import any_text
from grammarlm.kernels import entries
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines.regular.liveness import Liveness
from grammarlm.masks.report import CanonicalReport, Report
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import StackEpoch
from .named_tokens import NamedTokens
from .program import StackProgram


def stack_program(grammar: Grammar, algebra: Algebra, vocab: Vocabulary, limits: Limits, clock: Clock) -> StackProgram:
    """The program of a grammar. Everything that can be refused is refused here."""
    liveness = Liveness(algebra, limits, clock)
    assembly = Assembly(grammar, algebra, NamedTokens(vocab).id_of, entries.lalr, limits.max_depth, clock.tick)
    rules = assembly.machine
    rules.is_alive = liveness.is_alive  # type: ignore[method-assign]
    first = rules.solve(assembly.start)
    terms = [first, *(callee.start for callee in rules.calls if isinstance(callee.start, Term))]
    tables = join([(parser.tables, parser.lexer) for parser in assembly.parsers if parser.tables is not None])
    sets = [bits for parser in assembly.parsers for bits in parser.byte_sets]
    partition = byte_partition(*terms, sets=sets)
    if assembly.border is not ANYTHING:
        check_border(grammar, assembly)
        if tables is not None and tables.blocks is not None and assembly.is_lark:
            # Its lexemes are UTF-8. A border that only other bytes satisfy is then known to be violated.
            assembly.border = algebra.both((assembly.border, any_text(algebra)))
        # Bytes that only the border mentions occur in no text.
        partition = replace(byte_partition(*terms, assembly.border, sets=sets), used=partition.used)
    program = StackProgram(assembly, first, tables, partition, vocab, limits, clock, liveness)
    if program.named_texts and (assembly.parsers or assembly.border is not ANYTHING):
        refuse_named_text(program, "together with a Lark grammar, '&' or '-'")
    return program


def refuse_named_text(program: StackProgram, where: str) -> None:
    """A named token that is text would have to be distinguished by bytes and by id, and by a parser or border as well."""
    token = min(program.named_texts)
    raise UnsupportedFeature(
        f"the token {token} ({program.vocab.token_bytes(token)!r:.80}) by its id {where}: it is ordinary text in this vocabulary; "
        "write its text as a string"
    )


def stack_automaton(
    grammar: Grammar, vocab: Vocabulary, limits: Limits, canonical_only: bool
) -> tuple[Automaton, Report]:
    entries.load("stack")
    clock = Clock(limits)
    program = stack_program(grammar, Algebra(limits.max_depth, clock.tick, limits.max_bytes), vocab, limits, clock)
    if canonical_only and program.named_texts:
        refuse_named_text(program, "with canonical_only=True")
    automaton = Automaton(program, StackEpoch)
    canonical = CanonicalReport() if canonical_only else None
    classes, spells_all = len(program.byte_sets.samples), program.tokens_spell_all
    return automaton, Report(repr(grammar)[:200], limits, classes, spells_all, canonical=canonical, caps=program.caps)


def check_border(grammar: Grammar, assembly: Assembly) -> None:
    """Refuses grammars that a border cannot be combined with."""
    if assembly.parsers and assembly.machine.tokens:
        raise UnsupportedFeature(
            f"'&' and '-' with a Lark grammar and special tokens in one: {grammar!r:.200}; write the Lark part as GBNF or EBNF"
        )
