"""The negation of a schema: the values that violate one of its keywords.

For objects and arrays broken_objects.py and arrays.py have the shapes that violate a plain keyword; the rest is here. For lists of
schemas: not allOf is some not, not anyOf is each not, not oneOf is none or two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grammarlm.grammars.json_schema.containers import arrays, broken_objects, keys, objects
from grammarlm.grammars.json_schema.containers.values import shapes_of_others
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.read.keywords import (
    ARRAY,
    COMBINE,
    NUMBER,
    OBJECT,
    REFERENCE,
    STRING,
    TYPE,
    UNEVALUATED,
    VALUES,
)
from grammarlm.grammars.json_schema.read.plain import listings, read_number, read_strings, types
from grammarlm.grammars.json_schema.shapes.simplify import simplified
from grammarlm.grammars.json_schema.strings import strings

from .by_type import (
    ANY,
    ANYTHING,
    ARRAYS,
    EMPTY,
    NONE,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TYPES,
    ByType,
    LooseArray,
    LooseObject,
    one_type,
)
from .case_limits import check_alternatives
from .combine import branches, conditional, dependents

if TYPE_CHECKING:
    from .atoms import SchemaAtom, Steps
    from .normaliser import Normaliser


def not_types(of_type: ByType) -> ByType:
    """All values of the other types; for integers also the other numbers."""
    found = [EMPTY if of_type[t] else ANY[t] for t in TYPES]
    if of_type[NUMBERS] and of_type[NUMBERS] is not ANY[NUMBERS]:
        found[NUMBERS] = numbers.opposites(of_type[NUMBERS][0])
    return found


def negative(n: Normaliser, atom: SchemaAtom) -> Steps:
    """The shapes of the values that a schema does not admit."""
    schema, mask, resource = atom.schema, atom.mask, atom.resource
    if mask & REFERENCE and resource.draft <= 7 and "$ref" in schema:
        return (yield from n.ask(n.nodes.negate(n.locations.reference(atom, "$ref"))))
    found = _not_plain(n, atom)
    if mask & VALUES:
        found += [(yield from _not_values(n, atom))]
    for keyword in schema:
        if resource.bits.get(keyword, 0) & (COMBINE | REFERENCE):
            found += [(yield from _RULES[keyword](n, atom, keyword))]
    if mask & UNEVALUATED:
        found.append(_not_unevaluated(n, atom))
    united = n.unite(found) if found else NONE
    united = [simplified(t, shapes) if len(shapes) > 1 else shapes for t, shapes in enumerate(united)]
    for shapes in united:
        check_alternatives(shapes, atom.pointer)
    return united


def _not_plain(n: Normaliser, atom: SchemaAtom) -> list[ByType]:
    mask, found = atom.mask, []
    if mask & TYPE:
        found.append(not_types(types(atom)))
    if mask & STRING:
        read = read_strings(n, atom)
        found.append(one_type(STRINGS, strings.opposites(read[0]) if read else ANY[STRINGS]))
    if mask & NUMBER:
        found.append(one_type(NUMBERS, numbers.opposites(read_number(atom))))
    if mask & OBJECT:
        found.append(one_type(OBJECTS, broken_objects.opposites(n, atom)))
    if mask & ARRAY:
        found.append(one_type(ARRAYS, arrays.opposites(n, atom)))
    return found


def _not_values(n: Normaliser, atom: SchemaAtom) -> Steps:
    found: list[ByType] = []
    for keyword, listed in listings(atom):
        by_type = shapes_of_others(listed)
        for value in listed:
            if isinstance(value, dict | list):
                denied = n.nodes.negate(n.nodes.value(value, f"{atom.pointer}/{keyword}"))
                by_type = yield from n.met_with(by_type, (yield from n.ask(denied)))
        found.append(by_type)
    return n.unite(found)


def _not_unevaluated(n: Normaliser, atom: SchemaAtom) -> ByType:
    """Which keys are unevaluated depends on what else holds; no shape expresses that, so these shapes are refused."""
    by_type = list(NONE)
    made: list[tuple[str, int, LooseObject | LooseArray]] = [
        ("unevaluatedProperties", OBJECTS, LooseObject(minimum=1)),
        ("unevaluatedItems", ARRAYS, LooseArray(minimum=1)),
    ]
    for keyword, t, shape in made:
        if keyword in atom.schema and n.locations.child(atom.schema[keyword], atom, keyword) is not ANYTHING:
            what = f"what breaks {keyword} (it stands below `not`, or in a branch that oneOf or if excludes)"
            shape.refusal = (what, f"{atom.pointer}/{keyword}")
            by_type[t] = [shape]
    return by_type


def _no_reference(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    return (yield from n.ask(n.nodes.negate(n.locations.reference(atom, keyword))))


def _not_all_of(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    found: list[ByType] = [NONE]
    for node in branches(n, atom, keyword):
        found += [(yield from n.ask(n.nodes.negate(node)))]
    return n.unite(found)


def _not_any_of(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    return (yield from n.none_of(branches(n, atom, keyword)))


def _not_one_of(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    """None of them, or two."""
    nodes = branches(n, atom, keyword)
    found: list[ByType] = [(yield from _not_any_of(n, atom, keyword))]
    for i, a in enumerate(nodes):
        for b in nodes[:i]:
            found += [(yield from n.met_with((yield from n.ask(a)), (yield from n.ask(b))))]
    return (yield from n.pruned(n.unite(found)))


def _not_not(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    return (yield from n.ask(n.locations.child(atom.schema["not"], atom, "not")))


def _not_if(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    condition = n.locations.child(atom.schema["if"], atom, "if")
    found: list[ByType] = [NONE]
    for branch, node in (("then", condition), ("else", n.nodes.negate(condition))):
        broken = conditional(n, atom, branch)
        if broken is not ANYTHING:
            denied = yield from n.ask(n.nodes.negate(broken))
            found += [(yield from n.met_with((yield from n.ask(node)), denied))]
    return n.unite(found)


def _not_dependent(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    found: list[ByType] = [NONE]
    for name, node in dependents(n, atom, keyword):
        present = one_type(OBJECTS, [objects.mentioning({name: ANYTHING}, [name])])
        found += [(yield from n.met_with(present, (yield from n.ask(n.nodes.negate(node)))))]
    return n.unite(found)


def _not_property_names(n: Normaliser, atom: SchemaAtom, keyword: str) -> Steps:
    denied = n.nodes.negate(n.locations.child(atom.schema["propertyNames"], atom, "propertyNames"))
    shapes = (yield from n.ask(denied))[STRINGS]
    where = f"{atom.pointer}/propertyNames"
    return one_type(OBJECTS, [LooseObject(some=((keys.language_of(s), ANYTHING, where),)) for s in shapes])


_RULES: dict[str, Callable[..., Steps]] = {
    "$ref": _no_reference,
    "$dynamicRef": _no_reference,
    "$recursiveRef": _no_reference,
    "allOf": _not_all_of,
    "anyOf": _not_any_of,
    "oneOf": _not_one_of,
    "not": _not_not,
    "if": _not_if,
    "dependentSchemas": _not_dependent,
    "dependencies": _not_dependent,
    "propertyNames": _not_property_names,
}
