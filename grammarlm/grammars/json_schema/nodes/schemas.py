"""The shapes of atoms, and of their negations.

A schema with plain keywords alone has its shapes in one go; keywords that combine schemas are rules (rules.py), which are applied
one after the other. Its negation is the union of what breaks one keyword each. For objects and arrays that is in negated_objects.py
and arrays.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grammarlm.grammars.json_schema.containers import arrays, keys, negated_objects, objects
from grammarlm.grammars.json_schema.containers.values import shapes_of_others, shapes_of_values
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.read.keywords import (
    ARRAY,
    COMBINE,
    NUMBER,
    OBJECT,
    PLAIN,
    REFERENCE,
    STRING,
    TYPE,
    UNEVALUATED,
    VALUES,
)
from grammarlm.grammars.json_schema.read.scalars import listings, read_number, types
from grammarlm.grammars.json_schema.shapes.shapes import (
    ANY_ITEM,
    ANYTHING,
    ArrayShape,
    Evaluated,
    Item,
    Node,
    ObjectShape,
)
from grammarlm.grammars.json_schema.shapes.simplify import simplified
from grammarlm.grammars.json_schema.strings import strings

from .atoms import NOT_PLAIN, ListAtom, SchemaAtom, TypeAtom, UnionAtom, ValueAtom
from .by_type import ANY, ARRAYS, EMPTY, NONE, NOTHING, NUMBERS, OBJECTS, STRINGS, TYPES, ByType, Steps, one_type
from .case_limits import check_alternatives
from .products import Products
from .reading import Reading
from .rules import RULES, AnyOf, opposite, satisfied


def shapes_of_atom(n: Products, atom: Any, sign: bool, track: bool) -> ByType | Steps:
    """The shapes, or a generator that yields what it needs (see by_type.py)."""
    kind = atom.__class__
    if kind is SchemaAtom:
        if not sign:
            return _negative(n, atom)
        return _positive(n, atom, track) if atom.mask & NOT_PLAIN else plain(n, atom, track)
    if kind is TypeAtom:
        return atom.of_type if sign else _not_types(atom.of_type)
    if kind is UnionAtom:
        rule = AnyOf(atom.nodes)
        return satisfied(n, rule if sign else opposite(n, rule), ANY)
    values = list(atom.listed) if kind is ListAtom else [atom.value]
    if sign:
        return shapes_of_values(n.nodes, values, atom.pointer)
    return shapes_of_others(values) if kind is ListAtom else _not_value(n, atom)


# ---- plain keywords


def plain(n: Reading, atom: SchemaAtom, track: bool) -> ByType:
    """The shapes that satisfy the keywords that do not depend on another schema's alternatives."""
    mask = atom.mask
    if not track and mask & PLAIN == TYPE | OBJECT and atom.schema["type"] == "object":
        return one_type(OBJECTS, [objects.shape_of(n, objects.read(n, atom))])
    if not track and mask & PLAIN == TYPE | ARRAY and atom.schema["type"] == "array":
        return one_type(ARRAYS, [arrays.shape_of(n, arrays.read(n, atom))])
    found = n.scalars(atom)
    if not (mask & (OBJECT | ARRAY) or track):
        return found
    by_type = list(found)
    if (mask & OBJECT or track) and by_type[OBJECTS]:
        read_object = objects.shape_of(n, objects.read(n, atom), track)
        by_type[OBJECTS] = n.product(OBJECTS, by_type[OBJECTS], [read_object])
    if (mask & ARRAY or track) and by_type[ARRAYS]:
        read_array = arrays.shape_of(n, arrays.read(n, atom), track, atom.resource.draft != 2019)
        by_type[ARRAYS] = n.product(ARRAYS, by_type[ARRAYS], [read_array])
    return by_type


