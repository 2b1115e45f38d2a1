"""compile() for grammars that need a stack."""

from __future__ import annotations

from ..errors import UnsupportedFeature
from ..grammars.assembly import assemble
from ..grammars.byte_classes import byte_partition
from ..grammars.compose import Grammar
from ..grammars.lark import Lark
from ..grammars.lark_tables import join
from ..grammars.regular import Algebra
from ..grammars.terms import ANYTHING, Term
from ..vocab.vocabulary import Vocabulary
from .limits import Clock, Limits
from .liveness import Liveness
from .named_tokens import NamedTokens
from .stack_program import StackProgram


def stack_program(grammar: Grammar, algebra: Algebra, vocab: Vocabulary, limits: Limits, clock: Clock) -> StackProgram:
    """Everything that can be refused is refused here."""
    liveness = Liveness(algebra, limits, clock)
    assembly = assemble(grammar, algebra, NamedTokens(vocab).id_of, limits.max_depth, clock.tick)
    if assembly.border is not ANYTHING:
        raise UnsupportedFeature(
            f"'&' and '-' with a context-free grammar on one side are not supported yet: {grammar!r:.200}; "
            "intersect its regular parts instead"
        )
    rules = assembly.machine
    rules.is_alive = liveness.is_alive  # type: ignore[method-assign]
    first = rules.solve(assembly.start)
    terms = [first, *(callee.start for callee in rules.calls if isinstance(callee.start, Term))]
    nodes = [node for parser in assembly.parsers for node in parser.lexer.characters()]
    tables = join([(parser.tables, parser.lexer) for parser in assembly.parsers if parser.tables is not None])
    partition = byte_partition(*terms, nodes=nodes)
    lexer = assembly.parsers[0].lexer if isinstance(grammar, Lark) else None
    return StackProgram(first, rules, tables, partition, algebra, vocab, limits, clock, liveness, lexer)
