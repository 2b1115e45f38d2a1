"""The view of texts of several parts, schemas among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammarlm.errors import UnsupportedFeature, brief
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.masks.canvas.json.grid import JsonGrid
from grammarlm.masks.canvas.json.rows import JsonRows
from grammarlm.masks.canvas.json.states.explored import States
from grammarlm.masks.canvas.json.unrolled_view import UnrolledView
from grammarlm.masks.canvas.json.view import JsonView
from grammarlm.masks.canvas.protocol import TokenGrid
from grammarlm.masks.canvas.stack.grammars.view import CfgView
from grammarlm.masks.canvas.tables.automaton import byte_automaton
from grammarlm.masks.canvas.tables.unrolled import Starts, Tokens, Unrolled, unrolled
from grammarlm.masks.machines.registry import machine_of
from grammarlm.masks.runtime.limits import Clock

from .crossed import Crossed, Ruled, crossed, joined_machine
from .joined import Joined, Links, entered, joined
from .machines import Exit, Machines
from .machines import Place as InMachine
from .nodes import NodeVocabulary
from .states import PartStates, RegularStates, SchemaStates

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.machines.parts.program import PartsProgram
    from grammarlm.masks.matcher import Matcher
    from grammarlm.masks.protocol import StateTerm

Place = tuple[int, "StateTerm"]  # a part, and the term of a state there
JOINED, RULED = ("json", "regular"), "stack"  # machines whose parts are joined at bytes; the one with tables of its own
Leaving = tuple[tuple[int, ...], bool]  # the parts with rules that may follow; may the text end there?


class Source(NamedTuple):
    """What the states of the parts without rules were made of, by the number of a part."""

    states: States
    parts: dict[int, PartStates]  # equal parts share theirs
    joined: Joined
    flat: Unrolled
    ruled: dict[int, Ruled]  # the tables of those with rules


class PartsView(UnrolledView):
    """The states of all parts as those of one machine; what rows ask of the states, they ask of each schema."""

    def __init__(self, automaton: Automaton):
        super().__init__(automaton)
        program: PartsProgram = automaton.program
        self._program, self._automata = program, program.automata
        if program.graph.has_conditions:
            raise UnsupportedFeature(
                "a canvas over a text with parts that are counted: Repeat(min=, max=) around a schema, Text(max_tokens=), or many "
                "alternatives that begin with words; leave the bounds out"
            )
        self._graph = Links(program.graph.firsts, program.graph.lasts, program.graph.follow)
        names = [machine_of(part).name for part in program.graph.parts]
        for part, name in zip(program.graph.parts, names, strict=True):
            if name not in (*JOINED, RULED):
                raise UnsupportedFeature(
                    f"a canvas over {brief(part, 80)} beside other grammars: the {name} machine has canvases of its own alone"
                )
        self._plain = [number for number, name in enumerate(names) if name in JOINED]
        self._ruled = [number for number, name in enumerate(names) if name == RULED]
        self._is_empty = [self._accepts_nothing(part) for part in self._automata]
        schemas = {
            id(a): a
            for a, part in zip(self._automata, program.graph.parts, strict=True)
            if isinstance(part, JsonSchema)
        }
        self._schemas = {number: JsonView(schema) for number, schema in schemas.items()}
        found = list(self._schemas.values())
        self.has_free_keys = any(schema.has_free_keys for schema in found)
        self.spelled = tuple(sorted({key for schema in found for key in schema.spelled}))
        self.long_lengths = tuple(sorted({length for schema in found for length in schema.long_lengths}))

    @staticmethod
    def _accepts_nothing(automaton: Automaton) -> bool:
        with automaton.lock:
            epoch, state = automaton.renew(automaton.program.start)
            return bool(epoch.accepting[state])

    # ------------------------------------------------------------------ the graph

    @cached_property
    def _plain_graph(self) -> Links:
        """Of the parts without rules alone."""
        number = {part: at for at, part in enumerate(self._plain)}

        def kept(parts: Iterable[int]) -> tuple[int, ...]:
            return tuple(number[part] for part in parts if part in number)

        follow = [kept(self._graph.follow[part]) for part in self._plain]
        return Links(kept(self._graph.firsts), kept(self._graph.lasts), follow)

    def _leaving(self, part: int) -> Leaving:
        """What the end of a part without rules leads to beside other such parts."""
        graph, at = self._plain_graph, self._plain.index(part)
        empty = [self._is_empty[other] for other in self._plain]
        ending = [part, *(self._plain[a] for a in entered(graph, graph.follow[at], empty) if empty[a])]
        ruled = {after for one in ending for after in self._graph.follow[one] if after in self._ruled}
        return tuple(sorted(ruled)), self._may_be_last(part)

    def _may_be_last(self, part: int) -> bool:
        graph = self._graph
        after = entered(graph, graph.follow[part], self._is_empty)
        return part in graph.lasts or any(self._is_empty[a] and a in graph.lasts for a in after)

    @cached_property
    def _exits(self) -> list[Leaving]:
        """Those of parts without rules that lead to anything, each once."""
        return list(dict.fromkeys(leaving for part in self._plain if any(leaving := self._leaving(part))))

    @cached_property
    def _ends(self) -> list[int]:
        """By part without rules what its states accept where it may end: an exit, from 1 on."""
        exits = [self._leaving(part) for part in self._plain]
        return [self._exits.index(leaving) + 1 if any(leaving) else 0 for leaving in exits]

    # ------------------------------------------------------------------ parts with rules

    @cached_property
    def _nodes(self) -> NodeVocabulary:
        """Cut before bytes with which another part may begin."""
        firsts = np.zeros(256, bool)
        after = {a for follow in self._graph.follow for a in follow}
        for part in entered(self._graph, after, self._is_empty):
            automaton = self._automata[part]
            with automaton.lock:
                automaton.program.clock.begin_call()
                for byte in range(256):
                    epoch, state = automaton.renew(automaton.program.start)
                    firsts[byte] |= bool(epoch.after_bytes(state, bytes([byte])))
        return NodeVocabulary(self.vocab, firsts)

    @cached_property
    def _views(self) -> dict[int, CfgView]:
        """By part with rules, a view over the nodes; of equal parts the same."""
        made: dict[int, CfgView] = {}
        for part in self._ruled:
            automaton = self._automata[part]
            if id(automaton) not in made:
                program = copy(automaton.program)
                program.vocab = self._nodes
                over_nodes: Any = SimpleNamespace(program=program, lock=automaton.lock)
                made[id(automaton)] = CfgView(over_nodes)
        return {part: made[id(self._automata[part])] for part in self._ruled}

    # ------------------------------------------------------------------ states

    def _made(self, states: States) -> Unrolled:
        of: dict[int, PartStates] = {}
        for part in self._plain:
            automaton = self._automata[part]
            if id(automaton) not in of:
                schema = self._schemas.get(id(automaton))
                of[id(automaton)] = (
                    RegularStates(automaton, states.marks > 0) if schema is None else SchemaStates(schema, states)
                )
        return self._joined(states, {part: of[id(self._automata[part])] for part in self._plain})

    def _joined(self, states: States, parts: dict[int, PartStates], ruled: dict[int, Ruled] | None = None) -> Unrolled:
        check = Clock(self._program.limits).check
        tables = {id(each): each.table() for each in parts.values()}
        table = joined([tables[id(parts[part])] for part in self._plain], self._plain_graph, self._ends, check)
        begins: Starts = [(start, ()) for start in table.starts]
        if self._ruled:
            ruled = ruled or {part: Ruled.of(view) for part, view in self._views.items()}
        machine = byte_automaton(table, check)
        flat = unrolled(self._automaton, None, machine, begins, self.tokens(states))
        source = Source(states, parts, table, flat, ruled or {})
        return self._crossed(source) if self._ruled else replace(flat, source=source)

    def tokens(self, states: States) -> Tokens:
        if not self._ruled:
            return super().tokens(states)
        nodes = self._nodes
        return Tokens(nodes, nodes.marked if states.marks else None)

    def _crossed(self, source: Source) -> Crossed:
        """With the parts that have rules."""
        check = Clock(self._program.limits).check
        exits = [Exit(0, self._begins(source, after), is_last) for after, is_last in self._exits]
        machines = [joined_machine(source.flat)]
        for number, part in enumerate(self._ruled, 1):
            machines.append(source.ruled[part].machine(len(exits)))
            exits.append(Exit(number, self._begins(source, self._graph.follow[part]), self._may_be_last(part)))
        begins = self._begins(source, self._graph.firsts)
        joint = Machines(machines, exits, self._nodes.byte_nodes, check)
        return crossed(source, source.flat, joint, begins, self._nodes)

    def _begins(self, source: Source, parts: Iterable[int]) -> tuple[tuple[int, InMachine], ...]:
        """Where texts of some parts begin, by machine."""
        found = []
        for part in parts:
            if part in source.ruled:
                found += [(1 + self._ruled.index(part), place) for place in source.ruled[part].begins]
            else:
                begin = source.joined.begins[self._plain.index(part)]
                found += [(0, place) for place in source.flat.starts([(begin, ())])]
        return tuple(found)

    # ------------------------------------------------------------------ where a matcher stands

    def _after(
        self, found: Unrolled, matcher: Matcher, keys: tuple[bytes, ...] = (), begun: int = -1
    ) -> tuple[Unrolled, Starts]:
        source: Source = found.source
        terms: dict[int, list[StateTerm]] = {}
        for part, term in self._places(matcher):
            terms.setdefault(part, []).append(term)
        known, ruled = [part.count for part in source.parts.values()], dict(source.ruled)
        starts: list[tuple[int, Starts]] = []
        for part, of in terms.items():
            if part in self._views:
                view, places = self._views[part].placed(chain.from_iterable(of))
                if view.table is not ruled[part].table:
                    ruled[part] = Ruled.of(view)
                starts.append((part, places))
            else:
                found_here = [start for term in of for start in source.parts[part].starts_of(term, keys, begun)]
                starts.append((part, found_here))
        if [part.count for part in source.parts.values()] != known:
            found = self._joined(source.states, source.parts, ruled)
        elif ruled != source.ruled:
            found = self._crossed(source._replace(ruled=ruled))
            if all(self._views[part].table is each.table for part, each in ruled.items()):
                self._known[source.states] = found
        return found, list(dict.fromkeys(place for part, of in starts for place in self._standing(found, part, of)))

    def _standing(self, found: Unrolled, part: int, starts: Starts) -> Starts:
        """A part's own places as those of the table."""
        source: Source = found.source
        if part in source.ruled:
            assert isinstance(found, Crossed)
            return [found.machines.joint(1 + self._ruled.index(part), place) for place in starts]
        first = source.joined.first[self._plain.index(part)]
        moved = [(first + state, tuple(first + symbol for symbol in stack)) for state, stack in starts]
        places = source.flat.starts(moved)
        return [found.machines.joint(0, place) for place in places] if isinstance(found, Crossed) else places

    def _places(self, matcher: Matcher) -> list[Place]:
        """Where a matcher stands; without the beginnings of parts that follow where it also stands, since a state in which a part
        may end also does what these do."""
        epoch, state = matcher._head[1:3]
        implied = {
            (after, self._automata[after].program.start)
            for part, inner, place, _ in epoch.places[state]
            if inner.accepting[place]
            for after in entered(self._graph, self._graph.follow[part], self._is_empty)
        }
        standing = dict.fromkeys((part, term) for part, term, _ in epoch.terms[state])
        return [place for place in standing if place not in implied]

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> TokenGrid:
        return JsonGrid(JsonRows(self, length, after, room, check))

    def configs_of(self, matcher: Matcher) -> list[Config]:
        return [term for part, term in self._places(matcher) if id(self._automata[part]) in self._schemas]
