"""The view of the stack machine: Lark, GBNF and EBNF, with or without a lexer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.regular.terms import ANYTHING, Term
from grammarlm.masks.canvas.classes import FIRST, STOP, TokenClasses, classes_of
from grammarlm.masks.canvas.stack.bits import members
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.large.few import shortest_classes
from grammarlm.masks.canvas.stack.symbols import ROOT, Stack
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.machines.stack.numbers import ACCEPTED
from grammarlm.masks.machines.stack.program import Fork, StackProgram, Thread
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Clock

from .bytewise import Bytewise
from .columns import Columns, row_numbers
from .network import Network
from .points import NO_OPERATION, Points
from .table_maker import TableMaker
from .vectors import NOWHERE, TokenVectors

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.matcher import Matcher

FIRST_CONTROL = 2  # after DEAD and FINISHED
MOST_STACKS = 4096
MOST_POINTS = 1 << 16  # controls and micro points; with more, a row's passes would take minutes
Start = tuple[int, Stack]  # a control as Bytewise numbers it, and the stack


class CfgView:
    """The table of one program, from where texts begin, and from where matchers have asked for one; `begins`: threads of a matcher
    whose borders are not those of any text's beginning."""

    def __init__(self, automaton: Automaton, begins: Iterable[Thread] = ()):
        program: StackProgram = automaton.program
        if program.token_columns:
            raise UnsupportedFeature(
                "a canvas over a grammar that names tokens by their ids: they have no view for canvases yet"
            )
        self._automaton, self._program = automaton, program
        with automaton.lock:
            program.clock.begin_call()
            self._machine = Bytewise(program, begins)
            self._clock = Clock(program.limits)
            check = self._clock.check
            vectors = TokenVectors(self._machine, program.byte_sets.class_of, program.limits.max_bytes, check)
            self._of_tokens = vectors.of_tokens(program.vocab)
            most = min(program.limits.max_states, MOST_POINTS)
            points = Points(self._machine, vectors, most, check)
            self._columns = Columns(vectors, points, self._of_tokens, most)
            self._points = points
            self._starts = self._starts_of(program.start)
            self._explore([*self._starts, *((control, ()) for control in self._machine.between_tokens())])

    def _explore(self, starts: list[Start]) -> None:
        self._columns.explore(control for control, _ in starts)
        self.classes, _ = classes_of(_kinds(self._columns, self._of_tokens), self._program.vocab.stop_ids)
        # A grammar of which an LR parser is made without conflicts gives a text one derivation.
        one_way = self._program.is_lark and isinstance(self._machine.parser, Network)
        self.table = _table(self._columns, self._points, self._of_tokens, self.classes, one_way)
        if self.table.operations:
            self.table = replace(self.table, few=shortest_classes(self._program.vocab, self.classes))

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> StackGrid:
        if after is not None and after.is_finished:
            return self._grid(length, [(FINISHED, ())], room, check)
        view, starts = self.placed(None if after is None else after._head[1].terms[after._head[2]])
        return view._grid(length, starts, room, check)

    def _grid(self, length: int, starts: list[tuple[int, Stack]], room: int, check: Callable[[], None]) -> StackGrid:
        accepted = self._columns.controls[self._machine.accepted]
        others = [*self.placed(None)[1], (FIRST_CONTROL + accepted, ())]
        return StackGrid(self.table, self.classes, length, starts, room, check, others)

    def placed(self, term: Iterable[Thread] | None) -> tuple[CfgView, list[tuple[int, Stack]]]:
        """The (control, stack) where texts begin, or where a matcher stands, and the view that knows them: this one, or another."""
        with self._automaton.lock:
            threads = None if term is None else _without_forks(term)
            knows_all = threads is None or all(self._machine.borders.knows(_border_of(thread)) for thread in threads)
            if knows_all:
                begins = self._starts
                if threads is not None:
                    begins = self._starts_of(threads)
                    if any(control not in self._columns.controls for control, _ in begins):
                        self._program.clock.begin_call()
                        self._clock.begin_call()
                        self._explore(begins)
                numbers = self._columns.controls
                starts = [(FIRST_CONTROL + numbers[control], stack) for control, stack in begins]
                return self, starts
        assert threads is not None
        return CfgView(self._automaton, threads).placed(threads)

    def _starts_of(self, threads: Iterable[Thread]) -> list[Start]:
        """Where threads of a matcher stand. Where the terminal of a lexeme is decided, or may end, it has been shifted."""
        machine, found = self._machine, list[Start]()
        for thread in threads:
            control = machine.control_of(thread.state, _border_of(thread), thread.stack)
            for stack in machine.stacks(reversed(thread.stack)):
                found += [after for after, _ in machine.entered((control, stack)) if after is not None]
        return list(dict.fromkeys(found))


