"""The program of schemas in which items that are objects or arrays must differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grammarlm.masks.machines.json.program import SchemaProgram
from grammarlm.masks.protocol import ProgramDefaults

from .tracked_rows import TrackedRows
from .tracker import START


class DistinctProgram(ProgramDefaults):
    """A program of the JSON machine, and which of its arrays are tracked."""

    def __init__(self, machine: SchemaProgram, costs: Callable[[], Any]):
        self.machine, self.costs_class = machine, costs
        self.vocab, self.limits, self.clock, self.facts, self.lock = (
            machine.vocab, machine.limits, machine.clock, machine.facts, machine.lock,
        )  # fmt: skip
        self.tokens_spell_all = machine.tokens_spell_all
        self.start, self.caps = (machine.start, START), machine.caps
        self.tracked = TrackedRows(machine.json)
