"""The machines of a grammar's pieces: what a text is read with, byte by byte, when its parts are looked for.

    piece = Piece(Regex("[a-z]+"), vocab, limits)
    stand = piece.start.after(ord("a"))
    stand.ends                                  # may the piece end here?

A piece is compiled on its own, when a text first comes to it, and each step that a text takes is remembered: most bytes are one
lookup.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from grammarlm.errors import GrammarError, LimitExceeded, UnsatisfiableGrammar
from grammarlm.grammars.cfg.assembly import needs_stack
from grammarlm.grammars.compose import Grammar, leaves
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.lark.grammar import Lark
from grammarlm.grammars.part_graph import ITEMS, is_bordered
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.grammars.text import Text
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines.registry import automaton_of
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.runtime.limits import Limits
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary


class Border(NamedTuple):
    """What the bytes after a Lark piece must satisfy: its last lexeme takes what it can of them."""

    automaton: Automaton
    term: Term

    def after(self, byte: int) -> Border:
        with self.automaton.lock:
            edges = self.automaton.program.algebra.edges(self.term)
        return Border(self.automaton, next((target for bits, target in edges if bits >> byte & 1), NOTHING))


Borders = tuple[Border, ...]


def are_over(borders: Borders) -> bool:
    """May what they are about end here?"""
    return all(border.term.nullable for border in borders)


class State:
    """A state of a piece's automaton."""

    __slots__ = ("_after", "_is_over", "borders", "ends", "epoch", "number", "piece")

    def __init__(self, piece: Piece, epoch: Epoch, number: int, ends: bool, borders: Borders):
        self.piece, self.epoch, self.number = piece, epoch, number
        self.ends, self.borders = ends, borders  # may the piece end here, and under which borders?
        self._after: dict[int, State | None] = {}
        self._is_over: bool | None = None

    def after(self, key: int) -> State | None:
        """After a byte, or after the token ~key, which is read by its id; None where no text of the piece goes on so."""
        try:
            return self._after[key]
        except KeyError:
            self._after[key] = found = self.piece.step(self, key)
            return found

    @property
    def is_over(self) -> bool:
        """Can nothing more be read of the piece?"""
        if self._is_over is None:
            self._is_over = self.piece.is_over(self)
        return self._is_over


@dataclass(frozen=True)
class Held:
    """A state, and what else holds there."""

    state: State
    wait: int = 0  # bytes of a token that have yet to come: it is read by its id
    left: int | None = None  # tokens that may have further bytes of this piece
    before: Borders = ()  # of pieces before this one

    @property
    def ends(self) -> bool:
        return self.state.ends and not self.wait

    @property
    def borders(self) -> Borders:
        return self.state.borders + self.before

    @property
    def is_over(self) -> bool:
        return self.state.is_over and not self.wait

    def after(self, key: int) -> Stand | None:
        if self.wait:
            return held(self.state, self.wait - 1)
        if key < 0:
            return self.state.after(key) if are_over(self.before) else None
        state, before = self.state.after(key), [border.after(key) for border in self.before]
        if state is None or any(border.term is NOTHING for border in before):
            return None
        return held(state, 0, self.left, tuple(border for border in before if border.term is not ANYTHING))


Stand = State | Held


def held(state: State, wait: int = 0, left: int | None = None, before: Borders = ()) -> Stand:
    return Held(state, wait, left, before) if wait or before or left is not None else state


def entrance(piece: Piece, before: Borders) -> Stand | None:
    """Where a piece begins, under the borders that hold before it; None where it cannot."""
    start = piece.start
    if start is None or (piece.is_apart and not are_over(before)):
        return None
    left = None if piece.most_tokens is None else piece.most_tokens - 1  # after the token that is being read
    return held(start, 0, left, () if piece.is_apart else before)


