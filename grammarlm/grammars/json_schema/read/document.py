"""Schema documents: drafts, identifiers, references.

A **resource** is a schema with its own address: the whole document, or a subschema with `$id`. Most documents are one resource
whose references are `#/...`: those are followed by walking the document, without search or loading. Only a reference by address or
by anchor causes the search for identifiers, once per document; only an address unknown to the document and the caller's registry
loads the drafts' own metaschemas, and only one that they do not have causes the search in the documents of the registry. Nothing is
ever fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from grammarlm.errors import GrammarError, UnsupportedFeature, brief
from grammarlm.grammars.json_schema.nodes.by_type import TYPE_NODES, TYPE_NODES_4
from grammarlm.grammars.json_schema.shapes.shapes import Node

from .keywords import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMA_VALUED, bits_of, bits_of_vocabularies

LATEST = 2020
DRAFTS = {
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
DRAFTS.update({address.replace("http://", "https://"): draft for address, draft in list(DRAFTS.items())})

Scope = tuple[tuple[str, "Resource"], ...]  # bound dynamic anchors, each with the outermost resource that has it
Location = tuple[Any, str, "Resource"]  # a schema, its pointer, its resource


def escape(token: str) -> str:
    """A key as a token of a JSON pointer."""
    if "~" in token or "/" in token:
        return token.replace("~", "~0").replace("/", "~1")
    return token


@dataclass(eq=False, slots=True)
class Resource:
    """A schema with an address. `nodes` is the caller's cache of what has been made of its schemas."""

    address: str  # absolute, without fragment; "" where there is none
    contents: Any
    pointer: str
    draft: int
    bits: dict[str, int]  # the keywords that count
    vocabulary: str  # the `$schema` that selects them
    plain_integers: bool  # is 1.0 no integer?
    filtered: bool  # other keywords may occur, and have to be left out
    names: dict[str, Location] | None = None  # locations by anchor
    dynamic: tuple[str, ...] = ()  # the names that are dynamic; "" for $recursiveAnchor
    nodes: dict[Any, Any] = field(default_factory=dict)
    types: dict[str, Node] = field(init=False)

    def __post_init__(self) -> None:
        self.types = TYPE_NODES_4 if self.plain_integers else TYPE_NODES


