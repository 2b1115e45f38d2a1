"""Negation of object keywords, and the keys that it requires.

A rule about undeclared keys is violated by some key. That is an **obligation**: it is kept until the possible keys are known, and
then discharged: one shape for each key that may serve. An obligation that only an unnamed key can serve stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.nodes.by_type import ANYTHING, NOTHING, OBJECTS, Conjunction, LooseObject
from grammarlm.grammars.json_schema.nodes.case_limits import check_size
from grammarlm.grammars.json_schema.shapes.shapes import Language, without_words
from grammarlm.grammars.json_schema.shapes.simplify import simplified

from .objects import both, count_of, implications, mapping, mention, mentioning, required_of

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser


def opposites(n: Normaliser, atom: SchemaAtom) -> list[LooseObject]:
    """Shapes whose union is all objects that violate one of the plain keywords (propertyNames and schemas in dependencies are not
    plain).

    A required key and its schema make one shape: the key is absent, or present with another value. Violations of rules about
    scalars come first, and all later shapes keep those rules: `oneOf` branches that differ in the value of a key then intersect in
    few shapes.
    """
    schema, pointer = atom.schema, atom.pointer
    found: list[LooseObject] = []
    declared = mapping(schema, "properties", pointer)
    required = frozenset(required_of(schema, pointer))
    rules = [(name, n.locations.child(below, atom, "properties", name)) for name, below in declared.items()]
    rules += [(name, ANYTHING) for name in required_of(schema, pointer) if name not in declared]
    simple = [n.nodes.is_scalar(node) for _, node in rules]
    order = sorted(range(len(rules)), key=lambda i: (not simple[i], rules[i][0] not in required))
    kept = LooseObject()
    for i in order:
        name, node = rules[i]
        negated = n.nodes.negate(node)
        if negated is NOTHING and name not in required:
            continue
        broken = mentioning({name: negated}, [] if name in required else [name])
        found.append(both(n, kept, broken) or broken)
        if simple[i]:
            kept = both(n, kept, mentioning({name: node}, [name] if name in required else [])) or kept
    found += _breaking_counts(n, atom, kept)
    found += _breaking_other_keys(n, atom, kept, declared)
    return found


def _breaking_counts(n: Normaliser, atom: SchemaAtom, kept: LooseObject) -> list[LooseObject]:
    """minProperties, maxProperties, dependentRequired."""
    schema, pointer = atom.schema, atom.pointer
    minimum, maximum = count_of(schema, "minProperties", pointer), count_of(schema, "maxProperties", pointer)
    found = []
    if minimum:
        found.append(LooseObject(maximum=minimum - 1))
    if maximum is not None:
        found.append(LooseObject(minimum=maximum + 1))
    for key, needed in implications(schema, atom).items():
        found += [mentioning({key: ANYTHING, name: NOTHING}, [key]) for name in sorted(needed) if name != key]
    return [shape for shape in (both(n, kept, broken) for broken in found) if shape]


def _breaking_other_keys(
    n: Normaliser, atom: SchemaAtom, kept: LooseObject, declared: dict[str, Any]
) -> list[LooseObject]:
    """patternProperties and additionalProperties: some key has to violate them."""
    schema, pointer = atom.schema, atom.pointer
    found = []
    outside: set[tuple[str, Any, bool]] = set()
    for text, below in mapping(schema, "patternProperties", pointer).items():
        (part,) = language = n.key_languages.pattern(text, atom)
        outside.add((part[0], part[1], False))
        negated = n.nodes.negate(n.locations.child(below, atom, "patternProperties", text))
        if negated is not NOTHING:
            found.append(LooseObject(some=((language, negated, f"{pointer}/patternProperties"),)))
    if "additionalProperties" in schema:
        negated = n.nodes.negate(n.locations.child(schema["additionalProperties"], atom, "additionalProperties"))
        if negated is not NOTHING:
            if declared:
                outside.add(("words", tuple(declared), False))
            found.append(LooseObject(some=((frozenset(outside), negated, f"{pointer}/additionalProperties"),)))
    return [shape for shape in (both(n, kept, broken) for broken in found) if shape]


def discharge(n: Normaliser, shape: LooseObject) -> list[LooseObject]:
    """Turns obligations into required keys, one shape per key that may serve. What only an unnamed key can serve stays an
    obligation: `some` of the result is about keys that are not in `properties`."""
    mentioned = [*(lang for lang, _, _ in shape.some), *(lang for lang, _ in shape.others)]
    named = [w for parts in mentioned for kind, text, _ in parts if kind == "words" for w in text]
    done = [replace(shape, some=(), properties=dict(shape.properties))]
    mention(n, done[0], named)  # before the first is served: a key that one rule names may serve another
    for obligation in shape.some:
        served: list[LooseObject] = []
        for old in done:
            served += _served(n, old, *obligation)
        check_size(len(served), "ways to break a rule about keys", obligation[2])
        done = simplified(OBJECTS, served) if len(served) > 1 else served
    return done


def _served(
    n: Normaliser, shape: LooseObject, language: Language, node: Conjunction, pointer: str
) -> list[LooseObject]:
    """The ways to have a key in the language with a value in the node. They are disjoint: each key is present only where the
    earlier ones are absent, if any value of theirs would serve."""
    candidates = [
        (name, n.meet(known, node), known)
        for name, known in shape.properties.items()
        if known is not NOTHING and n.key_languages.has(language, name)
    ]
    if any(met is known and name in shape.required for name, met, known in candidates):
        return [shape]
    found: list[LooseObject] = []
    properties = shape.properties
    for name, met, known in candidates:
        if met is not NOTHING:
            found.append(replace(shape, properties={**properties, name: met}, required=shape.required | {name}))
        if met is known:
            properties = {**properties, name: NOTHING}
    shape = replace(shape, properties=properties)
    for lang, known in shape.others:
        met, where = n.meet(known, node), lang | language
        is_finite = any(kind == "words" and holds for kind, _, holds in where)  # then all its keys are declared
        if met is NOTHING or is_finite:
            continue
        beyond = where | {("words", tuple(properties), False)}
        if not without_words(where) or not n.languages.is_empty(beyond):
            found.append(replace(shape, some=(*shape.some, (where, met, pointer))))
    return found
