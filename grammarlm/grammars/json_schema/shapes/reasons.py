"""Why no value satisfies a schema: the few keywords that contradict each other.

    {"type": "string", "title": "x", "minLength": 3, "maxLength": 2}     "type": "string", "minLength": 3, "maxLength": 2

They are found by leaving out one keyword after the other (with those that it is read with) while there is still no value. What
remains has none, and would have some without any one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from json import dumps
from typing import TYPE_CHECKING, Any, NamedTuple

from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
from grammarlm.grammars.json_schema.nodes.by_type import ARRAYS, NOTHING, OBJECTS, OF_TYPE
from grammarlm.grammars.json_schema.read.keywords import IDENTITY

from .satisfiable import settle
from .shapes import ANYTHING, Node

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser

MOST_PARTS, MOST_NAMES = 24, 24  # keywords and required names that are left out one by one; of more keywords, none
SHOWN_VALUE, SHOWN_NAMES = 60, 3
UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
TOGETHER = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items", "additionalItems"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))  # where the second is true or false


class Part(NamedTuple):
    """Keywords of one schema that are read together, or a node that is no schema."""

    keywords: tuple[str, ...]
    schema: dict[str, Any]
    atom: SchemaAtom | None
    pointer: str
    node: Node | None = None

    def __str__(self) -> str:
        return ", ".join(f'"{word}": {_shown(self.schema[word])}' for word in self.keywords)


def reason(n: Normaliser, root: Node) -> tuple[str, str]:
    """What to say of a root without values, and the pointer of the schema that is at fault."""
    node, is_loop = _culprit(root)
    what = "its keywords contradict each other"
    if node is NOTHING:
        what = "it is false"
    elif is_loop:
        what = "what is required there can only be had by way of itself"
    else:
        with suppress(GrammarError):  # a part of the schema alone may be refused
            what = _contradiction(n, node) or what
    return f"no value satisfies the schema: at {node.pointer or '#'} {what}", node.pointer


def _culprit(root: Node) -> tuple[Node, bool]:
    """The deepest node that makes the root empty, and whether it needs itself."""
    node, passed = root, {root}
    while True:
        assert node.by_type is not None
        needed = [shape.properties[name] for shape in node.by_type[OBJECTS] for name in sorted(shape.required)]
        for shape in node.by_type[ARRAYS]:
            for i in range(min(shape.minimum, len(shape.prefix) + 1)):
                ways = shape.ways(i)
                if ways and not any(child.satisfiable for child, _ in ways):
                    needed.append(ways[0][0])
        empty = [
            child for child in needed if not child.satisfiable and child is not NOTHING and child.by_type is not None
        ]
        below = next((child for child in empty if child not in passed), None)
        if below is None:
            return node, bool(empty)
        passed.add(below)
        node = below


def _contradiction(n: Normaliser, node: Node) -> str:
    parts = list(_parts(n, node))
    if not parts or len(parts) > MOST_PARTS or _has_value(n, parts):
        return ""
    for part in sorted(parts, key=lambda part: part.keywords[0] not in UNEVALUATED):  # they depend on all others
        rest = [other for other in parts if other is not part]
        if not _has_value(n, rest):
            parts = rest
    required = _nameless(n, parts)
    if required:
        return required
    places = {part.pointer for part in parts}
    said = [str(part) + (f" ({part.pointer or '#'})" if len(places) > 1 else "") for part in parts]
    return "nothing admits " + said[0] if len(said) == 1 else "these contradict each other: " + ", ".join(said)


def _nameless(n: Normaliser, parts: list[Part]) -> str:
    """The names in `required` that no key can have, if they are the reason."""
    listing = next((part for part in parts if part.keywords == ("required",)), None)
    if listing is None:
        return ""
    others = [part for part in parts if part is not listing]
    names = [
        name
        for name in listing.schema["required"][:MOST_NAMES]
        if not _has_value(n, [*others, listing._replace(schema={"required": [name]})])
    ]
    if not names:
        return ""
    declared = [name for part in parts for name in _properties(part) if name not in names]
    known = declared or [name for name in _properties(listing) if name not in names]
    listed = ", ".join(brief(name) for name in names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
    near = get_close_matches(names[0], known, 1, 0.6)
    hint = f"; did you mean {brief(near[0])}?" if near else ""
    against = ", ".join(str(part) for part in others if part.keywords != ("type",))
    return f'"required" has {listed}, which no object can have here: {against}{hint}'


def _properties(part: Part) -> Iterable[str]:
    declared = part.schema.get("properties") or {}
    return declared if isinstance(declared, dict) else ()


def _parts(n: Normaliser, node: Node) -> Iterable[Part]:
    for code in sorted(node.key):
        atom = n.nodes.atoms[code >> 1] if code >= 0 else None
        if isinstance(atom, SchemaAtom) and not code & 1:
            yield from _of_schema(atom, atom.schema, atom.pointer)
        elif not code & 1 and 0 <= code >> 1 < len(OF_TYPE):
            yield Part(
                ("type",), {"type": list(OF_TYPE)[code >> 1]}, None, node.pointer, n.nodes.of(frozenset((code,)), "")
            )
        else:
            return  # a negation, or a union: there is no keyword to name


def _of_schema(atom: SchemaAtom, schema: dict[str, Any], pointer: str) -> Iterable[Part]:
    bits = atom.resource.bits
    words = [word for word in schema if bits.get(word, 0) & ~IDENTITY or (word in ("then", "else") and "if" in schema)]
    if atom.resource.draft <= 7 and "$ref" in schema:
        words = ["$ref"]
    bounds = [group for group in BOUNDS if isinstance(schema.get(group[1]), bool)]
    while words:
        group = next((group for group in (*TOGETHER, *bounds) if words[0] in group), (words[0],))
        taken = tuple(word for word in words if word in group)
        words = [word for word in words if word not in group]
        listed = schema[taken[0]]
        if taken == ("allOf",) and isinstance(listed, list) and all(_is_simple(below) for below in listed):
            for i, below in enumerate(listed):
                yield from _of_schema(atom, below, f"{pointer}/allOf/{i}")
        else:
            yield Part(taken, schema, atom, pointer)


def _is_simple(schema: Any) -> bool:
    return isinstance(schema, dict) and not ({"$id", "id", "$schema"} & schema.keys())


def _has_value(n: Normaliser, parts: list[Part]) -> bool:
    """Is there a value that satisfies these keywords alone?"""
    met = ANYTHING
    by_schema: dict[int, tuple[Part, list[str]]] = {}
    for part in parts:
        if part.atom is None:
            assert part.node is not None
            met = n.meet(met, part.node)
        else:
            by_schema.setdefault(id(part.schema), (part, []))[1].extend(part.keywords)
    for part, words in by_schema.values():
        assert part.atom is not None
        schema = {word: part.schema[word] for word in part.schema if word in words}
        met = n.meet(met, n.locations.node_of(schema, part.pointer, part.atom))
    if met is NOTHING:
        return False
    settle(n, met)
    return met.satisfiable


def _shown(value: Any) -> str:
    try:
        text = dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # numbers that json does not write
        return brief(value, SHOWN_VALUE)
    return text if len(text) <= SHOWN_VALUE else text[: SHOWN_VALUE - 3] + "..."
