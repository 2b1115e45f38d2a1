"""Negation of object keywords, and the keys that it requires.

A rule about undeclared keys is violated by some key. That is an **obligation**: it is kept until the possible keys are known, and
then discharged: one shape for each key that may serve. An obligation that only an unnamed key can serve stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grammarlm.grammars.json_schema.nodes.by_type import NOTHING, OBJECTS
from grammarlm.grammars.json_schema.nodes.case_limits import check_size
from grammarlm.grammars.json_schema.nodes.reading import Reading
from grammarlm.grammars.json_schema.shapes.shapes import ANYTHING, Language, Node, ObjectShape, without_words
from grammarlm.grammars.json_schema.shapes.simplify import simplified

from .objects import ObjectKeywords, both, mention, mentioning


def opposites(n: Reading, said: ObjectKeywords, pointer: str) -> list[ObjectShape]:
    """Shapes whose union is all objects that violate one of the keywords, which are those of the schema at the pointer.

    A required key and its schema make one shape: the key is absent, or present with another value. Violations of rules about
    scalars come first, and all later shapes keep those rules: `oneOf` branches that differ in the value of a key then intersect in
    few shapes.
    """
    found: list[ObjectShape] = []
    required = frozenset(said.required)
    rules = [*said.declared.items(), *((name, ANYTHING) for name in said.required if name not in said.declared)]
    simple = [n.nodes.is_scalar(node) for _, node in rules]
    order = sorted(range(len(rules)), key=lambda i: (not simple[i], rules[i][0] not in required))
    kept = ObjectShape()
    for i in order:
        name, node = rules[i]
        negated = n.nodes.negate(node)
        if negated is NOTHING and name not in required:
            continue
        broken = mentioning({name: negated}, [] if name in required else [name])
        found.append(both(n, kept, broken) or broken)
        if simple[i]:
            kept = both(n, kept, mentioning({name: node}, [name] if name in required else [])) or kept
    later = [*_breaking_counts(said), *_breaking_other_keys(n, said, pointer)]
    return found + [shape for shape in (both(n, kept, broken) for broken in later) if shape]


def _breaking_counts(said: ObjectKeywords) -> list[ObjectShape]:
    """minProperties, maxProperties, dependentRequired."""
    found = []
    if said.minimum:
        found.append(ObjectShape(maximum=said.minimum - 1))
    if said.maximum is not None:
        found.append(ObjectShape(minimum=said.maximum + 1))
    for key, needed in said.implied.items():
        found += [mentioning({key: ANYTHING, name: NOTHING}, [key]) for name in sorted(needed) if name != key]
    return found


def _breaking_other_keys(n: Reading, said: ObjectKeywords, pointer: str) -> list[ObjectShape]:
    """patternProperties and additionalProperties: some key has to violate them."""
    found = []
    outside: set[tuple[str, Any, bool]] = set()
    for language, node in said.patterns.values():
        outside |= {(kind, text, not holds) for kind, text, holds in language}  # one part each
        negated = n.nodes.negate(node)
        if negated is not NOTHING:
            found.append(ObjectShape(some=((language, negated, f"{pointer}/patternProperties"),)))
    negated = NOTHING if said.rest is None else n.nodes.negate(said.rest)
    if negated is not NOTHING:
        if said.declared:
            outside.add(("words", tuple(said.declared), False))
        found.append(ObjectShape(some=((frozenset(outside), negated, f"{pointer}/additionalProperties"),)))
    return found


def discharge(n: Reading, shape: ObjectShape) -> list[ObjectShape]:
    """Turns obligations into required keys, one shape per key that may serve. What only an unnamed key can serve stays an
    obligation: `some` of the result is about keys that are not in `properties`."""
    mentioned = [*(lang for lang, _, _ in shape.some), *(lang for lang, _ in shape.others)]
    named = [w for parts in mentioned for kind, text, _ in parts if kind == "words" for w in text]
    done = [replace(shape, some=(), properties=dict(shape.properties))]
    mention(n, done[0], named)  # before the first is served: a key that one rule names may serve another
    for obligation in shape.some:
        served: list[ObjectShape] = []
        for old in done:
            served += _served(n, old, *obligation)
        check_size(len(served), "ways to break a rule about keys", obligation[2])
        done = simplified(OBJECTS, served) if len(served) > 1 else served
    return done


def _served(n: Reading, shape: ObjectShape, language: Language, node: Node, pointer: str) -> list[ObjectShape]:
    """The ways to have a key in the language with a value in the node. They are disjoint: each key is present only where the
    earlier ones are absent, if any value of theirs would serve."""
    candidates = [
        (name, n.meet(known, node), known)
        for name, known in shape.properties.items()
        if known is not NOTHING and n.key_languages.has(language, name)
    ]
    if any(met is known and name in shape.required for name, met, known in candidates):
        return [shape]
    found: list[ObjectShape] = []
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
