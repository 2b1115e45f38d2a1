"""Keywords that depend on the alternatives of other schemas: references, allOf, anyOf, oneOf, not, if, dependencies on schemas,
propertyNames, unevaluated*.

Each takes the shapes found so far and returns what it leaves of them. `track`: alternatives record what their applicators have
evaluated, for an enclosing unevaluated keyword; then branches of anyOf that hold together count together. `first`: the keyword
comes before `properties`, so its properties precede those found so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.containers import arrays, keys, objects
from grammarlm.grammars.json_schema.read.expected import refusal
from grammarlm.grammars.json_schema.read.keywords import COMBINE, REFERENCE, UNEVALUATED
from grammarlm.grammars.json_schema.read.plain import plain
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape, StringShape
from grammarlm.grammars.json_schema.strings import strings

from .by_type import (
    ANY,
    ANY_ITEM,
    ANY_OBJECT,
    ANYTHING,
    ARRAYS,
    EMPTY,
    NONE,
    NOTHING,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TYPES,
    ByType,
    Conjunction,
    Evaluated,
    LooseArray,
    LooseObject,
    one_type,
)
from .case_limits import check_alternatives, check_size

if TYPE_CHECKING:
    from .atoms import SchemaAtom, Steps
    from .normaliser import Normaliser, Shapes


def positive(n: Normaliser, atom: SchemaAtom, track: bool) -> Steps:
    """The shapes of a schema with any keywords."""
    schema, mask, resource = atom.schema, atom.mask, atom.resource
    if mask & REFERENCE and resource.draft <= 7 and "$ref" in schema:
        return (yield from n.ask(n.locations.reference(atom, "$ref"), track))
    tracks = track or bool(mask & UNEVALUATED)
    by_type = plain(n, atom, tracks)
    for keyword, first in _in_order(atom):
        if not any(by_type):
            return NONE
        by_type = yield from _RULES[keyword](n, atom, keyword, by_type, tracks, first)
    if mask & UNEVALUATED:
        by_type = yield from _unevaluated(n, atom, by_type)
        if not track:  # what stands below `not` counts for no keyword outside
            by_type = [[_untracked(s) for s in by_type[t]] if t >= OBJECTS else by_type[t] for t in TYPES]
    for shapes in by_type:
        check_alternatives(shapes, atom.pointer)
    return by_type


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


def branches(n: Normaliser, atom: SchemaAtom, keyword: str) -> list[Conjunction]:
    """The nodes of a list of schemas."""
    listed = atom.schema[keyword]
    if not isinstance(listed, list) or (not listed and keyword != "allOf"):
        raise refusal(atom.schema, keyword, atom.pointer)
    return [n.locations.child(below, atom, keyword, str(i)) for i, below in enumerate(listed)]


def conditional(n: Normaliser, atom: SchemaAtom, keyword: str) -> Conjunction:
    """The node of `then` or `else`."""
    if keyword in atom.schema and keyword in atom.resource.bits:
        return n.locations.child(atom.schema[keyword], atom, keyword)
    return ANYTHING


def dependents(n: Normaliser, atom: SchemaAtom, keyword: str) -> list[tuple[str, Conjunction]]:
    """dependentSchemas, and the schemas in `dependencies`."""
    found = []
    for name, below in objects.mapping(atom.schema, keyword, atom.pointer).items():
        if keyword != "dependencies" or not isinstance(below, list | str):
            found.append((name, n.locations.child(below, atom, keyword, name)))
    return found


def _refers(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    found = yield from n.ask(n.locations.reference(atom, keyword), track)
    return (yield from n.met_with(by_type, found, first))


def _all_of(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    nodes = branches(n, atom, keyword)
    for node in reversed(nodes) if first else nodes:
        by_type = yield from n.met_with(by_type, (yield from n.ask(node, track)), first)
    return by_type


def _any_of(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    found: list[ByType] = []
    for node in dict.fromkeys(branches(n, atom, keyword)):
        branch = yield from n.ask(node, track)
        if track:  # all branches that hold count: add each branch's conjunctions with the earlier ones
            for earlier in found.copy():
                found += [(yield from n.met_with(earlier, branch))]
            check_size(len(found), "anyOf next to unevaluated keywords", atom.pointer)
        found.append(branch)
    united = n.unite(found, track)
    if not track and len(found) > 1:
        united = yield from n.pruned(united)
    return (yield from n.met_with(by_type, united, first))


def _one_of(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    nodes = branches(n, atom, keyword)
    several: list[ByType] = []
    for node in nodes:
        branch = yield from n.ask(node, track)
        several += [(yield from n.met_with(by_type, branch, first))]
    found: list[Any] = []
    for t in TYPES:
        filled = [i for i, branch in enumerate(several) if branch[t]]
        if len(filled) < 2:
            found.append(several[filled[0]][t] if filled else EMPTY)
        elif t < STRINGS:
            found.append(EMPTY)
        else:
            lists = [several[i][t] for i in filled]
            points = _points_alone(t, lists)
            if points is None:
                # So many rarely reduce to few, and the check is quadratic in their number.
                check_size(sum(map(len, lists)) // 2, "alternatives of oneOf", f"{atom.pointer}/oneOf")
                points = yield from _each_alone(n, t, nodes, several, filled)
            found.append(points)
    return found


def _points_alone(t: int, lists: list[list[Any]]) -> list[Any] | None:
    """Strings or numbers that are in exactly one of the lists, where all are listed one by one; None where they are not."""
    seen: dict[Any, int] = {}
    for shapes in lists:
        here: set[Any] = set()
        for shape in shapes:
            if t == STRINGS and shape.values is not None:
                here.update(shape.values)
            elif t == NUMBERS and shape.low is not None and shape == _point(shape):
                here.add(shape if shape.low.denominator != 1 else replace(shape, integer=True))  # 1.0 is 1
            else:
                return None
        for value in here:
            seen[value] = seen.get(value, 0) + 1
    once = [value for value, count in seen.items() if count == 1]
    return once if t == NUMBERS or not once else [StringShape(values=tuple(once))]


def _point(shape: NumberShape) -> NumberShape:
    return NumberShape(low=shape.low, high=shape.low, integer=shape.integer)


def _each_alone(n: Normaliser, t: int, nodes: list[Conjunction], several: list[ByType], filled: list[int]) -> Shapes:
    """Shapes of one type that are in exactly one branch."""
    found: list[Any] = []
    for i in filled:
        for shape in several[i][t]:
            left = [shape]
            for j in filled:
                if i != j and left:
                    left = EMPTY if nodes[i] is nodes[j] else (yield from _outside(n, t, left, several[j][t], nodes[j]))
            found += left
    return found


def _outside(n: Normaliser, t: int, shapes: list[Any], others: list[Any], node: Conjunction) -> Shapes:
    """The shapes minus `node`, whose shapes are `others`. Most do not overlap with these."""
    found: list[Any] = []
    multiplied = False
    for shape in shapes:
        overlaps = False
        for other in others:
            overlaps = overlaps or bool((yield from n.overlap(t, shape, other)))
        if overlaps:
            negated = yield from n.ask(n.nodes.negate(node))
            found += n.product(t, [shape], negated[t])
            multiplied = True
        else:
            found.append(shape)
    return (yield from n.pruned(one_type(t, found)))[t] if multiplied else found


def _not(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    denied = n.nodes.negate(n.locations.child(atom.schema["not"], atom, "not"))
    return (yield from n.met_with(by_type, (yield from n.ask(denied))))


def _if(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    then, otherwise = conditional(n, atom, "then"), conditional(n, atom, "else")
    if then is ANYTHING and otherwise is ANYTHING and not track:
        return by_type
    condition = n.locations.child(atom.schema["if"], atom, "if")
    holds = yield from n.met_with(by_type, (yield from n.ask(condition, track)), first)
    holds = yield from n.met_with(holds, (yield from n.ask(then, track)), first)
    fails = by_type  # "if, or not if and else" is "if or else", unless what `else` evaluates counts
    if then is not ANYTHING or (track and otherwise is not ANYTHING):
        fails = yield from n.met_with(by_type, (yield from n.ask(n.nodes.negate(condition))))
    fails = yield from n.met_with(fails, (yield from n.ask(otherwise, track)), first)
    return (yield from n.pruned(n.unite([holds, fails], track)))


def _dependent(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    """The key is absent, or it is present and the schema holds."""
    for name, node in dependents(n, atom, keyword):
        if node is ANYTHING or not by_type[OBJECTS]:
            continue
        needed = _only_required(n, atom, node)
        if needed is not None:  # keys that imply keys need no alternatives
            rule = LooseObject(implied={name: needed})
            objects.mention(n, rule, [name, *sorted(needed)])
            by_type = yield from n.met_with(by_type, _objects([rule]), first)
            continue
        absent = _objects([objects.mentioning({name: NOTHING})])
        # Objects alone: what the schema would evaluate of other values does not count.
        present = one_type(OBJECTS, [objects.mentioning({name: ANYTHING}, [name])])
        present = yield from n.met_with(present, (yield from n.ask(node, track)))
        by_type = yield from n.met_with(by_type, (yield from n.pruned(n.unite([absent, present], track))), first)
    return by_type


def _only_required(n: Normaliser, atom: SchemaAtom, node: Conjunction) -> frozenset[str] | None:
    """The names that a schema requires of an object, where that is its only effective content: annotations are ignored."""
    schema = n.nodes.schema_of(node)
    if schema is None or not (schema.keys() & atom.resource.bits.keys()) <= {"required", "type"} or "$id" in schema:
        return None
    if schema.get("type", "object") != "object":
        return None
    return frozenset(objects.required_of(schema, node.pointer)) or None


def _objects(shapes: list[LooseObject]) -> ByType:
    """These objects, and all values that are no objects."""
    return [shapes if t == OBJECTS else ANY[t] for t in TYPES]


def _property_names(n: Normaliser, atom: SchemaAtom, keyword: str, by_type: ByType, track: bool, first: bool) -> Steps:
    node = n.locations.child(atom.schema["propertyNames"], atom, "propertyNames")
    shapes = (yield from n.ask(node))[STRINGS]
    if shapes is ANY[STRINGS] or not by_type[OBJECTS]:
        return by_type
    shapes = [s for s in shapes if not strings.is_empty(s, n.languages)]
    allowed = keys.restrict_names(n, ANY_OBJECT, shapes) if shapes else LooseObject(others=())
    return (yield from n.met_with(by_type, _objects([allowed])))


def _unevaluated(n: Normaliser, atom: SchemaAtom, by_type: ByType) -> Steps:
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


def _untracked(shape: LooseObject | LooseArray) -> LooseObject | LooseArray:
    return shape if shape.evaluated is None else replace(shape, evaluated=None)


def _rest_of_keys(n: Normaliser, shape: LooseObject, node: Conjunction, atom: SchemaAtom) -> LooseObject | None:
    done = shape.evaluated or Evaluated()
    met: LooseObject | None = shape
    if not done.everything and node is not ANYTHING:
        patterns = [(n.key_languages.pattern(p, atom), ANYTHING) for p in sorted(done.patterns)]
        others = keys.sort_out(n, patterns, node)
        rule = LooseObject(dict.fromkeys(done.names, ANYTHING), others, tail=done.names)
        met = objects.both(n, shape, rule)
    return met and replace(met, evaluated=Evaluated(done.names, done.patterns, True))


def _rest_of_items(n: Normaliser, shape: LooseArray, node: Conjunction) -> LooseArray | None:
    done = shape.evaluated or Evaluated()
    met: LooseArray | None = shape
    if not done.everything and node is not ANYTHING:
        allowed = n.nodes.union([node, *sorted(done.nodes, key=lambda other: sorted(other.key))], node.pointer)
        rest = () if allowed is NOTHING else ((allowed, 0),)
        met = arrays.both(n, shape, LooseArray((ANY_ITEM,) * done.prefix, rest))
    return met and replace(met, evaluated=Evaluated(everything=True))


_RULES: dict[str, Callable[..., Steps]] = {
    "$ref": _refers,
    "$dynamicRef": _refers,
    "$recursiveRef": _refers,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "propertyNames": _property_names,
}
