"""Normalises a schema document to nodes: conjunctions of schemas and of their negations, expanded to alternatives.

    n = normalise(schema, languages=Languages())
    n.root.alternatives                     shapes: see shapes.py

An **atom** is one schema (or a value of `enum`, or a union); a node is a set of atoms, each with a sign, and is interned. `allOf`,
`$ref` and keywords next to them are conjunctions; `anyOf` appends lists of shapes, `not` flips the sign, `oneOf` is each branch
without the others (as far as types, values or required keys do not exclude them anyway), if/then/else is two cases.

    document.py      drafts, identifiers, references
    keywords.py      which keywords there are
    locations.py     the nodes of schemas; interning.py: of negations, unions, values; conjunctions.py      atoms.py, values.py
    reading.py       what all readers use, and scalars          scalars.py, objects.py, negated_objects.py, keys.py, arrays.py
    rules.py         keywords that combine schemas, and their opposites
    schemas.py       all keywords of a schema, and what breaks it
    products.py      intersections, unions, pruning             by_type.py, simplify.py
    normaliser.py    the loop
    satisfiable.py   which nodes have a value                   cardinality.py: enough different values
    final.py         final shapes

Every refusal of a schema is raised here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.read.document import Document
from grammarlm.grammars.json_schema.read.keywords import SCHEMA_MAPS
from grammarlm.grammars.json_schema.report import ENFORCED, keyword_reports
from grammarlm.grammars.json_schema.shapes.final import finish
from grammarlm.grammars.json_schema.shapes.shapes import Node
from grammarlm.grammars.json_schema.strings.languages import Languages

from .locations import NeedsScope
from .normaliser import Normaliser


@dataclass
class Normalised:
    """The root node, and the results of normalising it."""

    root: Node
    nodes: list[Node]  # the root, and the nodes created for this schema that a value of it can contain
    document: Document
    languages: Languages
    relaxed: tuple[str, ...] = ()  # pointers of the keywords that were left out, where the caller allowed that


def normalise(
    schema: Any,
    *,
    languages: Languages,
    formats: str = "assert",
    registry: Mapping[str, Any] | None = None,
    draft: str = "auto",
    integers: str = "any",
    tick: Callable[[], None] = lambda: None,
    strict: bool = True,
    relax: tuple[str, ...] = (),
) -> Normalised:
    """The nodes of a schema; see the module. With strict=False a keyword that cannot be enforced is left out, and reported; those
    at the pointers `relax` are always left out."""
    relaxed = list(relax)
    scoped = False
    while True:
        document = Document(schema, registry=registry, draft=draft, formats=formats, integers=integers, tick=tick)
        n = Normaliser(document, languages, tick, frozenset(relaxed), scoped)
        try:
            root = n.locations.root()
            return Normalised(root, finish(n, root), document, languages, tuple(relaxed))
        except NeedsScope:
            scoped = True
        except UnsupportedFeature as refusal:
            pointer = None if strict else next_to_relax(refusal, document, tuple(relaxed))
            if pointer is None:
                raise
            relaxed.append(pointer)


def next_to_relax(refusal: UnsupportedFeature, document: Document, relaxed: tuple[str, ...]) -> str | None:
    """The keyword to leave out after a refusal: the one at its pointer, or the next of those that it names."""
    for pointer in _blamed(refusal, document, relaxed):
        outer = _to_relax(pointer, list(relaxed))
        if outer is not None:
            return outer
    return None


def advised(refusal: UnsupportedFeature, document: Document, strict: bool) -> UnsupportedFeature:
    """The refusal with the keyword's pointer in front, and advice at the end."""
    blamed = _blamed(refusal, document, ())
    pointer = blamed[0] if blamed else refusal.pointer or ""
    message = str(refusal).removeprefix(f"{refusal.pointer or '#'}: ")
    advice = ""
    if strict and blamed:
        advice = f"{chr(10) if chr(10) in message else '; '}JsonSchema(..., strict=False) leaves out {_to_relax(pointer, [])}"
    return UnsupportedFeature(
        f"{pointer or '#'}: {message}{advice}", position=refusal.position, pointer=pointer, keywords=refusal.keywords
    )


def _blamed(refusal: UnsupportedFeature, document: Document, relaxed: tuple[str, ...]) -> list[str]:
    """Pointers of the keywords that a refusal is about: the one at its pointer; or those that it names, in that schema, below it,
    or anywhere."""
    named, blamed = [], refusal.pointer or ""
    for line in keyword_reports(document, relaxed):
        document.tick()
        if line.status == ENFORCED:
            if line.pointer == blamed:
                return [blamed]
            if line.keyword in refusal.keywords:
                named.append(line.pointer)
    here = [pointer for pointer in named if pointer.rpartition("/")[0] == blamed]
    below = [
        pointer for pointer in named if pointer.startswith(f"{blamed}/") and pointer.count("/") > blamed.count("/") + 1
    ]
    known = {*here, *below}
    return here + below + [pointer for pointer in named if pointer not in known]


def _to_relax(pointer: str | None, relaxed: list[str]) -> str | None:
    """The pointer of the keyword to leave out next. Below `not`, `if` and `oneOf` that is the outermost of these: relaxing only
    what is inside would make them refuse more instead of less. (`oneOf` is then read as `anyOf`.)"""
    if pointer is None:
        return None
    tokens = pointer.split("/")
    for i, token in enumerate(tokens):
        if token in ("not", "if", "oneOf") and tokens[i - 1] not in SCHEMA_MAPS:
            outer = "/".join(tokens[: i + 1])
            if outer not in relaxed:
                return outer
    return pointer if pointer not in relaxed else None