def _border_of(thread: Thread) -> Term:
    """A thread that accepts has no border that means anything."""
    return ANYTHING if thread.state is ACCEPTED else thread.border


def _without_forks(threads: Iterable[Thread]) -> list[Thread]:
    """Threads whose stacks have no forks any more."""
    found = []
    waiting = list(threads)
    while waiting:
        thread = waiting.pop()
        if thread.stack and isinstance(fork := thread.stack[-1], Fork):
            waiting += [Thread(thread.state, (*thread.stack[:-1], *way), thread.border) for way in fork.ways]
        else:
            found.append(thread)
        if len(waiting) + len(found) > MOST_STACKS:
            raise UnsupportedFeature("canvas(after=) a text that can be read in thousands of ways")
    return found


def _kinds(columns: Columns, of_tokens: np.ndarray) -> np.ndarray:
    """int64 [V]: equal for tokens that do the same in each control; 0 for those that do nothing."""
    rows = np.array(columns.columns, np.int32).reshape(len(columns.columns), len(columns.used)).T
    kinds = np.where((rows > 0).any(1), row_numbers(rows) + 1, 0)
    return _by_token(kinds, columns, of_tokens)


def _by_token(values: np.ndarray, columns: Columns, of_tokens: np.ndarray) -> np.ndarray:
    """Values of used vectors as those of tokens, 0 for tokens without one."""
    found = np.zeros(len(of_tokens), np.int64)
    reads = of_tokens != NOWHERE
    found[reads] = values[np.searchsorted(columns.used, of_tokens[reads])]
    return found


def _table(columns: Columns, points: Points, of_tokens: np.ndarray, kinds: TokenClasses, one_way: bool) -> StackTable:
    maker = TableMaker(FIRST_CONTROL + len(columns.controls), len(points.machine.symbols))
    micros = [maker.micro(number) for number in range(len(points.micros))]
    numbers = columns.controls
    classes, first = np.unique(kinds.of, return_index=True)
    places = np.searchsorted(columns.used, of_tokens[first])[classes >= FIRST]
    classes = classes[classes >= FIRST]
    outcomes = maker.outcomes(
        [
            *(maker.point(FIRST_CONTROL + numbers[target], pushed) for target, pushed in outcome.threads),
            *(maker.micro_point(micros[micro]) for micro in outcome.micros),
        ]
        for outcome in columns.outcomes
    )
    for here, (column, ends) in enumerate(zip(columns.columns, columns.ends, strict=True)):
        maker.effects(FIRST_CONTROL + here, classes, outcomes, column[places])
        for micro in ends:
            maker.enter(FIRST_CONTROL + here, STOP, micros[micro])
    revealed = columns.revealed()
    for micro, rules in zip(micros, columns.rules, strict=True):
        if points.ends(micro):
            maker.pop(micro, ROOT, FINISHED)
        for rule in rules:
            if rule.operation != NO_OPERATION:
                if rule.control < 0:
                    maker.operate(micro, rule.operation, then=micros[rule.micro])
                else:
                    target = FIRST_CONTROL + numbers[rule.control]
                    maker.operate(micro, rule.operation, target, rule.pushes)
                continue
            for symbol in members(rule.symbols & revealed[micro]):
                if rule.control < 0:
                    maker.pop(micro, symbol, then=micros[rule.micro])
                else:
                    add = maker.pop if rule.pops else maker.keep
                    add(micro, symbol, FIRST_CONTROL + numbers[rule.control], rule.pushes)
    operations = () if points.operations is None else points.operations.every
    return maker.table(kinds.count, one_way, operations)