def _not_plain(n: Reading, atom: SchemaAtom) -> list[ByType]:
    mask, found = atom.mask, []
    if mask & TYPE:
        found.append(_not_types(types(atom)))
    if mask & STRING:
        read = n.strings_of(atom)
        found.append(one_type(STRINGS, strings.opposites(read[0]) if read else ANY[STRINGS]))
    if mask & NUMBER:
        found.append(one_type(NUMBERS, numbers.opposites(read_number(atom))))
    if mask & OBJECT:
        found.append(one_type(OBJECTS, negated_objects.opposites(n, objects.read(n, atom), atom.pointer)))
    if mask & ARRAY:
        found.append(one_type(ARRAYS, arrays.opposites(n, arrays.read(n, atom), atom.pointer)))
    return found


def _not_types(of_type: ByType) -> ByType:
    """All values of the other types; for integers also the other numbers."""
    found = [EMPTY if of_type[t] else ANY[t] for t in TYPES]
    if of_type[NUMBERS] and of_type[NUMBERS] is not ANY[NUMBERS]:
        found[NUMBERS] = numbers.opposites(of_type[NUMBERS][0])
    return found


def _not_values(n: Products, atom: SchemaAtom) -> Steps:
    found: list[ByType] = []
    for keyword, listed in listings(atom):
        by_type = shapes_of_others(listed)
        for value in listed:
            if isinstance(value, dict | list):
                denied = n.nodes.negate(n.nodes.value(value, f"{atom.pointer}/{keyword}"))
                by_type = yield from satisfied(n, denied, by_type)
        found.append(by_type)
    return n.unite(found)


def _not_value(n: Reading, atom: ValueAtom) -> ByType:
    value, by_type = atom.value, list(shapes_of_others([atom.value]))
    if isinstance(value, dict):
        declared = {name: n.nodes.value(below, atom.pointer) for name, below in value.items()}
        alone = objects.ObjectKeywords(declared, list(declared), maximum=len(declared))
        by_type[OBJECTS] = negated_objects.opposites(n, alone, atom.pointer)
    elif isinstance(value, list):
        items = [n.nodes.value(below, atom.pointer) for below in value]
        listed = arrays.ArrayKeywords(items, minimum=len(items), maximum=len(items))
        by_type[ARRAYS] = arrays.opposites(n, listed, atom.pointer)
    return by_type


# ---- all keywords


def _positive(n: Products, atom: SchemaAtom, track: bool) -> Steps:
    """The shapes of a schema with any keywords."""
    mask = atom.mask
    if _is_reference(atom):
        return (yield from n.ask(n.locations.reference(atom, "$ref"), track))
    tracks = track or bool(mask & UNEVALUATED)
    by_type = plain(n, atom, tracks)
    for keyword, first in _in_order(atom):
        if not any(by_type):
            return NONE
        by_type = yield from satisfied(n, RULES[keyword](n, atom, keyword), by_type, tracks, first)
    if mask & UNEVALUATED:
        by_type = yield from _unevaluated(n, atom, by_type)
        if not track:  # what stands below `not` counts for no keyword outside
            by_type = [[_untracked(s) for s in by_type[t]] if t >= OBJECTS else by_type[t] for t in TYPES]
    for shapes in by_type:
        check_alternatives(shapes, atom.pointer)
    return by_type


def _negative(n: Products, atom: SchemaAtom) -> Steps:
    """The shapes of the values that a schema does not admit: those that violate one of its keywords."""
    schema, mask, bits = atom.schema, atom.mask, atom.resource.bits
    if _is_reference(atom):
        return (yield from n.ask(n.nodes.negate(n.locations.reference(atom, "$ref"))))
    found = _not_plain(n, atom)
    if mask & VALUES:
        found += [(yield from _not_values(n, atom))]
    for keyword in schema:
        if bits.get(keyword, 0) & (COMBINE | REFERENCE):
            found += [(yield from satisfied(n, opposite(n, RULES[keyword](n, atom, keyword)), ANY))]
    if mask & UNEVALUATED:
        found.append(_not_unevaluated(n, atom))
    united = n.unite(found) if found else NONE
    united = [simplified(t, shapes) if len(shapes) > 1 else shapes for t, shapes in enumerate(united)]
    for shapes in united:
        check_alternatives(shapes, atom.pointer)
    return united