class Document:
    """The caller's schema, and everything that its references lead to."""

    def __init__(
        self,
        schema: Any,
        *,
        registry: Mapping[str, Any] | None = None,
        draft: str = "auto",
        formats: str = "assert",
        integers: str = "any",
        tick: Callable[[], None] = lambda: None,
    ):
        self.auto = draft == "auto"
        self.formats = formats == "assert"
        self.plain_integers = integers == "plain"
        self.registry = registry
        self.tick = tick
        self._resources: dict[str, Resource] = {}  # by address
        self._by_contents: dict[int, Resource] = {}
        self._searched: set[int] = set()  # resources whose identifiers are all known
        self._references: dict[tuple[Resource, str], Location] = {}
        # The caller's document and those loaded; kept alive, since their parts are identified by id().
        self.documents: list[Any] = []
        self.root = self._load("", schema, "", LATEST, "")

    def _load(self, address: str, contents: Any, pointer: str, draft: int, vocabulary: str) -> Resource:
        """Registers a document as a resource."""
        self.documents.append(contents)
        resource = self._resource(address, contents, pointer, draft, vocabulary)
        self._resources.setdefault(address, resource)
        self._resources.setdefault(resource.address, resource)
        return resource

    def _resource(self, base: str, contents: Any, pointer: str, draft: int, vocabulary: str) -> Resource:
        known = self._by_contents.get(id(contents)) if isinstance(contents, dict) else None
        if known is not None:
            return known
        address = base
        if isinstance(contents, dict):
            declared = contents.get("$schema")
            outer = draft
            if isinstance(declared, str) and declared.rstrip("#") != vocabulary:
                vocabulary = declared.rstrip("#")
                draft = DRAFTS.get(vocabulary, LATEST)
            # For a schema inside a document the draft around it determines what an identifier is; for a document its own draft.
            address = urljoin(
                base, self._identifier(contents, outer if pointer and "#" not in pointer else draft) or ""
            )
        bits = self._bits(vocabulary, draft)
        is_filtered = not self.auto or bits is not bits_of(draft, True, self.formats)
        plain_integers = self.plain_integers or draft == 4
        resource = Resource(address, contents, pointer, draft, bits, vocabulary, plain_integers, is_filtered)
        if isinstance(contents, dict):
            self._by_contents[id(contents)] = resource
        return resource

    def resource_of(self, contents: Any) -> Resource | None:
        """The resource whose contents these are."""
        return self._by_contents.get(id(contents))

    def has(self, address: str) -> bool:
        """Does the caller's registry have the document?"""
        return self._registered(address) is not None

    def locations(self) -> list[Location]:
        """The targets of the references that were followed."""
        return list(self._references.values())

    def _bits(self, vocabulary: str, draft: int) -> dict[str, int]:
        if vocabulary and vocabulary not in DRAFTS and self.registry:
            metaschema = self._registered(vocabulary)
            listed = metaschema.get("$vocabulary") if isinstance(metaschema, dict) else None
            if isinstance(listed, dict):
                return bits_of_vocabularies(draft, self.formats, frozenset(uri.rsplit("/", 1)[-1] for uri in listed))
        return bits_of(draft, self.auto, self.formats)

    def _identifier(self, schema: dict[str, Any], draft: int) -> str | None:
        """The address in a schema's identifier, without fragment; None where there is none."""
        if draft <= 7 and "$ref" in schema:  # hides the keywords next to it
            return None
        found = schema.get("id" if draft == 4 else "$id")
        return urldefrag(found)[0] or None if isinstance(found, str) else None

    def enter(self, schema: dict[str, Any], pointer: str, resource: Resource) -> Resource:
        """The resource that a schema with `$id` or `id` belongs to: the one around it, or its own."""
        if schema is resource.contents:
            return resource
        if self._identifier(schema, resource.draft) is None:
            return resource
        inner = self._resource(resource.address, schema, pointer, resource.draft, resource.vocabulary)
        self._resources.setdefault(inner.address, inner)
        return inner

    def resolve(self, reference: Any, resource: Resource, pointer: str) -> Location:
        """The target of a reference. `pointer` is the reference's own, for messages."""
        if not isinstance(reference, str):
            raise GrammarError(f"{pointer}: a reference is a string, not {brief(reference)}", pointer=pointer)
        key = (resource, reference)
        found = self._references.get(key)
        if found is None:
            found = self._references[key] = self._resolve(reference, resource, pointer)
        return found

    def _resolve(self, reference: str, resource: Resource, pointer: str) -> Location:
        if reference == "#":
            return resource.contents, resource.pointer, resource
        if reference.startswith("#/"):
            target, fragment = resource, reference[1:]
        else:
            address, fragment = urldefrag(urljoin(resource.address, reference))
            target = resource if address == resource.address else self._find(address, resource, reference, pointer)
        fragment = unquote(fragment)
        if not fragment:
            return target.contents, target.pointer, target
        if fragment.startswith("/"):
            return self._walk(target, fragment, reference, pointer)
        found = self.anchors(target).get(fragment)
        if found is None:
            raise GrammarError(f"{pointer}: {reference!r} names an anchor that does not exist", pointer=pointer)
        return found

    def _find(self, address: str, asking: Resource, reference: str, pointer: str) -> Resource:
        if address not in self._resources:
            for document in self.documents:
                self._search(self._by_contents.get(id(document)))
        found = self._resources.get(address)
        if found is not None:
            return found
        contents = self._registered(address)
        if contents is None:
            contents = _metaschema(address)
        if contents is None and (found := self._embedded(address, asking)) is not None:
            return found
        if contents is None:
            raise UnsupportedFeature(
                f"{pointer}: {reference!r} leads to {address!r}, which is not in the registry; nothing is fetched: "
                f"give the document as registry={{{address!r}: ...}}",
                pointer=pointer,
            )
        loaded = self._load(address, contents, address + "#", asking.draft, asking.vocabulary)
        self._search(loaded)
        return loaded

    def _embedded(self, address: str, asking: Resource) -> Resource | None:
        """The resource whose own identifier is the address, somewhere in a document of the registry."""
        for uri in self.registry or ():
            known = uri.rstrip("#")
            if known not in self._resources:
                self._load(known, self._registered(uri), known + "#", asking.draft, asking.vocabulary)
            self._search(self._resources[known])
        return self._resources.get(address)

    def _registered(self, address: str) -> Any:
        registry = self.registry
        if registry is None:
            return None
        for spelling in (address, address + "#", address.rstrip("#")):
            if spelling in registry:
                return registry[spelling]
        return None

    def _walk(self, target: Resource, path: str, reference: str, pointer: str) -> Location:
        """Follows a JSON pointer through a resource; a subschema with its own address on the path is entered."""
        here, location, resource, reading = target.contents, target.pointer, target, "schema"
        for raw in path[1:].split("/"):
            token = raw.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and token in here:
                here = here[token]
            elif (
                isinstance(here, list)
                and token.isascii()
                and token.isdigit()
                and len(token) < 10
                and int(token) < len(here)
            ):
                here = here[int(token)]
            else:
                raise GrammarError(f"{pointer}: {reference!r} leads nowhere: there is no {raw!r}", pointer=pointer)
            location = f"{location}/{raw}"
            reading = below(reading, token, here)
            if reading == "schema" and isinstance(here, dict) and ("$id" in here or "id" in here):
                resource = self.enter(here, location, resource)
        return here, location, resource

    def anchors(self, resource: Resource) -> dict[str, Location]:
        """The names of locations in a resource."""
        if resource.names is None:
            self._search(resource)
        assert resource.names is not None
        return resource.names

    def _search(self, resource: Resource | None) -> None:
        """Finds the identifiers in a resource, and those in the resources inside it."""
        if resource is None or id(resource.contents) in self._searched:
            return
        for schema, pointer, owner in self.schemas((resource.contents, resource.pointer, resource)):
            self._name(schema, pointer, owner)

    def schemas(self, location: Location, seen: set[Any] | None = None) -> Iterator[Location]:
        """The schemas from a location on, in order of appearance; with `seen`, those that are not in it."""
        stack: list[tuple[Any, str, Resource, str]] = [(*location, "schema")]
        while stack:
            self.tick()
            here, pointer, owner, reading = stack.pop()
            if seen is not None:
                if (id(here), reading) in seen:
                    continue
                seen.add((id(here), reading))
            inside: list[tuple[Any, str, Resource, str]] = []
            if isinstance(here, dict):
                if reading == "schema":
                    owner = self.enter(here, pointer, owner)
                    yield here, pointer, owner
                for keyword, value in here.items():
                    inner = below(reading, keyword, value)
                    if inner != "data" and isinstance(value, dict | list):
                        inside.append((value, f"{pointer}/{escape(keyword)}", owner, inner))
            elif isinstance(here, list) and reading == "list":
                inside = [(value, f"{pointer}/{i}", owner, "schema") for i, value in enumerate(here)]
            stack += reversed(inside)

    def _name(self, schema: dict[str, Any], pointer: str, owner: Resource) -> None:
        if schema is owner.contents:
            self._searched.add(id(schema))
        if owner.names is None:
            owner.names = {}
        location = (schema, pointer, owner)
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = schema.get(keyword)
            if isinstance(name, str):
                owner.names.setdefault(name, location)
                if keyword == "$dynamicAnchor" and name not in owner.dynamic:
                    owner.dynamic += (name,)
        if schema.get("$recursiveAnchor") is True and schema is owner.contents:
            owner.dynamic += ("",)
        if owner.draft <= 7 and "$ref" not in schema:
            for keyword in ("$id", "id"):
                name = schema.get(keyword)
                if isinstance(name, str) and name.startswith("#") and len(name) > 1:
                    owner.names.setdefault(name[1:], location)

    def extend(self, scope: Scope, resource: Resource) -> Scope:
        """The dynamic scope inside a resource: outer bindings take precedence."""
        self.anchors(resource)
        bound = {name for name, _ in scope}
        return scope + tuple((name, resource) for name in resource.dynamic if name not in bound)

    def resolve_dynamic(
        self, schema: dict[str, Any], keyword: str, resource: Resource, scope: Scope | None, pointer: str
    ):
        """The target of `$dynamicRef` or `$recursiveRef` in a dynamic scope; None where it depends on the scope and that is not
        known."""
        reference = schema[keyword]
        location = self.resolve(reference, resource, pointer)
        target, _, home = location
        if not isinstance(target, dict):
            return location
        if keyword == "$recursiveRef":
            name, dynamic = "", target.get("$recursiveAnchor") is True
        else:
            name = unquote(urldefrag(reference)[1])
            dynamic = bool(name) and target.get("$dynamicAnchor") == name
        if not dynamic:
            return location
        if scope is None:
            return None
        outermost = dict(scope).get(name, home)
        if not name:
            return outermost.contents, outermost.pointer, outermost
        return self.anchors(outermost).get(name, location)


def below(reading: str, token: str, value: Any) -> str:
    """What is below a token: "schema", "map" or "list" (of schemas), or "data" (anything else)."""
    if reading == "schema":
        if token in SCHEMA_MAPS:
            return "map"
        if token in SCHEMA_LISTS and isinstance(value, list):
            return "list"
        return "schema" if token in SCHEMA_VALUED else "data"
    return "schema" if reading in ("map", "list") else "data"


def _metaschema(address: str) -> Any:
    if "json-schema.org" not in address:
        return None
    from jsonschema_specifications import REGISTRY

    for spelling in (address, address + "#"):
        try:
            return REGISTRY.contents(spelling)
        except LookupError:
            continue
    return None
