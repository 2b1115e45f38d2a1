"""The view of the stack machine: Lark, GBNF and EBNF, with or without a lexer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.regular.terms import ANYTHING
from grammarlm.masks.canvas.classes import FIRST, STOP, classes_of
from grammarlm.masks.machines.stack.numbers import ACCEPTED
from grammarlm.masks.machines.stack.program import Fork, StackProgram, Thread
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Clock

from .arena import TableArrays
from .bytewise import Bytewise
from .grid import Stack, StackGrid
from .table import ROOT, StackTable, TableMaker
from .tokens import Outcome, TokenWalks, merged

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.matcher import Matcher

FIRST_CONTROL = 2  # after DEAD and FINISHED


class CfgView:
    """The table of one program. `begins`: threads besides that of a text's beginning, where a matcher may stand."""

    def __init__(self, automaton: Automaton, begins: Iterable[Thread] = ()):
        program: StackProgram = automaton.program
        if program.token_columns:
            raise UnsupportedFeature(
                "a canvas over a grammar that names tokens by their ids: they have no view for canvases yet"
            )
        self._automaton, self._program = automaton, program
        with automaton.lock:
            program.clock.begin_call()
            self._machine = Bytewise(program)
            self._starts = [self._start_of(thread) for thread in program.start]
            for thread in begins:
                self._start_of(thread)
            walks = TokenWalks(
                self._machine,
                program.byte_sets.class_of,
                program.vocab,
                Clock(program.limits).check,
                program.limits.max_states,
            )
            walks.run()
        self._controls = self._machine.controls
        micros = merged(walks.micros)
        self.classes, _ = classes_of(_kinds(walks, micros, program.vocab.size), program.vocab.stop_ids)
        self.table = _table(walks, micros, self._machine, self.classes.of, self.classes.count)
        self._arrays = TableArrays(self.table)

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> StackGrid:
        if after is None:
            starts = self._starts
        elif after.is_finished:
            starts = [(FINISHED, ())]
        else:
            with self._automaton.lock:
                threads = _without_forks(after._head[1].terms[after._head[2]])
                starts = [self._start_of(thread) for thread in threads]
            if self._machine.controls > self._controls:
                self._machine.forget_from(self._controls)
                return CfgView(self._automaton, threads).grid(length, after, room, check)
        return StackGrid(self.table, self.classes, length, starts, room, check, self._arrays)

    def _start_of(self, thread: Thread) -> tuple[int, Stack]:
        stack = tuple(self._machine.symbol(symbol) for symbol in reversed(thread.stack))
        border = ANYTHING if thread.state is ACCEPTED else thread.border  # such a thread has none that means anything
        return FIRST_CONTROL + self._machine.control(thread.state, border), stack


MOST_STACKS = 4096


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


def _kinds(walks: TokenWalks, classes: np.ndarray, size: int) -> np.ndarray:
    """int64 [V]: equal for tokens that do the same in each control; 0 for those that do nothing."""
    kinds, count = np.zeros(size, np.int64), 1
    for tokens, numbers, outcomes in walks.outcomes:
        same: dict[object, int] = {}
        merged_numbers = np.zeros(len(outcomes), np.int64)
        for number, outcome in enumerate(outcomes[1:], 1):
            micros = frozenset(classes[list(outcome.micros)].tolist()) - {-1}
            if outcome.threads or micros:
                merged_numbers[number] = same.setdefault((outcome.threads, micros), len(same) + 1)
        own = merged_numbers[numbers]
        changed, own = tokens[own > 0], own[own > 0]
        if len(changed):
            _, places = np.unique(kinds[changed] * (len(same) + 1) + own, return_inverse=True)
            kinds[changed] = count + places
            count += int(places.max()) + 1
    return kinds


def _table(
    walks: TokenWalks, micro_classes: np.ndarray, machine: Bytewise, class_of: np.ndarray, count: int
) -> StackTable:
    maker = TableMaker(FIRST_CONTROL + machine.controls, len(machine.symbols))
    micro_class = micro_classes.tolist()

    def micros(outcome: Outcome) -> set[int]:
        return {maker.micro(micro_class[m]) for m in outcome.micros if micro_class[m] >= 0}

    for control, (tokens, numbers, outcomes) in enumerate(walks.outcomes, FIRST_CONTROL):
        classes, first = np.unique(class_of[tokens], return_index=True)
        for token_class, number in zip(classes.tolist(), numbers[first].tolist(), strict=True):
            if token_class >= FIRST:
                for target, pushed in outcomes[number].threads:
                    maker.effect(control, token_class, FIRST_CONTROL + target, pushes=pushed)
                for micro in micros(outcomes[number]):
                    maker.enter(control, token_class, micro)
        for micro in micros(Outcome(micros=walks.ends[control - FIRST_CONTROL])):
            maker.enter(control, STOP, micro)
    done: set[int] = set()
    for rules, token_class in zip(walks.micros, micro_class, strict=True):
        if token_class < 0 or token_class in done:
            continue
        done.add(token_class)
        here = maker.micro(token_class)
        if rules.ends:
            maker.pop(here, ROOT, FINISHED)
        for symbol, outcome in rules.rules.items():
            for target, pushed in outcome.threads:
                maker.pop(here, symbol, FIRST_CONTROL + target, pushed)
            for micro in micros(outcome):
                maker.pop(here, symbol, then=micro)
    return maker.table(count)
