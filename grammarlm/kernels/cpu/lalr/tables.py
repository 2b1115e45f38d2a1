"""A grammar as Python passes it, and the room that arrays are taken from."""

from collections import namedtuple

import numpy as np
from numba import carray

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.lalr import Field

Tables = namedtuple(
    "Tables", ("facts", "column", "origins", "begins", "bodies", "is_empty", "kernel_begins", "link_begins", "room")
)


@inlined
def tables_of(address):
    facts = carray(pointer(address), Field.LENGTH, np.int64)
    symbols, rules, states = facts[Field.SYMBOLS], facts[Field.RULES], facts[Field.MOST_STATES] + 2
    begins = carray(pointer(facts[Field.BEGINS]), rules + 1, np.int64)
    return Tables(
        facts,
        carray(pointer(facts[Field.COLUMN]), symbols, np.int64),
        carray(pointer(facts[Field.ORIGIN]), rules, np.int64),
        begins,
        carray(pointer(facts[Field.BODY]), begins[rules], np.int64),
        carray(pointer(facts[Field.IS_EMPTY]), symbols, np.int64),
        carray(pointer(facts[Field.KERNEL_BEGINS]), states, np.int64),
        carray(pointer(facts[Field.LINK_BEGINS]), states, np.int64),
        carray(pointer(facts[Field.ROOM]), facts[Field.ROOM_LENGTH], np.int64),
    )


@inlined
def taken(tables, count):
    """The next so many places of the room, of which there are enough."""
    begin = tables.facts[Field.USED]
    tables.facts[Field.USED] = begin + count
    return tables.room[begin : begin + count]


@inlined
def kernel_item(tables, place):
    """The item at a place of all kernels, which lie at the end of the room."""
    return tables.room[len(tables.room) - 1 - place]
