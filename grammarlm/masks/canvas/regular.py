"""The view of the regular machine: all states that bytes lead to, what tokens do to them, and a table whose only stack is empty."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.runtime.limits import Clock

from .classes import FIRST, STOP, classes_of
from .relations import Relations
from .stack.grid import StackGrid
from .stack.table import StackTable

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.regular.epoch import RegularEpoch
    from grammarlm.masks.matcher import Matcher


class RegularView:
    """The states that texts can lead to. Controls are their numbers: DEAD, FINISHED, then those of texts."""

    def __init__(self, automaton: Automaton, begins: Any = None):
        """`begins`: a term besides that of a text's beginning, where a matcher stands that has read bytes that no token spells."""
        program = automaton.program
        self._automaton = automaton
        with automaton.lock:
            program.clock.begin_call()
            self._numbers, table, accepting = collected(
                automaton, [program.start, *([] if begins is None else [begins])]
            )
            class_of = program.byte_sets.class_of
        self._first = self._numbers[program.start]
        clock = Clock(program.limits)
        relations = Relations(table, class_of, program.limits.max_bytes, clock.check)
        self.classes, kinds = classes_of(relations.of_tokens(program.vocab), program.vocab.stop_ids)
        self.table = table_of([relations.vectors[kind] for kind in kinds.tolist()], accepting)

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> StackGrid:
        if after is None:
            start = self._first
        elif after.is_finished:
            start = FINISHED
        else:
            epoch, state = after._head[1:3]
            term = epoch.terms[state]
            if term not in self._numbers:
                return RegularView(self._automaton, term).grid(length, after, room, check)
            start = self._numbers[term]
        return StackGrid(self.table, self.classes, length, [(start, ())], room, check)


def table_of(vectors: list[np.ndarray], accepting: np.ndarray) -> StackTable:
    """The table of classes, FIRST on, that do what these vectors (int32 [controls]) say; the stop ids are added."""
    ends, controls = np.flatnonzero(accepting), len(accepting)
    sources, classes, targets = [ends], [np.full(len(ends), STOP)], [np.full(len(ends), FINISHED)]
    for token_class, vector in enumerate(vectors, FIRST):
        alive = np.flatnonzero(vector != DEAD)
        sources.append(alive)
        classes.append(np.full(len(alive), token_class))
        targets.append(vector[alive])
    pairs, edge = np.unique(np.concatenate(sources) * controls + np.concatenate(targets), return_inverse=True)
    taken, count = np.concatenate(classes), FIRST + len(vectors)
    sets = np.zeros((len(pairs), -(-count // 64)), np.uint64)
    np.bitwise_or.at(sets, (edge, taken >> 6), np.uint64(1) << (taken & 63).astype(np.uint64))
    kinds, kind = np.unique(sets, axis=0, return_inverse=True)
    control, target = (pairs // controls).astype(np.int32), (pairs % controls).astype(np.int32)
    of_edge: np.ndarray = kind.ravel().astype(np.int32)
    no_pushes, no_rules = np.zeros((0, 2), np.int32), np.zeros((0, 3), np.int32)
    return StackTable(controls, 1, count, controls, control, target, of_edge, kinds, no_pushes, no_rules, one_way=True)


def collected(automaton: Automaton, begins: list[Any]) -> tuple[dict[Hashable, int], np.ndarray, np.ndarray]:
    """The control of each term that bytes lead to from some terms, the transitions by class of byte, and which accept."""
    try:
        return _walk(automaton, begins)
    except LimitExceeded:
        if not automaton.epoch.is_full:
            raise
        return _walk(automaton, begins)  # in an epoch of its own


def _walk(automaton: Automaton, begins: list[Any]) -> tuple[dict[Hashable, int], np.ndarray, np.ndarray]:
    found: dict[int, int] = {DEAD: DEAD, FINISHED: FINISHED}
    for term in begins:
        epoch, state = automaton.renew(term)
        found.setdefault(state, len(found))
    waiting = list(found)[2:]
    regular: RegularEpoch = epoch  # type: ignore[assignment]
    for state in waiting:
        regular.expand(state)
        for target in np.unique(regular.tables.next[state]).tolist():
            if target not in found:
                found[target] = len(found)
                waiting.append(target)
    states = list(found)
    renumber = np.zeros(len(regular.tables.next), np.int32)
    renumber[states] = np.arange(len(states))
    table = renumber[regular.tables.next[states]]
    table[[DEAD, FINISHED]] = DEAD
    accepting = np.array([regular.accepting[state] for state in states])
    accepting[FINISHED] = True
    return {regular.terms[s]: n for s, n in found.items() if s > FINISHED}, table, accepting
