"""The program of schemas in which items that are objects or arrays must differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.masks.protocol import ProgramDefaults

from .costs import DistinctCosts
from .matcher import FilteredDistinctMatcher
from .tracked_rows import TrackedRows

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram


class DistinctProgram(ProgramDefaults):
    """A program of the JSON machine, and which of its arrays are tracked."""

    filtered_class, costs_class = FilteredDistinctMatcher, DistinctCosts

    def __init__(self, machine: JsonSchemaProgram):
        self.machine = machine
        self.vocab, self.limits, self.clock, self.facts, self.lock = (
            machine.vocab, machine.limits, machine.clock, machine.facts, machine.lock,
        )  # fmt: skip
        self.tokens_spell_all = machine.tokens_spell_all
        self.start, self.caps = (machine.start, None), machine.caps
        self.tracked = TrackedRows(machine.json)
