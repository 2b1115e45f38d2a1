"""Final shapes: removes everything without values, and produces the form that shapes.py specifies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from grammarlm.errors import UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
from grammarlm.grammars.json_schema.nodes.by_type import (
    ANY_ARRAY,
    ANY_OBJECT,
    ARRAYS,
    NOTHING,
    NULL,
    OBJECTS,
    is_anything,
)
from grammarlm.grammars.json_schema.nodes.case_limits import check_alternatives
from grammarlm.grammars.json_schema.nodes.rules import branches
from grammarlm.grammars.json_schema.read.keywords import COMBINE, REFERENCE
from grammarlm.grammars.json_schema.strings.strings import is_text
from grammarlm.layout.json import INLINE

from .obligations import without_obligations
from .reasons import reason
from .satisfiable import array_possible, can_open, closure, object_possible, settle
from .shapes import ANY_ITEM, ANY_OTHERS, ANYTHING, ArrayShape, Item, Language, Node, ObjectShape, Shape, Ways

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser


def finish(n: Normaliser, root: Node) -> list[Node]:
    """Fills in the alternatives of every node that a value of the root can contain; returns those nodes."""
    settle(n, root)
    if not root.satisfiable:
        why, pointer = reason(n, root)
        raise UnsatisfiableGrammar(why, pointer=pointer)
    queue: list[Node] = [root]
    root.kept = True
    obliged: dict[ObjectShape, list[ObjectShape]] = {}  # nodes can contain themselves, so each shape is split once
    for node in queue:  # grows during the loop
        if node.alternatives:
            continue
        n.tick()
        by_type = node.by_type
        assert by_type is not None
        if by_type[NULL] and is_anything(by_type):
            node.is_anything = True
            node.alternatives = ANYTHING.alternatives
            continue
        found: list[Shape] = []
        for t in range(OBJECTS):
            found += by_type[t]
        for shape in by_type[OBJECTS]:
            if shape is ANY_OBJECT:
                found.append(shape)
            elif object_possible(n, shape):
                _refuse(shape)
                ranks = declared_ranks(n, node) if len(shape.properties) > 1 else None
                if shape.some and shape not in obliged:
                    obliged[shape] = without_obligations(n, shape)
                for expanded in obliged.get(shape, [shape]):
                    found += [_final_object(s, queue, ranks) for s in _without_dependencies(n, expanded)]
        for shape in by_type[ARRAYS]:
            if shape is ANY_ARRAY:
                found.append(shape)
            elif array_possible(n, shape):
                _refuse(shape)
                found.append(_final_array(shape, queue))
        node.alternatives = tuple(found)
        if len(found) > 1:
            check_alternatives(found, node.pointer)
    return queue


# Keys that require others, in objects of many keys: the machine counts required keys there, so it cannot add any as they come.
MOST_CHOSEN = 4  # such keys, expanded to 2^4 shapes


def _without_dependencies(n: Normaliser, shape: ObjectShape) -> list[ObjectShape]:
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


def _keep(node: Node, queue: list[Node]) -> Node:
    if not node.kept:
        node.kept = True
        queue.append(node)
    return node


def _refuse(shape: ObjectShape | ArrayShape) -> None:
    if shape.refusal is not None:
        what, pointer = shape.refusal
        raise UnsupportedFeature(
            f"{pointer}: {what}, cannot be enforced; leave it out or say it otherwise", pointer=pointer
        )


def declared_ranks(n: Normaliser, node: Node) -> dict[str, int] | None:
    """Positions of the keys declared by way of $ref and allOf, in order of appearance; None where the shapes have that order
    anyway. Keys declared in other branches come after them."""
    first = [n.nodes.atoms[code >> 1] for code in sorted(node.key) if not code & 1]
    if not any(atom.__class__ is SchemaAtom and atom.mask & (COMBINE | REFERENCE) for atom in first):
        return None
    ranks: dict[str, int] = {}
    stack, passed = first[::-1], set()
    while stack:
        atom = stack.pop()
        if isinstance(atom, str):
            ranks.setdefault(atom, len(ranks))
        if atom.__class__ is not SchemaAtom or id(atom) in passed:
            continue
        passed.add(id(atom))
        schema, found = atom.schema, []
        hides = "$ref" in schema and atom.resource.draft <= 7
        for keyword in schema:
            bits = atom.resource.bits.get(keyword, 0)
            if bits & REFERENCE and (keyword == "$ref" or not hides):
                nodes = [n.locations.reference(atom, keyword)]
            elif keyword == "allOf" and not hides:
                nodes = [*branches(n, atom, keyword)]
            else:
                if keyword == "properties" and not hides:
                    found += list(schema[keyword])
                continue
            found += [
                n.nodes.atoms[code >> 1] for below in nodes for code in sorted(below.key) if code >= 0 and not code & 1
            ]
        stack += reversed(found)
    return ranks


def _final_object(shape: ObjectShape, queue: list[Node], ranks: dict[str, int] | None) -> ObjectShape:
    others: tuple[tuple[Language, Node], ...] = ANY_OTHERS
    if shape.others is not ANY_OTHERS:
        others = tuple([(language, _keep(node, queue)) for language, node in shape.others if node.satisfiable])
    implied = shape.implied
    bounded = shape.maximum is not None or (
        bool(implied) and not all(node.satisfiable and is_text(name) for name, node in shape.properties.items())
    )
    properties: dict[str, Node] = {}
    declared: Iterable[tuple[str, Node]] = shape.properties.items()
    if ranks:
        declared = sorted(declared, key=lambda item: ranks.get(item[0], len(ranks)))  # stable
    for name, node in declared:
        if node.satisfiable and (not bounded or can_open(shape, name)):
            properties[name] = _keep(node, queue)
        elif others:
            properties[name] = NOTHING
    required = shape.required
    if implied:
        required = closure(shape, required)
        implied = {
            name: needed
            for name, needed in implied.items()
            if properties.get(name, NOTHING) is not NOTHING and not needed <= required
        }
    obligations = tuple([(bits, _keep(values, queue), _keep(node, queue)) for bits, values, node in shape.obligations])
    return ObjectShape(properties, others, required, shape.minimum, shape.maximum, implied, obligations)


def _final_array(shape: ArrayShape, queue: list[Node]) -> ArrayShape:
    maximum = shape.maximum
    prefix: list[Ways] = []
    rest: Ways = ()
    for ways in shape.prefix if maximum is None else shape.prefix[:maximum]:
        found = _final_ways(ways, queue)
        if not found:
            break
        prefix.append(found)
    else:
        if maximum is None or maximum > len(prefix):
            rest = _final_ways(shape.rest, queue)
    if not rest:
        maximum = len(prefix) if maximum is None else min(maximum, len(prefix))
    return ArrayShape(tuple(prefix), rest, shape.minimum, maximum, shape.contains, shape.unique)


def _final_ways(ways: Ways, queue: list[Node]) -> Ways:
    if ways is ANY_ITEM:
        return ANY_ITEM
    return tuple([Item(_keep(node, queue), counts) for node, counts in ways if node.satisfiable])
