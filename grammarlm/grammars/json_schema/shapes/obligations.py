"""Obligations: some key must have a value of a certain node, whichever key it is.

They come from rules about undeclared keys that are to be broken: below `not`, in branches that oneOf or `if` excludes. What named
keys can serve was expanded before (containers/negated_objects.py). Of the rest, one that any further key serves becomes a count:
at least one key more than the declared ones. For others the languages of keys are split, so that each key can meet certain
obligations or none, by its value; the machine then reads a value as one that meets them and as any other, side by side.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.by_type import NOTHING
from grammarlm.layout.json import MOST_OBLIGATIONS

from .satisfiable import can_open, closure, object_possible, settle
from .shapes import Language, Node, ObjectShape, without_words

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser

# Optional keys whose presence is expanded, where only the count of all keys implies that another one is present.
MOST_OPTIONAL = 6
INEXHAUSTIBLE = 1 << 16  # keys of a language: no text uses up more


def without_obligations(n: Normaliser, shape: ObjectShape) -> list[ObjectShape]:
    """Shapes without `some` whose union is the shape; obligations that are left stand in their `obligations`."""
    beyond = [(language, node) for language, node in shape.others if node.satisfiable]
    optional = [name for name in shape.properties if name not in shape.required and can_open(shape, name)]
    served = all(
        without_words(lang) >= without_words(language) and node is known
        for language, node, _ in shape.some
        for lang, known in beyond
    )
    if served and len(optional) <= MOST_OPTIONAL:
        return _counted(n, shape, optional)
    if shape.maximum is not None or len(shape.some) > MOST_OBLIGATIONS:
        raise _refusal(shape, "together with maxProperties, or of many rules at once")
    return [_split(n, shape, beyond)]


def _refusal(shape: ObjectShape, why: str) -> UnsupportedFeature:
    pointer = shape.some[0][2]
    return UnsupportedFeature(
        f"{pointer}: this rule is to be broken (it stands below `not`, or in a branch that oneOf or if excludes), by a key "
        f"that is not declared; that is not supported {why}: declare the keys it is about",
        pointer=pointer,
    )


def _counted(n: Normaliser, shape: ObjectShape, optional: list[str]) -> list[ObjectShape]:
    """For each choice of optional keys, at least one key more."""
    found = []
    for choice in range(1 << len(optional)):
        present = {name for i, name in enumerate(optional) if choice >> i & 1}
        if not closure(shape, shape.required | present) <= shape.required | present:
            continue
        required = shape.required | present
        properties = {name: node if name in required else NOTHING for name, node in shape.properties.items()}
        least = max(len(required) + 1, shape.minimum)
        counted = replace(shape, some=(), properties=properties, required=required, minimum=least, implied={})
        if object_possible(n, counted):
            found.append(counted)
    return found


def _split(n: Normaliser, shape: ObjectShape, beyond: list[tuple[Language, Node]]) -> ObjectShape:
    """The shape with languages of keys that meet certain obligations or none."""
    others: list[tuple[Language, Node]] = []
    ways: list[tuple[int, Node, Node]] = []
    met = 0
    for language, node in beyond:
        cells = [(language, frozenset[int]())]
        for number, (among, _, _) in enumerate(shape.some):
            where = without_words(among)  # which are all declared
            if where >= without_words(language):
                cells = [cell for known, serves in cells for cell in _cut(n, known, where, serves, number)]
        for known, serves in cells:
            own = _copy(node) if serves else node
            found = _ways(n, shape, node, own, serves)
            others.append((known, own if found else node))
            ways += found
            if found and _is_inexhaustible(n, shape, known):
                met |= reduce(int.__or__, [bits for bits, _, _ in found])
    if met != (1 << len(shape.some)) - 1:
        raise _refusal(shape, "where few keys can do so")
    ways.sort(key=lambda way: -way[0].bit_count())  # a value that meets several is read as such first
    return replace(shape, some=(), others=tuple(others), obligations=tuple(ways))


def _cut(
    n: Normaliser, language: Language, where: Language, serves: frozenset[int], number: int
) -> list[tuple[Language, frozenset[int]]]:
    """A language of keys in parts: what belongs to `where`, too, which serves one obligation more, and the rest."""
    found, inside = [], language
    for kind, text, holds in sorted(where - language, key=str):
        found.append((inside | {(kind, text, not holds)}, serves))
        inside |= {(kind, text, holds)}
    found.append((inside, serves | {number}))
    return [cell for cell in found if not _is_empty(n, cell[0])]


def _is_empty(n: Normaliser, language: Language) -> bool:
    return bool(without_words(language)) and n.languages.is_empty(language)


def _is_inexhaustible(n: Normaliser, shape: ObjectShape, language: Language) -> bool:
    """Has the language more keys than any text? Without the declared ones."""
    if not without_words(language):
        return True
    beyond = language | {("words", tuple(shape.properties), False)} if shape.properties else language
    return n.languages.count(beyond, 0, None, INEXHAUSTIBLE) >= INEXHAUSTIBLE


def _ways(
    n: Normaliser, shape: ObjectShape, node: Node, own: Node, serves: frozenset[int]
) -> list[tuple[int, Node, Node]]:
    """The sets of obligations that a value of the node can meet at once."""
    found = []
    for size in range(1, len(serves) + 1):
        for some in combinations(sorted(serves), size):
            meeting = reduce(n.meet, [shape.some[number][1] for number in some], node)
            settle(n, meeting)
            if meeting.satisfiable:
                found.append((sum(1 << number for number in some), own, meeting))
    return found


def _copy(node: Node) -> Node:
    """A node with the same values that no other key has."""
    made = Node(key=node.key, pointer=node.pointer)
    assert node.by_type is not None
    made.by_type = tuple([list(shapes) for shapes in node.by_type])
    made.satisfiable = made.seen = True
    return made
