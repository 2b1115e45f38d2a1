"""The view of texts of several parts, schemas among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from grammarlm.errors import UnsupportedFeature, brief
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.masks.canvas.json.explored import States
from grammarlm.masks.canvas.json.view import JsonView, Starts, Unrolled, UnrolledView, unrolled
from grammarlm.masks.machines.registry import machine_of
from grammarlm.masks.runtime.limits import Clock

from .joined import Joined, entered, joined
from .states import PartStates, RegularStates, SchemaStates

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.machines.parts.program import PartsProgram
    from grammarlm.masks.matcher import Matcher
    from grammarlm.masks.protocol import StateTerm

Place = tuple[int, "StateTerm"]  # a part, and the term of a state there


class Source(NamedTuple):
    """What the states of all parts were made of."""

    states: States
    parts: list[PartStates]  # equal parts share theirs
    joined: Joined


class PartsView(UnrolledView):
    """The states of all parts as those of one machine; what rows ask of the states, they ask of each schema."""

    def __init__(self, automaton: Automaton):
        super().__init__(automaton)
        program: PartsProgram = automaton.program
        self._program, self._graph = program, program.graph
        for part in self._graph.parts:
            if (name := machine_of(part).name) not in ("json", "regular"):
                raise UnsupportedFeature(
                    f"a canvas over {brief(part, 80)} beside other grammars: the {name} machine has canvases of its own alone; those of "
                    "schemas and regular languages can be joined"
                )
        automata = list(
            {id(a): (a, part) for a, part in zip(program.automata, self._graph.parts, strict=True)}.values()
        )
        self._schemas = {id(a): JsonView(a) for a, part in automata if isinstance(part, JsonSchema)}
        schemas = list(self._schemas.values())
        self.has_free_keys = any(schema.has_free_keys for schema in schemas)
        self.has_cap, self.is_plain = any(s.has_cap for s in schemas), all(s.is_plain for s in schemas)
        self.spelled = tuple(sorted({key for schema in schemas for key in schema.spelled}))
        self.least_length = min((s.least_length for s in schemas if s.least_length is not None), default=None)

    # ------------------------------------------------------------------ states

    def _made(self, states: States, most: int | None = None) -> Unrolled:
        of: dict[int, PartStates] = {}
        for automaton in self._program.automata:
            if id(automaton) not in of:
                schema = self._schemas.get(id(automaton))
                of[id(automaton)] = RegularStates(automaton) if schema is None else SchemaStates(schema, states, most)
        return self._joined(states, [of[id(automaton)] for automaton in self._program.automata], most)

    def _joined(self, states: States, parts: list[PartStates], most: int | None = None) -> Unrolled:
        check = Clock(self._program.limits).check
        tables = {id(part): part.table() for part in parts}
        table = joined([tables[id(part)] for part in parts], self._graph, check)
        has_cap = self.has_cap and not states.counts_blanks
        has_loose = any(part.has_loose for part in parts)
        begins: Starts = [(start, ()) for start in table.starts]
        return unrolled(self._automaton, Source(states, parts, table), table, has_loose, begins, has_cap, most)

    def _after(self, found: Unrolled, matcher: Matcher) -> tuple[Unrolled, Starts]:
        source: Source = found.source
        known = [part.count for part in source.parts]
        starts = [(part, source.parts[part].starts_of(term)) for part, term in self._places(matcher)]
        if [part.count for part in source.parts] != known:
            found = self._joined(source.states, source.parts)
        first = found.source.joined.first
        moved = [
            (first[part] + state, tuple(first[part] + symbol for symbol in stack))
            for part, of in starts
            for state, stack in of
        ]
        return found, list(dict.fromkeys(found.starts(moved)))

    def _places(self, matcher: Matcher) -> list[Place]:
        """Where a matcher stands; without the beginnings of parts that follow where it also stands, since a state in which a part
        may end also does what these do."""
        epoch, state = matcher._head[1:3]
        graph, automata = self._graph, self._program.automata
        is_empty = [a.epoch.accepting[a.epoch.state_of(a.program.start)] for a in automata]
        implied = {
            (after, automata[after].program.start)
            for part, inner, place in epoch.places[state]
            if inner.accepting[place]
            for after in entered(graph, graph.follow[part], is_empty)
        }
        return [place for place in dict.fromkeys(epoch.terms[state]) if place not in implied]

    def configs_of(self, matcher: Matcher) -> list[Config]:
        automata = self._program.automata
        return [term for part, term in self._places(matcher) if id(automata[part]) in self._schemas]

    # ------------------------------------------------------------------ what a row needs

    def few_spellings(self, runs: Sequence[bytes]) -> set[bytes]:
        return {key for schema in self._schemas.values() for key in schema.few_spellings(runs)}
