"""The states of one part of a text: as many as bytes lead to from where its texts begin, and where matchers have begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from grammarlm.layout.json_canvas import MARKS_BEHIND
from grammarlm.masks.canvas.json.states.explored import States, start_thread
from grammarlm.masks.canvas.json.view import JsonView
from grammarlm.masks.canvas.regular import collected
from grammarlm.masks.canvas.tables.unrolled import Starts

from .joined import Part, Table

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton


class PartStates(Protocol):
    """Of one part. `count` grows where a matcher stands in a state that is not known yet."""

    @property
    def count(self) -> int: ...

    def table(self) -> Part: ...

    def starts_of(self, term: Any, keys: tuple[bytes, ...] = (), begun: int = -1) -> Starts:
        """Where a matcher stands; `keys` and `begun` as of Explorer.starts_of."""


class SchemaStates:
    """Of a schema."""

    def __init__(self, schema: JsonView, states: States):
        self._program, self._explorer = schema.program, schema.explorer(states)
        self.starts_of = self._explorer.starts_of

    @property
    def count(self) -> int:
        return self._explorer.count

    def table(self) -> Part:
        explored = self._explorer.run(start_thread(self._program))
        return Part(explored, explored.start)


class RegularStates:
    """Of a regular language."""

    def __init__(self, automaton: Automaton, has_marks: bool):
        """`has_marks`: a row has marks around keys of schemas; here these are no bytes at all."""
        self._automaton, self._has_marks = automaton, has_marks
        self._begins = [automaton.program.start]
        self._collect()

    def _collect(self) -> None:
        automaton = self._automaton
        with automaton.lock:
            automaton.program.clock.begin_call()
            self._numbers, table, accepting = collected(automaton, self._begins)
            class_of = automaton.program.byte_sets.class_of
        after = table[:, class_of]
        if self._has_marks:
            after[:, list(MARKS_BEHIND)] = np.arange(len(after))[:, None]
        self._table = Table(after, np.zeros((0, 4), np.int32), accepting)

    @property
    def count(self) -> int:
        return len(self._numbers)

    def table(self) -> Part:
        return Part(self._table, self._numbers[self._begins[0]])

    def starts_of(self, term: Any, keys: tuple[bytes, ...] = (), begun: int = -1) -> Starts:
        if term not in self._numbers:
            self._begins.append(term)
            self._collect()
        return [(self._numbers[term], ())]
