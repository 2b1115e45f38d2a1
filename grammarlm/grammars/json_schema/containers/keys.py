"""Undeclared keys: disjoint languages, each with the node of its values.

For patterns P and Q of patternProperties these are P without Q, Q without P, both, and neither (for `additionalProperties`). So a
key has exactly one node, which is a conjunction. Languages that do not overlap are left as they are.
"""

from __future__ import annotations

from dataclasses import replace

from grammarlm.grammars.json_schema.nodes.by_type import NOTHING
from grammarlm.grammars.json_schema.nodes.case_limits import check_size
from grammarlm.grammars.json_schema.nodes.reading import Reading
from grammarlm.grammars.json_schema.shapes.shapes import (
    ANY_OTHERS,
    ANYTHING,
    Language,
    Node,
    ObjectShape,
    Part,
    StringShape,
)
from grammarlm.grammars.json_schema.strings.strings import has

Others = tuple[tuple[Language, Node], ...]


def sort_out(n: Reading, patterns: list[tuple[Language, Node]], rest: Node) -> Others:
    """Makes the languages of patterns disjoint. Most already are: only those that overlap are split."""
    cases: list[tuple[Language, Node]] = []
    done: list[Part] = []
    for (part,), node in patterns:
        if node is ANYTHING and rest is ANYTHING:
            continue
        overlapping = {other for other in done if not n.languages.is_empty(frozenset((part, other)))}
        refined: list[tuple[Language, Node]] = []
        for language, met in cases:
            if not any(other in overlapping for other in language):
                refined.append((language, met))
                continue
            inside, outside = language | {part}, language | {_not(part)}
            if n.languages.is_empty(inside):
                refined.append((language, met))
            elif n.languages.is_empty(outside):  # a redundant part is left out: languages stay short
                refined.append((language, n.meet(met, node)))
            else:
                refined += [(inside, n.meet(met, node)), (outside, met)]
        alone: Language = frozenset([part])
        for other in done:
            if other in overlapping and not n.languages.is_empty(alone | {other}):
                alone |= {_not(other)}
        if not n.languages.is_empty(alone):
            refined.append((alone, node))
        cases = refined
        done.append(part)
        n.tick()
        check_size(len(cases) - len(done), "patternProperties that overlap")
    others = frozenset(_not(part) for part in done)
    if rest is not NOTHING and not n.languages.is_empty(others):
        cases.append((others, rest))
    return tuple((language, node) for language, node in cases if node is not NOTHING)


def _not(part: Part) -> Part:
    return part[0], part[1], not part[2]


def restrict_names(n: Reading, shape: ObjectShape, strings: list[StringShape]) -> ObjectShape:
    """`propertyNames`: only keys that one of the string shapes admits."""
    properties = {
        name: node if any(has(s, name, n.languages) for s in strings) else NOTHING
        for name, node in shape.properties.items()
    }
    languages = disjoint(n, [language_of(s) for s in strings])
    return replace(
        shape, properties=properties, others=meet_others(n, shape.others, tuple((lang, ANYTHING) for lang in languages))
    )


def language_of(shape: StringShape) -> Language:
    """A shape's strings as a language: lengths become a pattern."""
    if shape.values is not None:
        return frozenset([("words", shape.values, True)])
    language = shape.language
    if shape.minimum or shape.maximum is not None:
        high = "" if shape.maximum is None else shape.maximum
        language |= {("pattern", f"^[\\s\\S]{{{shape.minimum},{high}}}$", True)}
    return language


def disjoint(n: Reading, languages: list[Language]) -> list[Language]:
    """The same union, without overlaps."""
    done: list[Language] = []
    for language in languages:
        pieces = [language]
        for earlier in done:
            pieces = [piece for old in pieces for piece in _minus(n, old, earlier)]
        done += pieces
    return done


def _minus(n: Reading, language: Language, removed: Language) -> list[Language]:
    """language minus removed: one piece for each part of `removed` that is the first that a string fails."""
    pieces = []
    sofar = language
    for part in sorted(removed, key=str):
        piece = sofar | {_not(part)}
        if part not in sofar and not n.languages.is_empty(piece):
            pieces.append(piece)
        sofar |= {part}
    return pieces


def node_of(n: Reading, others: Others, name: str) -> Node:
    """The node of an undeclared key."""
    for language, node in others:
        if not language or n.key_languages.has(language, name):
            return node
    return NOTHING


def meet_others(n: Reading, a: Others, b: Others) -> Others:
    if a is b or b is ANY_OTHERS:
        return a
    if a is ANY_OTHERS:
        return b
    found = []
    for language_a, node_a in a:
        for language_b, node_b in b:
            node = n.meet(node_a, node_b)
            if node is NOTHING:
                continue
            language = language_a | language_b
            if language_a and language_b and language_a != language_b and n.languages.is_empty(language):
                continue
            found.append((language, node))
    check_size(len(found) - len(a) - len(b), "key patterns that overlap")
    return tuple(found)
