"""Keys that require others, in objects of many keys: the machine counts required keys there, so it cannot add any as they come.

Such an object becomes one shape for each choice of the keys that require others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grammarlm.grammars.json_schema.nodes.by_type import NOTHING, LooseObject
from grammarlm.layout.json import INLINE

from .satisfiable import closure, object_possible

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser

MOST_CHOSEN = 4  # keys that require others, expanded to 2^4 shapes


def without_dependencies(n: Normaliser, shape: LooseObject) -> list[LooseObject]:
    """Shapes without `implied` whose union is the shape, where it has many keys; else the shape itself."""
    requiring = [name for name in shape.implied if name in shape.properties and name not in shape.required]
    if len(shape.properties) <= INLINE or not 0 < len(requiring) <= MOST_CHOSEN:
        return [shape]
    found = []
    for choice in range(1 << len(requiring)):
        absent = {name for i, name in enumerate(requiring) if not choice >> i & 1}
        required = closure(shape, shape.required | (set(requiring) - absent))
        if absent.isdisjoint(required):
            properties = {name: NOTHING if name in absent else node for name, node in shape.properties.items()}
            expanded = replace(shape, properties=properties, required=frozenset(required), implied={})
            if object_possible(n, expanded):
                found.append(expanded)
    return found
