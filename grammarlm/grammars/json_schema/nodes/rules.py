"""Keywords that combine schemas, each as one rule: what satisfies it, and the rule that says the opposite.

    All             allOf; references and `not` are a node alone
    AnyOf           anyOf
    OneOf           oneOf; the opposite: none of them, or two
    Conditional     if, then, else
    Dependent       a schema of dependentSchemas or `dependencies`
    Names           propertyNames

A rule takes the shapes found so far and returns what it leaves of them. `track`: alternatives record what their applicators have
evaluated, for an enclosing unevaluated keyword; then branches of anyOf that hold together count together. `first`: the keyword
comes before `properties`, so its properties precede those found so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Union

from grammarlm.grammars.json_schema.containers import keys, objects
from grammarlm.grammars.json_schema.read.expected import refusal
from grammarlm.grammars.json_schema.shapes.shapes import ANYTHING, Node, NumberShape, ObjectShape, StringShape
from grammarlm.grammars.json_schema.strings import strings

from .atoms import SchemaAtom
from .by_type import (
    ANY,
    ANY_OBJECT,
    EMPTY,
    NONE,
    NOTHING,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TYPES,
    ByType,
    Shapes,
    Steps,
    one_type,
)
from .case_limits import check_size
from .products import Products


def satisfied(n: Products, rule: Rule, by_type: ByType, track: bool = False, first: bool = False) -> Steps:
    """What a rule leaves of the shapes."""
    if isinstance(rule, Node):
        return (yield from n.met_with(by_type, (yield from n.ask(rule, track)), first))
    return (yield from rule.satisfied(n, by_type, track, first))


def opposite(n: Products, rule: Rule) -> Rule:
    """The rule that holds where the other does not."""
    return n.nodes.negate(rule) if isinstance(rule, Node) else rule.opposite(n)


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Rule, ...]

    def satisfied(self, n: Products, by_type: ByType, track: bool, first: bool) -> Steps:
        for part in reversed(self.parts) if first else self.parts:
            by_type = yield from satisfied(n, part, by_type, track, first)
        return by_type

    def opposite(self, n: Products) -> Rule:
        return AnyOf(tuple(opposite(n, part) for part in self.parts))


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Rule, ...]

    def satisfied(self, n: Products, by_type: ByType, track: bool, first: bool) -> Steps:
        found: list[ByType] = []
        for part in dict.fromkeys(self.parts):
            branch = yield from satisfied(n, part, ANY, track)
            if track:  # all branches that hold count: add each branch's conjunctions with the earlier ones
                for earlier in found.copy():
                    found += [(yield from n.met_with(earlier, branch))]
                check_size(len(found), "anyOf next to unevaluated keywords")
            found.append(branch)
        united = n.unite(found, track)
        if not track and len(found) > 1:
            united = yield from n.pruned(united)
        return (yield from n.met_with(by_type, united, first))

    def opposite(self, n: Products) -> Rule:
        return All(tuple(opposite(n, part) for part in self.parts))


@dataclass(frozen=True, slots=True)
class OneOf:
    nodes: tuple[Node, ...]
    pointer: str

    def satisfied(self, n: Products, by_type: ByType, track: bool, first: bool) -> Steps:
        several: list[ByType] = []
        for node in self.nodes:
            several += [(yield from satisfied(n, node, by_type, track, first))]
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
                    check_size(sum(map(len, lists)) // 2, "alternatives of oneOf", self.pointer)
                    points = yield from self._each_alone(n, t, several, filled)
                found.append(points)
        return found

    def _each_alone(self, n: Products, t: int, several: list[ByType], filled: list[int]) -> Shapes:
        """Shapes of one type that are in exactly one branch."""
        nodes, found = self.nodes, list[Any]()
        for i in filled:
            for shape in several[i][t]:
                left = [shape]
                for j in filled:
                    if i != j and left:
                        same = nodes[i] is nodes[j]
                        left = EMPTY if same else (yield from _outside(n, t, left, several[j][t], nodes[j]))
                found += left
        return found

    def opposite(self, n: Products) -> Rule:
        pairs = [All((a, b)) for i, a in enumerate(self.nodes) for b in self.nodes[:i]]
        return AnyOf((AnyOf(self.nodes).opposite(n), *pairs))


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


def _outside(n: Products, t: int, shapes: list[Any], others: list[Any], node: Node) -> Shapes:
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


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Node
    then: Node
    otherwise: Node

    def satisfied(self, n: Products, by_type: ByType, track: bool, first: bool) -> Steps:
        then, otherwise = self.then, self.otherwise
        if then is ANYTHING and otherwise is ANYTHING and not track:
            return by_type
        fails = by_type  # "if, or not if and else" is "if or else", unless what `else` evaluates counts
        if then is not ANYTHING or (track and otherwise is not ANYTHING):
            fails = yield from satisfied(n, n.nodes.negate(self.condition), by_type)
        found: list[ByType] = []
        if then is not NOTHING:
            found += [(yield from All((self.condition, then)).satisfied(n, by_type, track, first))]
        if otherwise is not NOTHING:
            found += [(yield from satisfied(n, otherwise, fails, track, first))]
        return (yield from n.pruned(n.unite(found, track))) if found else NONE

    def opposite(self, n: Products) -> Rule:
        return Conditional(self.condition, n.nodes.negate(self.then), n.nodes.negate(self.otherwise))


@dataclass(frozen=True, slots=True)
class Dependent:
    """The key is absent, or it is present and the node holds."""

    name: str
    node: Node
    needed: frozenset[str] | None  # the names that the node requires of an object, if that is all that it says
    holds: bool = True  # or the opposite: it is present, and the node does not hold

    def satisfied(self, n: Products, by_type: ByType, track: bool, first: bool) -> Steps:
        if self.holds and (self.node is ANYTHING or not by_type[OBJECTS]):
            return by_type
        if self.holds and self.needed is not None:  # keys that imply keys need no alternatives
            rule = ObjectShape(implied={self.name: self.needed})
            objects.mention(n, rule, [self.name, *sorted(self.needed)])
            return (yield from n.met_with(by_type, _objects([rule]), first))
        # Objects alone: what the schema would evaluate of other values does not count.
        present = one_type(OBJECTS, [objects.mentioning({self.name: ANYTHING}, [self.name])])
        node = self.node if self.holds else n.nodes.negate(self.node)
        found = yield from satisfied(n, node, present, track)
        if self.holds:
            absent = _objects([objects.mentioning({self.name: NOTHING})])
            found = yield from n.pruned(n.unite([absent, found], track))
        return (yield from n.met_with(by_type, found, first))

    def opposite(self, n: Products) -> Rule:
        return replace(self, holds=not self.holds)


def _objects(shapes: list[ObjectShape]) -> ByType:
    """These objects, and all values that are no objects."""
    return [shapes if t == OBJECTS else ANY[t] for t in TYPES]


@dataclass(frozen=True, slots=True)
class Names:
    """All keys of an object belong to the node."""

    node: Node
    pointer: str
    holds: bool = True  # or the opposite: some key does not

    def satisfied(self, n: Products, by_type: ByType, track: bool, first: bool) -> Steps:
        node = self.node if self.holds else n.nodes.negate(self.node)
        shapes = (yield from n.ask(node))[STRINGS]
        if not self.holds:
            broken = [ObjectShape(some=((keys.language_of(s), ANYTHING, self.pointer),)) for s in shapes]
            return (yield from n.met_with(by_type, one_type(OBJECTS, broken)))
        if shapes is ANY[STRINGS] or not by_type[OBJECTS]:
            return by_type
        shapes = [s for s in shapes if not strings.is_empty(s, n.languages)]
        allowed = keys.restrict_names(n, ANY_OBJECT, shapes) if shapes else ObjectShape(others=())
        return (yield from n.met_with(by_type, _objects([allowed])))

    def opposite(self, n: Products) -> Rule:
        return replace(self, holds=not self.holds)


Rule = Union[Node, All, AnyOf, OneOf, Conditional, Dependent, Names]  # noqa: UP007  (Python 3.10 reads it at import)


# ---- from keywords to rules


def branches(n: Products, atom: SchemaAtom, keyword: str) -> tuple[Node, ...]:
    """The nodes of a list of schemas."""
    listed = atom.schema[keyword]
    if not isinstance(listed, list) or (not listed and keyword != "allOf"):
        raise refusal(atom.schema, keyword, atom.pointer)
    return tuple([n.locations.child(below, atom, keyword, str(i)) for i, below in enumerate(listed)])


def _if(n: Products, atom: SchemaAtom, keyword: str) -> Rule:
    schema, bits, child = atom.schema, atom.resource.bits, n.locations.child
    then, otherwise = (
        child(schema[word], atom, word) if word in schema and word in bits else ANYTHING for word in ("then", "else")
    )
    return Conditional(child(schema["if"], atom, "if"), then, otherwise)


def _dependents(n: Products, atom: SchemaAtom, keyword: str) -> Rule:
    """dependentSchemas, and the schemas in `dependencies`."""
    found = []
    for name, below in objects.mapping(atom.schema, keyword, atom.pointer).items():
        if keyword != "dependencies" or not isinstance(below, list | str):
            node = n.locations.child(below, atom, keyword, name)
            found.append(Dependent(name, node, _only_required(n, atom, node)))
    return All(tuple(found))


def _only_required(n: Products, atom: SchemaAtom, node: Node) -> frozenset[str] | None:
    """The names that a schema requires of an object, where that is its only effective content: annotations are ignored."""
    schema = n.nodes.schema_of(node)
    if schema is None or not (schema.keys() & atom.resource.bits.keys()) <= {"required", "type"} or "$id" in schema:
        return None
    if schema.get("type", "object") != "object":
        return None
    return frozenset(objects.required_of(schema, node.pointer)) or None


def _names(n: Products, atom: SchemaAtom, keyword: str) -> Rule:
    return Names(n.locations.child(atom.schema[keyword], atom, keyword), f"{atom.pointer}/{keyword}")


def _reference(n: Products, atom: SchemaAtom, keyword: str) -> Rule:
    return n.locations.reference(atom, keyword)


RULES: dict[str, Callable[[Products, SchemaAtom, str], Rule]] = {
    "$ref": _reference,
    "$dynamicRef": _reference,
    "$recursiveRef": _reference,
    "allOf": lambda n, atom, keyword: All(branches(n, atom, keyword)),
    "anyOf": lambda n, atom, keyword: AnyOf(branches(n, atom, keyword)),
    "oneOf": lambda n, atom, keyword: OneOf(branches(n, atom, keyword), f"{atom.pointer}/oneOf"),
    "not": lambda n, atom, keyword: n.nodes.negate(n.locations.child(atom.schema[keyword], atom, keyword)),
    "if": _if,
    "dependentSchemas": _dependents,
    "dependencies": _dependents,
    "propertyNames": _names,
}
