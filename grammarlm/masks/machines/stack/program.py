"""A grammar with a stack over a vocabulary: what never changes while its automaton runs.

States are objects: terms of rules (grammars/cfg/pushdown.py), lexer states
(grammars/lark/lexer.py), or the entrance of an LR parser. `expand` returns the edges and moves of each; borders are terms of
their own.
"""

from __future__ import annotations

import functools
import operator
import weakref
from dataclasses import dataclass

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.indent import WIDEST
from grammarlm.grammars.cfg.left_recursion import call_bits
from grammarlm.grammars.cfg.pushdown import Entrance, Pushdown
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.lark.parser import LarkParser
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.grammars.regular.byte_classes import EVERY_BYTE, BytePartition
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import ANYTHING, FOREVER, NIL, REP, Term
from grammarlm.layout.stack import CALL, END, ENTER, LEX, LINE, POP
from grammarlm.masks.machines.regular.liveness import Liveness
from grammarlm.masks.machines.stack.ends.spelling import Spelling
from grammarlm.masks.machines.stack.proofs.trust import Trust
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

MOST_TERMS = 100_000  # terms that stay from one epoch to the next; a few hundred bytes each


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


class StackProgram(ProgramDefaults):
    """What all epochs of one automaton share."""

    def __init__(
        self,
        start: object,
        rules: Pushdown,
        lr: LrTables | None,
        partition: BytePartition,
        algebra: Algebra,
        vocab: Vocabulary,
        limits: Limits,
        clock: Clock,
        liveness: Liveness,
        parsers: list[LarkParser],
        is_lark: bool,
        border: Term = ANYTHING,
    ):
        """`is_lark`: the program is one Lark grammar. `border`: what whole texts must satisfy besides."""
        self.start_state, self.rules, self.lr, self.byte_sets = start, rules, lr, partition
        self.algebra, self.vocab, self.limits, self.clock, self.liveness = algebra, vocab, limits, clock, liveness
        self.parsers, self.is_lark = parsers, is_lark and border is ANYTHING
        self.facts = token_facts(vocab)
        self.lock = shared_lock(PROGRAM)  # the automaton's; writers hold it
        # A text of the LR parser is the whole text: no rule goes on after it.
        self.lr_alone = isinstance(start, Term) and all(
            target is NIL and not start.nullable for _, target in algebra.edges(start)
        )
        self.start = (Thread(start, (), border),)
        # A border on the whole text reads past special tokens, which add nothing to it; a lexeme's border ends before
        # one.
        self.border_reads_on = border is not ANYTHING
        # The tokens that the grammar names, by id: each has a column after those of the bytes. Some may be text.
        self.token_columns = {token: len(partition.samples) + i for i, token in enumerate(rules.tokens)}
        self.named_texts = frozenset(token for token in rules.tokens if self.facts.is_text[token])
        used = functools.reduce(operator.or_, partition.used) & EVERY_BYTE
        # Where each byte that the grammar uses is a token of its own, tokens can spell whatever bytes can.
        self.missing_bytes = [b for b in range(256) if (used & ~self.facts.single_bytes) >> b & 1]
        self.tokens_spell_all = not self.missing_bytes
        # A strong reference back would keep a dropped program alive until Python collects cycles.
        self.trust = Trust(weakref.proxy(self), parsers[0].lexer if is_lark else None)

    @property
    def caps(self) -> tuple[str, ...]:  # type: ignore[override]
        """Limits of the language beyond its grammar, for the report."""
        spelled = (
            () if self.tokens_spell_all else (f"texts must end by tokens of single bytes. {self._missing_tokens()}",)
        )
        if self.lr is None or self.lr.blocks is None:
            return spelled
        return (
            *spelled,
            f"lines are indented by {WIDEST:,} columns at most",
            "indented blocks: that every mask leads to an end of the text is not proved",
        )

    def refuse_tokens(self) -> UnsupportedFeature:
        """The error where no text can be ended: with a stack only tokens of single bytes are tried."""
        return UnsupportedFeature(
            "a grammar with a stack over a vocabulary whose tokens of single bytes end none of its texts; whether longer tokens "
            f"do is not decided. {self._missing_tokens()}. Use a tokenizer with all bytes, or gl.Regex or gl.Choices, where it is"
        )

    def _missing_tokens(self) -> str:
        shown = ", ".join(f"0x{b:02X}" for b in self.missing_bytes[:8]) + (", ..." if self.missing_bytes[8:] else "")
        return f"The vocabulary is missing those for bytes of the grammar: {shown}"

    @property
    def columns(self) -> int:
        return len(self.byte_sets.samples) + len(self.token_columns)

    def forget(self) -> None:
        """Drops what was derived; it is derived again on demand.

        The terms of a Lark grammar stay while they are few: the lexer holds them, and each made anew would stand beside its own.
        """
        if not self.is_lark or self.algebra.size > MOST_TERMS:
            self.algebra.forget()
        self.liveness.forget()
        self.trust.forget()
        if "spelling" in self.__dict__:
            self.spelling.forget()

    @functools.cached_property
    def spelling(self) -> Spelling:
        """The shortest texts of rules and lexemes, made when an end is first asked for."""
        return Spelling(self)

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
