"""Objects: reading their keywords, and conjunction. What breaks the keywords is in negated_objects.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
from grammarlm.grammars.json_schema.nodes.by_type import ANY_OBJECT, NOTHING, both_evaluated
from grammarlm.grammars.json_schema.nodes.reading import Reading
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.read.expected import refusal
from grammarlm.grammars.json_schema.shapes.shapes import (
    ANY_OTHERS,
    ANYTHING,
    EVERY_STRING,
    Evaluated,
    Language,
    Node,
    ObjectShape,
)

from .keys import Others, meet_others, node_of, sort_out


def count_of(schema: dict[str, Any], keyword: str, pointer: str) -> int | None:
    """The value of minItems and the like; None if the keyword is absent."""
    if keyword not in schema:
        return None
    value = schema[keyword]
    if value.__class__ is not int:
        value = numbers.whole(value)
    if value is None or value < 0:
        raise refusal(schema, keyword, pointer)
    return value  # type: ignore[no-any-return]


def mapping(schema: dict[str, Any], keyword: str, pointer: str) -> dict[str, Any]:
    value = schema.get(keyword, {})
    if not isinstance(value, dict):
        raise refusal(schema, keyword, pointer)
    return value


def required_of(schema: dict[str, Any], pointer: str) -> list[str]:
    value = schema.get("required", [])
    if isinstance(value, bool):  # draft 3 had "required": true in a property
        return []
    return names_of(value, f"{pointer}/required")


def names_of(value: Any, pointer: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise GrammarError(f"{pointer}: a list of names is expected, not {brief(value)}", pointer=pointer)
    return value


def implications(schema: dict[str, Any], atom: SchemaAtom) -> dict[str, frozenset[str]]:
    """dependentRequired, and the lists in `dependencies`."""
    found: dict[str, frozenset[str]] = {}
    for keyword in ("dependentRequired", "dependencies"):
        if keyword not in schema or keyword not in atom.resource.bits:
            continue
        for name, needed in mapping(schema, keyword, atom.pointer).items():
            if keyword == "dependencies":
                if isinstance(needed, str):  # draft 3
                    needed = [needed]  # noqa: PLW2901
                if not isinstance(needed, list):
                    continue
            listed = names_of(needed, f"{atom.pointer}/{keyword}/{name}")
            if listed:
                found[name] = found.get(name, frozenset()) | frozenset(listed)
    return found


@dataclass(slots=True)
class ObjectKeywords:
    """What the plain keywords about objects say: the objects that satisfy them have one shape, those that do not have several."""

    declared: dict[str, Node]
    required: list[str]
    patterns: dict[str, tuple[Language, Node]] = field(default_factory=dict)
    rest: Node | None = None  # of additionalProperties
    minimum: int = 0
    maximum: int | None = None
    implied: dict[str, frozenset[str]] = field(default_factory=dict)


def read(n: Reading, atom: SchemaAtom) -> ObjectKeywords:
    """The plain keywords of a schema."""
    schema, pointer = atom.schema, atom.pointer
    child = n.locations.child
    declared = {
        name: child(below, atom, "properties", name) for name, below in mapping(schema, "properties", pointer).items()
    }
    rest = None
    if "additionalProperties" in schema:
        rest = child(schema["additionalProperties"], atom, "additionalProperties")
    patterns = {
        text: (n.key_languages.pattern(text, pointer), child(below, atom, "patternProperties", text))
        for text, below in mapping(schema, "patternProperties", pointer).items()
    }
    return ObjectKeywords(
        declared,
        required_of(schema, pointer),
        patterns,
        rest,
        count_of(schema, "minProperties", pointer) or 0,
        count_of(schema, "maxProperties", pointer),
        implications(schema, atom),
    )


def shape_of(n: Reading, said: ObjectKeywords, track: bool = False) -> ObjectShape:
    """The objects that satisfy the keywords, whose dict of nodes becomes that of the shape."""
    evaluated = Evaluated(frozenset(said.declared), frozenset(said.patterns), said.rest is not None) if track else None
    properties = said.declared
    rest = said.rest or ANYTHING
    others: Others = ANY_OTHERS if rest is ANYTHING else () if rest is NOTHING else ((EVERY_STRING, rest),)
    if said.patterns:
        patterns = list(said.patterns.values())
        others = sort_out(n, patterns, rest)
        for name, node in properties.items():
            for language, more in patterns:
                if n.key_languages.has(language, name):
                    node = n.meet(node, more)  # noqa: PLW2901
            properties[name] = node
    shape = ObjectShape(properties, others, frozenset(said.required), said.minimum, said.maximum)
    if said.required:
        mention(n, shape, said.required)
    if said.implied:
        shape.implied = said.implied
        mention(n, shape, [name for key, needed in said.implied.items() for name in (key, *sorted(needed))])
    shape.evaluated = evaluated
    return shape


def mention(n: Reading, shape: ObjectShape, names: Iterable[str]) -> None:
    """Adds names as properties where they are missing; only before the shape is shared."""
    new = [name for name in names if name not in shape.properties]
    for name in new:
        if name not in shape.properties:
            shape.properties[name] = node_of(n, shape.others, name)
    if new:
        shape.tail |= frozenset(new)


def both(n: Reading, a: ObjectShape, b: ObjectShape) -> ObjectShape | None:
    """The intersection; None where that is certainly empty."""
    if a is ANY_OBJECT or b is ANY_OBJECT:
        return b if a is ANY_OBJECT else a
    minimum = max(a.minimum, b.minimum)
    maximum = b.maximum if a.maximum is None else a.maximum if b.maximum is None else min(a.maximum, b.maximum)
    required = a.required | b.required
    if maximum is not None and max(minimum, len(required)) > maximum:
        return None
    mine, theirs = a.properties, b.properties
    for name in required:  # most contradictions show up here
        if name in mine:
            if name in theirs:
                if n.meet(mine[name], theirs[name]) is NOTHING:
                    return None
            elif not b.others:
                return None
        elif not a.others:
            return None
    properties = _both_properties(n, a, b)
    for name in required:
        if properties[name] is NOTHING:
            return None
    shape = ObjectShape(properties, meet_others(n, a.others, b.others), required, minimum, maximum)
    if a.tail or b.tail:
        shape.tail = frozenset(
            name for name in a.tail | b.tail if _mentioned_only(a, name) and _mentioned_only(b, name)
        )
    if a.implied or b.implied:
        implied = dict(a.implied)
        for name, needed in b.implied.items():
            implied[name] = implied.get(name, frozenset()) | needed
        shape.implied = implied
    if a.some or b.some:
        shape.some = a.some + tuple(o for o in b.some if o not in a.some)
    shape.refusal = a.refusal or b.refusal
    if a.evaluated is not None or b.evaluated is not None:
        shape.evaluated = both_evaluated(a.evaluated, b.evaluated)
    return shape


def _mentioned_only(shape: ObjectShape, name: str) -> bool:
    return name in shape.tail or name not in shape.properties


def _node_at(n: Reading, shape: ObjectShape, name: str) -> Node:
    node = shape.properties.get(name)
    if node is None:
        node = ANYTHING if shape.others is ANY_OTHERS else node_of(n, shape.others, name)
    return node


def _both_properties(n: Reading, a: ObjectShape, b: ObjectShape) -> dict[str, Node]:
    """All properties of both, in order of appearance; those that are only mentioned come last."""
    if b.others is ANY_OTHERS and (not a.tail or len(b.tail) == len(b.properties)):  # fast path: b constrains few keys
        properties = dict(a.properties)
        for name, node in b.properties.items():
            properties[name] = n.meet(_node_at(n, a, name), node)
        return properties
    named = [name for shape in (a, b) for name in shape.properties if name not in shape.tail]
    late = [name for shape in (a, b) for name in shape.properties if name in shape.tail]
    return {name: n.meet(_node_at(n, a, name), _node_at(n, b, name)) for name in dict.fromkeys(named + late)}


def mentioning(properties: dict[str, Node], required: Iterable[str] = (), **fields: Any) -> ObjectShape:
    """A shape that constrains these keys without declaring them."""
    return ObjectShape(properties, required=frozenset(required), tail=frozenset(properties), **fields)
