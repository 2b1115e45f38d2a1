"""Parts without rules as one machine, those with rules as others, and the table of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.masks.canvas.classes import NEVER, STOP, TokenClasses
from grammarlm.masks.canvas.stack.grammars.view import CfgView
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.canvas.tables.unrolled import Starts, Unrolled

from .assembled import Assembly
from .machines import FIRST_CONTROL, Machine, Machines, Place
from .nodes import NodeVocabulary


class Ruled(NamedTuple):
    """A part with rules: what its view knew when it was asked."""

    table: StackTable
    classes: TokenClasses
    begins: list[Place]

    @classmethod
    def of(cls, view: CfgView) -> Ruled:
        view, begins = view.placed(None)
        if view.table.operations:
            raise UnsupportedFeature(
                "a canvas over parts one of which is a large LALR grammar: it has none besides others yet"
            )
        return cls(view.table, view.classes, begins)

    def machine(self, leaves: int) -> Machine:
        """As the machine that is left by this exit alone."""
        controls = self.table.controls
        return Machine(self.table, self.classes, np.full(controls, leaves))


def joined_machine(flat: Unrolled) -> Machine:
    """The parts without rules; what their states accept is an exit, from 1 on."""
    before = np.zeros(FIRST_CONTROL, int)
    exit_of = np.concatenate([before, flat.machine.accepts]) - 1
    return Machine(flat.table, flat.classes, exit_of)


@dataclass(frozen=True, eq=False)
class Crossed(Unrolled):
    """`begins` are places of the table."""

    machines: Machines

    def starts(self, found: Starts) -> Starts:
        return found


def crossed(
    source: Any, flat: Unrolled, machines: Machines, begins: Iterable[tuple[int, Place]], nodes: NodeVocabulary
) -> Crossed:  # fmt: skip
    """`begins`: where texts begin, by machine."""
    made = Assembly(machines, nodes, flat.byte_classes if flat.has_marks else None)
    places = [machines.joint(machine, place) for machine, place in begins]
    classes = of_ids(made.classes, nodes)
    return Crossed(
        source, flat.machine, classes, made.table, flat.has_marks, {}, places, made.byte_classes, machines
    )  # fmt: skip


def of_ids(classes: TokenClasses, nodes: NodeVocabulary) -> TokenClasses:
    """The classes of a vocabulary's ids by those of its nodes."""
    found = np.where(nodes.node_of >= 0, classes.of[nodes.node_of], NEVER).astype(np.int32)
    found[list(nodes.vocab.special_ids)] = NEVER
    found[list(nodes.vocab.stop_ids)] = STOP
    return TokenClasses(found, classes.count)
