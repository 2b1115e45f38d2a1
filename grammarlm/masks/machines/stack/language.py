"""A grammar with a stack over a vocabulary, and what its states can do: what never changes while its automaton runs.

States are objects: terms of rules (grammars/cfg/pushdown.py), lexer states
(grammars/lark/lexer.py), or the entrance of an LR parser. `expand` returns the edges and moves of each; borders are terms of
their own. The proofs (proofs/) and the shortest texts (ends/) read this; program.py has them.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

from grammarlm.grammars.cfg.assembly import Assembly
from grammarlm.grammars.cfg.left_recursion import call_bits
from grammarlm.grammars.cfg.pushdown import Entrance
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.byte_classes import EVERY_BYTE, BytePartition
from grammarlm.grammars.regular.terms import ANYTHING, FOREVER, NIL, REP, Term
from grammarlm.layout.stack import CALL, END, ENTER, LEX, LINE, POP
from grammarlm.masks.machines.regular.liveness import Liveness
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

Move = tuple[int, object, object]  # its kind (layout/stack.py) and operands
Expansion = tuple[
    list[tuple[int, object]], list[Move], list[tuple[int, object]]
]  # edges, moves, edges by special token


@dataclass(frozen=True)
class Thread:
    """One thread of a config, without numbers: its state, its stack from the top, its border."""

    state: object
    stack: tuple  # return states (objects) and LR states (ints); the last may be a Fork
    border: Term


class Fork:
    """The lower end of a stack that is several stacks from there on."""

    def __init__(self, ways: tuple[tuple, ...]):
        self.ways = ways


class StackLanguage(ProgramDefaults):
    """The rules, LR tables, lexers and border of one automaton, and its vocabulary."""

    def __init__(
        self,
        assembly: Assembly,
        start: Term,
        lr: LrTables | None,
        partition: BytePartition,
        vocab: Vocabulary,
        limits: Limits,
        clock: Clock,
        liveness: Liveness,
    ):
        border, parsers = assembly.border, assembly.parsers
        self.start_state, self.rules, self.lr, self.byte_sets = start, assembly.machine, lr, partition
        self.algebra, self.liveness = assembly.algebra, liveness
        self.vocab, self.limits, self.clock = vocab, limits, clock
        self.parsers, self.is_lark = parsers, assembly.is_lark and border is ANYTHING
        # The lexer of the Lark grammar that it is, but for a border.
        self.whole = parsers[0].lexer if assembly.is_lark else None
        self.facts = token_facts(vocab)
        self.lock = shared_lock(PROGRAM)  # the automaton's; writers hold it
        # A text of the LR parser is the whole text: no rule goes on after it.
        self.lr_alone = all(target is NIL and not start.nullable for _, target in self.algebra.edges(start))
        self.start = (Thread(start, (), border),)
        # A border on the whole text reads past special tokens, which add nothing to it; a lexeme's border ends before
        # one.
        self.border_reads_on = border is not ANYTHING
        # The tokens that the grammar names, by id: each has a column after those of the bytes. Some may be text.
        self.token_columns = {token: len(partition.samples) + i for i, token in enumerate(self.rules.tokens)}
        self.named_texts = frozenset(token for token in self.rules.tokens if self.facts.is_text[token])
        used = functools.reduce(operator.or_, partition.used) & EVERY_BYTE
        # Where each byte that the grammar uses is a token of its own, tokens can spell whatever bytes can.
        self.missing_bytes = [b for b in range(256) if (used & ~self.facts.single_bytes) >> b & 1]
        self.tokens_spell_all = not self.missing_bytes
        # Nothing is proved of blocks under a border: whether a text can end is asked of each config (ends/).
        self.has_doubtful_blocks = border is not ANYTHING and lr is not None and lr.blocks is not None

    @property
    def columns(self) -> int:
        return len(self.byte_sets.samples) + len(self.token_columns)

    @property
    def is_free(self) -> bool:
        """No border holds from the start."""
        return all(thread.border is ANYTHING for thread in self.start)

    @property
    def checks_ends(self) -> bool:
        return not self.tokens_spell_all or self.has_doubtful_blocks

    def is_alive(self, border: Term) -> bool:
        return self.liveness.is_alive(border)

    def expand(self, state: object) -> Expansion:
        """(edges by byte set, moves, edges by special token) of a state."""
        if isinstance(state, Entrance):
            return [], [(ENTER, state.lr_state, None)], []
        if isinstance(state, LexerState):
            return self._expand_lexer(state)
        return self._expand_term(state)  # type: ignore[arg-type]

    def _expand_lexer(self, state: LexerState) -> Expansion:
        moves: list[Move] = []
        if state.start and state.lexer.shifts:
            moves.append((END, None, None))
        for terminal, border in state.commits:
            if not self.is_alive(border):
                continue
            if not state.lexer.shifts:
                moves.append((POP, None, border))
            elif terminal == state.lexer.newline:
                moves.append((LINE, state.column, border))
            else:
                moves.append((LEX, terminal + state.lexer.offset, border))
        return list(state.edges), moves, []

    def _expand_term(self, term: Term) -> Expansion:
        edges: list[tuple[int, object]] = []
        moves: list[Move] = []
        tokens: list[tuple[int, object]] = []
        for bits, target in self.algebra.edges(term):
            if not (target.sure or target.nullable or self.is_alive(target)):
                continue
            if bits <= EVERY_BYTE:
                edges.append((bits, target))
                continue
            if bits & EVERY_BYTE:
                edges.append((bits & EVERY_BYTE, target))
            for index in call_bits(bits):
                callee = self.rules.calls[index]
                if isinstance(callee.key, tuple) and callee.key[0] == "token":
                    tokens.append((self.token_columns[callee.key[1]], target))
                else:
                    moves.append((CALL, callee.start, None if target is NIL else target))
        if term.nullable:
            moves.append((POP, None, ANYTHING))
        return edges, moves, tokens

    def loops(self, state: object) -> bool:
        """Is the state's language closed under repetition, so that returning to it twice equals returning once?"""
        return isinstance(state, Term) and state.kind == REP and state.data == (0, FOREVER)