def _is_reference(atom: SchemaAtom) -> bool:
    """Is it a reference, which in drafts up to 7 hides the keywords next to it?"""
    return bool(atom.mask & REFERENCE) and atom.resource.draft <= 7 and "$ref" in atom.schema


def _in_order(atom: SchemaAtom) -> list[tuple[str, bool]]:
    """The keywords that have a rule, and whether they come before `properties`. Those before it are in reverse order, so that
    properties end up in order of appearance."""
    before: list[tuple[str, bool]] = []
    after: list[tuple[str, bool]] = []
    bits, passed = atom.resource.bits, "properties" not in atom.schema
    for keyword in atom.schema:
        if bits.get(keyword, 0) & (COMBINE | REFERENCE):
            if passed:
                after.append((keyword, False))
            else:
                before.append((keyword, True))
        elif keyword == "properties":
            passed = True
    before.reverse()
    return after + before


# ---- unevaluatedProperties and unevaluatedItems


def _unevaluated(n: Products, atom: SchemaAtom, by_type: ByType) -> Steps:
    """What the applicators of an alternative have not evaluated belongs to the node of the unevaluated keyword."""
    found = list(by_type)
    schema = atom.schema
    if "unevaluatedProperties" in schema and by_type[OBJECTS]:
        node = n.locations.child(schema["unevaluatedProperties"], atom, "unevaluatedProperties")
        found[OBJECTS] = [s for s in (_rest_of_keys(n, shape, node, atom) for shape in by_type[OBJECTS]) if s]
    if "unevaluatedItems" in schema and by_type[ARRAYS]:
        node = n.locations.child(schema["unevaluatedItems"], atom, "unevaluatedItems")
        found[ARRAYS] = [s for s in (_rest_of_items(n, shape, node) for shape in by_type[ARRAYS]) if s]
    return (yield from n.pruned(found))


def _untracked(shape: ObjectShape | ArrayShape) -> ObjectShape | ArrayShape:
    return shape if shape.evaluated is None else replace(shape, evaluated=None)


def _rest_of_keys(n: Reading, shape: ObjectShape, node: Node, atom: SchemaAtom) -> ObjectShape | None:
    done = shape.evaluated or Evaluated()
    met: ObjectShape | None = shape
    if not done.everything and node is not ANYTHING:
        patterns = [(n.key_languages.pattern(p, atom.pointer), ANYTHING) for p in sorted(done.patterns)]
        others = keys.sort_out(n, patterns, node)
        rule = ObjectShape(dict.fromkeys(done.names, ANYTHING), others, tail=done.names)
        met = objects.both(n, shape, rule)
    return met and replace(met, evaluated=Evaluated(done.names, done.patterns, True))


def _rest_of_items(n: Reading, shape: ArrayShape, node: Node) -> ArrayShape | None:
    done = shape.evaluated or Evaluated()
    met: ArrayShape | None = shape
    if not done.everything and node is not ANYTHING:
        allowed = n.nodes.union([node, *sorted(done.nodes, key=lambda other: sorted(other.key))], node.pointer)
        rest = () if allowed is NOTHING else (Item(allowed),)
        met = arrays.both(n, shape, ArrayShape((ANY_ITEM,) * done.prefix, rest))
    return met and replace(met, evaluated=Evaluated(everything=True))


def _not_unevaluated(n: Reading, atom: SchemaAtom) -> ByType:
    """Which keys are unevaluated depends on what else holds; no shape expresses that, so these shapes are refused."""
    by_type = list(NONE)
    made: list[tuple[str, int, ObjectShape | ArrayShape]] = [
        ("unevaluatedProperties", OBJECTS, ObjectShape(minimum=1)),
        ("unevaluatedItems", ARRAYS, ArrayShape(minimum=1)),
    ]
    for keyword, t, shape in made:
        if keyword in atom.schema and n.locations.child(atom.schema[keyword], atom, keyword) is not ANYTHING:
            what = f"what breaks {keyword} (it stands below `not`, or in a branch that oneOf or if excludes)"
            shape.refusal = (what, f"{atom.pointer}/{keyword}")
            by_type[t] = [shape]
    return by_type