class Piece:
    """A grammar, compiled on first use."""

    epochs = 0  # how often its states have begun anew: what is kept of the old ones keeps all of them

    def __init__(self, grammar: Grammar, vocab: Vocabulary, limits: Limits):
        self._grammar, self._vocab, self._limits = grammar, vocab, limits
        self.most_tokens = grammar.max_tokens if isinstance(grammar, Text) else None
        # No border goes on in it, and it has bytes or tokens.
        self.is_apart = isinstance(grammar, (JsonSchema, *ITEMS, Token)) or is_bordered(grammar)
        self._has_borders = _has_lark(grammar) and not is_bordered(grammar)
        self._states: dict[Hashable, State] = {}  # by what they stand for, in one epoch
        self._epoch: Epoch | None = None

    @cached_property
    def _automaton(self) -> Automaton | None:
        """None where the piece has no text."""
        grammar = self._grammar
        if isinstance(grammar, Text) and grammar.max_tokens is not None:
            grammar = Text(grammar.until, max_chars=grammar.max_chars)
        vocab = reading_vocabulary(self._vocab, self._has_borders)
        if self._has_borders:
            self._mark = vocab.size - 1
            grammar = grammar + Token(self._mark)
        try:
            return automaton_of(grammar, vocab, self._limits, False)[0]
        except UnsatisfiableGrammar:
            return None

    @property
    def start(self) -> State | None:
        automaton = self._automaton
        if automaton is None:
            return None
        with automaton.lock:
            return self._state(*automaton.renew(automaton.program.start))

    @property
    def may_be_empty(self) -> bool:
        return not self.is_apart and (start := self.start) is not None and start.ends

    @property
    def watches_tokens(self) -> bool:
        """Does it matter to it which tokens a text has?"""
        return self.most_tokens is not None or isinstance(self._grammar, ITEMS) or needs_stack(self._grammar)

    def names(self, token: int) -> bool:
        """May this token, which has bytes, be read by its id?"""
        if not self.watches_tokens or self._automaton is None:
            return False
        program = self._automaton.program
        return program.reads_whole_tokens or token in program.named_texts

    def step(self, state: State, key: int) -> State | None:
        """The state after a byte, or after the token ~key."""
        assert self._automaton is not None
        if key >= 0 and self._automaton.program.reads_whole_tokens:
            return None
        with self._automaton.lock:
            if key < 0:
                return self._state(*self._made(state, lambda epoch, number: epoch.after_token(number, ~key)))
            return self._state(*self._made(state, lambda epoch, number: epoch.after_bytes(number, bytes([key]))))

    def is_over(self, state: State) -> bool:
        """Can nothing more be read of the piece? Of lark's that is not asked."""
        assert self._automaton is not None
        if self._has_borders:
            return False
        stops = self._automaton.program.facts.stop_row
        with self._automaton.lock:
            return not self._made(state, lambda epoch, number: bool((epoch.row(number) & ~stops).any()))[1]

    def _made(self, state: State, make: Callable[[Epoch, int], int]) -> tuple[Epoch, int]:
        """What is made at a state, and in which epoch: a new one where the state's is full."""
        automaton, epoch, number = self._automaton, state.epoch, state.number
        assert automaton is not None
        automaton.program.clock.begin_call()
        for is_last in (False, True):
            if epoch is not automaton.epoch or epoch.is_full:
                epoch, number = automaton.renew(epoch.terms[number])
            try:
                return epoch, make(epoch, number)
            except LimitExceeded:
                if is_last or not epoch.is_full:
                    raise
            except GrammarError:
                raise
            except BaseException:
                epoch.close()
                raise
        raise AssertionError("unreachable")

    def _state(self, epoch: Epoch, number: int) -> State | None:
        """The state with this number; those that stand for the same are one."""
        if not number:
            return None
        if epoch is not self._epoch:
            self.epochs += self._epoch is not None
            self._epoch, self._states = epoch, {}
        key = epoch.key(number)
        if key not in self._states:
            ends = self._ends(epoch, number) if self._has_borders else (bool(epoch.accepting[number]), ())
            self._states[key] = State(self, epoch, number, *ends)
        return self._states[key]

    def _ends(self, epoch: Epoch, number: int) -> tuple[bool, Borders]:
        """May the piece end here, and under which border? Where the mark after it is awaited its lexemes have ended."""
        assert self._automaton is not None
        program = self._automaton.program
        column = program.token_columns[self._mark]
        ends = [
            thread.border
            for thread in epoch.terms[number]
            if any(column == token for token, _ in program.expand(thread.state)[2])
        ]
        if not ends or ANYTHING in ends:
            return bool(ends), ()
        return True, (Border(self._automaton, program.algebra.alt(ends)),)


@lru_cache(maxsize=16)
def reading_vocabulary(vocab: Vocabulary, has_mark: bool) -> Vocabulary:
    """The vocabulary with a token for each byte, since tokens that cross the end of a piece are read byte by byte; with a mark, a
    special token more, the last one."""
    missing = [bytes([byte]) for byte in range(256) if token_facts(vocab).byte_tokens[byte] < 0]
    if not missing and not has_mark:
        return vocab
    tokens = [vocab.token_bytes(token) for token in range(vocab.size)] + missing
    marks = [len(tokens)] if has_mark else []
    return Vocabulary(tokens + [b"<end of a piece>"] * has_mark, vocab.stop_ids, [*vocab.special_ids, *marks])


def _has_lark(grammar: Grammar) -> bool:
    return any(isinstance(part, Lark) for part in leaves(grammar))
