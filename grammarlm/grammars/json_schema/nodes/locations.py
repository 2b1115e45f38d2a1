"""The nodes of schemas at their locations: references are followed, empty and equal schemas are merged.

A schema that is only a reference has the node of its target; one without constraints is ANYTHING; those with equal constraints on
scalars share a node. If there are dynamic references, the dynamic scope is a part of the location.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.json_schema.read.document import Document, Location, Resource, Scope, escape
from grammarlm.grammars.json_schema.read.keywords import IDENTITY, NUMBER, REFERENCE, STRING, TYPE
from grammarlm.grammars.json_schema.shapes.shapes import ANYTHING, Node

from .atoms import SchemaAtom
from .by_type import NOTHING
from .interning import Nodes

LONGEST_POINTER = 8_000


class NeedsScope(Exception):
    """A dynamic reference occurs: restart, with the dynamic scope as a part of every location."""


def refers_to_itself(pointer: str) -> GrammarError:
    """The error for references that lead back to where they began, with nothing of a value read on the way: what such schemas mean
    is undefined."""
    return GrammarError(
        f"{pointer or '#'}: this schema refers to itself before anything of a value is read, so it does not say what it admits; a "
        "reference back has to stand below properties or items",
        pointer=pointer,
    )


class Locations:
    """The locations of one schema's document."""

    def __init__(
        self, document: Document, nodes: Nodes, tick: Callable[[], None], relaxed: frozenset[str], scoped: bool
    ):
        self._document, self._nodes, self._tick = document, nodes, tick
        self._relaxed = relaxed  # pointers of keywords to leave out
        self._scoped = scoped  # the dynamic scope is a part of every location
        self._is_fast = not scoped and not relaxed
        self._kept: list[Any] = []  # keeps schemas alive that are identified by id()
        self._moved: dict[int, str] = {}  # pointers of lists of alternatives that are read elsewhere

    def root(self) -> Node:
        resource = self._document.root
        scope = self._document.extend((), resource) if self._scoped else None
        return self.node_at(resource.contents, "", resource, scope)

    def child(self, schema: Any, atom: SchemaAtom, keyword: str, token: str | None = None) -> Node:
        """The node of a schema below a keyword."""
        resource = atom.resource
        if self._is_fast and not resource.filtered and schema.__class__ is dict:  # a short way for most schemas
            known = resource.nodes.get(id(schema))
            if known is not None:
                return known
            bits, mask = resource.bits, 0
            for word in schema:
                mask |= bits.get(word, 0)
            if not mask & (IDENTITY | REFERENCE):
                where = self._below(atom, keyword, token)
                known = resource.nodes[id(schema)] = self._of_schema(schema, where, resource, None, mask)
                return known
        return self.node_at(schema, self._below(atom, keyword, token), resource, atom.scope)

    def node_at(self, schema: Any, pointer: str, resource: Resource, scope: Scope | None) -> Node:
        """The node of a schema at its location. A schema that is only a reference is replaced by its target."""
        start, home, begun, passed = schema, resource, scope, None
        while True:
            if schema.__class__ is not dict:
                if schema is not True and schema is not False:
                    where = pointer or "#"
                    raise GrammarError(
                        f"{where}: a schema is an object, true or false, not {brief(schema)}", pointer=pointer
                    )
                node = ANYTHING if schema else NOTHING
                break
            known = resource.nodes.get(id(schema) if scope is None else (id(schema), scope))
            if known is not None:
                node = known
                break
            whole = schema
            if self._relaxed or resource.filtered:
                schema = self._relevant(schema, pointer, resource)
            bits, mask, relevant = resource.bits, 0, 0
            for keyword in schema:
                more = bits.get(keyword)
                if more:
                    mask |= more
                    relevant += 1
            if mask & (IDENTITY | REFERENCE):
                if mask & IDENTITY:
                    mask ^= IDENTITY
                    relevant -= 1
                    # a resource is the whole schema, relaxed keywords included
                    inner = self._document.enter(whole, pointer, resource)
                    if inner is not resource:
                        resource = inner
                        if scope is not None:
                            scope = self._document.extend(scope, inner)
                        if inner.bits is not bits:
                            continue
                if mask & REFERENCE and resource.draft <= 7 and "$ref" in schema:
                    mask, relevant = REFERENCE, 1  # its siblings do not count
                if mask == REFERENCE and relevant == 1:
                    passed = passed or set()
                    if id(whole) in passed:
                        raise refers_to_itself(pointer)
                    passed.add(id(whole))  # `schema` may be a copy, without what is not read
                    keyword = next(k for k in ("$ref", "$dynamicRef", "$recursiveRef") if k in schema)
                    schema, pointer, resource, scope = self._follow(schema, keyword, pointer, resource, scope)
                    continue
            node = self._of_schema(schema, pointer, resource, scope, mask)
            resource.nodes[id(schema) if scope is None else (id(schema), scope)] = node
            break
        if start.__class__ is dict:
            home.nodes[id(start) if begun is None else (id(start), begun)] = node
        return node

    def node_of(self, schema: dict[str, Any], pointer: str, atom: SchemaAtom) -> Node:
        """The node of a schema that is not in the document, but read as if it were where the atom is."""
        self._kept.append(schema)
        return self.node_at(schema, pointer, atom.resource, atom.scope)

    def _of_schema(
        self, schema: dict[str, Any], pointer: str, resource: Resource, scope: Scope | None, mask: int
    ) -> Node:
        """The node of a schema that is more than a reference."""
        if not mask:
            return ANYTHING
        if mask & ~(TYPE | STRING | NUMBER):
            self._tick()
            return self._nodes.new(SchemaAtom(schema, pointer, resource, scope, mask))
        if mask == TYPE and schema["type"].__class__ is str and schema["type"] in resource.types:
            return resource.types[schema["type"]]
        # Scalars without lists of values: schemas with the same keywords and values share a node.
        bits = resource.bits
        constraints = tuple(
            [(k, v.__class__, tuple(v) if v.__class__ is list else v) for k, v in schema.items() if bits.get(k)]
        )
        try:
            known = self._nodes.others.get((resource.plain_integers, constraints))
        except TypeError:  # unhashable: an invalid type, or an object as a pattern
            return self._nodes.new(SchemaAtom(schema, pointer, resource, scope, mask))
        if known is None:
            known = self._nodes.others[resource.plain_integers, constraints] = self._nodes.new(
                SchemaAtom(schema, pointer, resource, scope, mask)
            )
        return known

    def _relevant(self, schema: dict[str, Any], pointer: str, resource: Resource) -> dict[str, Any]:
        """The schema without the keywords that do not count here."""
        bits = resource.bits
        kept = {
            k: v
            for k, v in schema.items()
            if (k in bits or k in ("$schema", "$dynamicAnchor", "$recursiveAnchor"))
            and f"{pointer}/{escape(k)}" not in self._relaxed
        }
        if "oneOf" in schema and "oneOf" not in kept and "oneOf" in bits:
            self._moved[id(schema["oneOf"])] = f"{pointer}/oneOf"
            if isinstance(kept.get("allOf", []), list):  # otherwise refused when it is read
                kept["allOf"] = [*kept.get("allOf", []), {"anyOf": schema["oneOf"]}]
        elif len(kept) == len(schema):
            return schema
        self._kept.append(kept)
        return kept

    def _follow(self, schema: dict[str, Any], keyword: str, pointer: str, resource: Resource, scope: Scope | None):
        """The target of a reference: schema, pointer, resource, and the scope there."""
        location: Location | None
        if keyword == "$ref":
            location = self._document.resolve(schema["$ref"], resource, f"{pointer}/$ref")
        else:
            location = self._document.resolve_dynamic(schema, keyword, resource, scope, f"{pointer}/{keyword}")
            if location is None:
                raise NeedsScope
        target, where, home = location
        if scope is not None:
            scope = self._document.extend(scope, home)
        return target, where, home, scope

    def reference(self, atom: SchemaAtom, keyword: str) -> Node:
        return self.node_at(*self._follow(atom.schema, keyword, atom.pointer, atom.resource, atom.scope))

    def _below(self, atom: SchemaAtom, keyword: str, token: str | None) -> str:
        """The pointer of a schema below a keyword; endless ones stop growing."""
        pointer = atom.pointer
        if len(pointer) > LONGEST_POINTER:
            return pointer
        if self._moved and keyword == "anyOf":
            moved = self._moved.get(id(atom.schema[keyword]))
            if moved is not None:
                return f"{moved}/{token}"
        return f"{pointer}/{keyword}" if token is None else f"{pointer}/{keyword}/{escape(token)}"
