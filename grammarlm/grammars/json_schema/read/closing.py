"""extra="forbid": closes the objects of a written schema against undeclared keys.

    {"properties": {"a": A}}                                 + "additionalProperties": false
    {"properties": {"a": A}, "allOf": [{"$ref": B}]}         + "unevaluatedProperties": false: what any part declares may come
    {"anyOf": [A, B]}                                        A and B, each by itself
    {"oneOf": [A, B]}                                        likewise, where a constant distinguishes them

An **entry** is the first schema that applies to a value: the root, and what is below `properties`, `items` and the like. It
**applies** others to the same value (`allOf`, `$ref`, `then`, ...). An entry is closed where it or a schema that it applies
declares properties, and no keyword is about other ones: no additionalProperties, unevaluatedProperties or patternProperties.
Conditions (`not`, `if`, `contains`, `propertyNames`, branches of a `oneOf` that only counting distinguishes) stay as they are, so
that every text of the closed schema is valid under the original one. Names in `required` count as declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from grammarlm.errors import LimitExceeded, UnsupportedFeature

from .document import Document, Location, Resource, escape
from .keywords import SCHEMA_LISTS, SCHEMA_MAPS

ENTRY, APPLIED, CONDITION = 1, 2, 4
SAYS = ("additionalProperties", "unevaluatedProperties", "patternProperties")
BELOW = frozenset(["items", "prefixItems", "additionalItems", "unevaluatedItems", "properties", *SAYS])
APPLICATORS = frozenset(["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies", "$ref"])
CONDITIONS = frozenset(["not", "if", "contains", "propertyNames"])
MOST_LOCATIONS = 1_000_000  # of a schema with shared parts
FIRST_WITH_UNEVALUATED = 2019


def close_objects(
    schema: Any, registry: Mapping[str, Any] | None = None, draft: str = "auto", tick: Callable[[], None] = lambda: None
) -> Any:
    """A copy of the schema whose objects are closed."""
    return _Closing(unshared(schema, tick), registry, draft, tick).run() if isinstance(schema, dict) else schema


def unshared(schema: Any, tick: Callable[[], None]) -> Any:
    """A copy in which nothing is shared between locations: one dict may be a condition here and a description there."""
    root: list[Any] = [schema]
    todo: list[Any] = [root]
    for count, here in enumerate(todo):  # grows during the loop
        tick()
        if count > MOST_LOCATIONS:
            raise LimitExceeded(f"the schema has more than {MOST_LOCATIONS:,} places when it is written out")
        for key, value in list(here.items() if isinstance(here, dict) else enumerate(here)):
            if isinstance(value, (dict, list, tuple)):
                here[key] = dict(value) if isinstance(value, dict) else list(value)
                todo.append(here[key])
    return root[0]


class _Closing:
    def __init__(
        self, schema: dict[str, Any], registry: Mapping[str, Any] | None, draft: str, tick: Callable[[], None]
    ):
        self.schema, self.declared, self.tick = schema, draft == "declared", tick
        self.document = Document(schema, registry=registry, draft=draft, tick=tick)
        self.roles: dict[int, int] = {}  # by id of a schema: all roles that it has anywhere
        self.locations: dict[int, Location] = {}

    def run(self) -> Any:
        self._mark()
        for location in list(self.locations.values()):
            if self.roles[id(location[0])] & ENTRY:
                self._close(location)
        return self.schema

    def _mark(self) -> None:
        todo: list[tuple[Any, str, Resource, int]] = [(self.schema, "", self.document.root, ENTRY)]
        while todo:
            self.tick()
            schema, pointer, resource, role = todo.pop()
            if not isinstance(schema, dict) or self.roles.get(id(schema), 0) & role:
                continue
            resource = self.document.enter(schema, pointer, resource)
            self.roles[id(schema)] = self.roles.get(id(schema), 0) | role
            self.locations[id(schema)] = (schema, pointer, resource)
            for keyword, inner, where, home in self._children((schema, pointer, resource)):
                todo.append((inner, where, home, self._role(schema, keyword, role)))

    def _children(self, location: Location) -> Iterator[tuple[str, Any, str, Resource]]:
        schema, pointer, resource = location
        for keyword, value in schema.items():
            where = f"{pointer}/{escape(keyword)}"
            if keyword in ("$dynamicRef", "$recursiveRef"):
                raise UnsupportedFeature(
                    f"{where}: extra='forbid' does not follow {keyword}: say additionalProperties in the schema itself",
                    pointer=where,
                )
            if keyword == "$ref":
                target, at, home = self.document.resolve(value, resource, where)
                if at and not at.startswith("/"):
                    raise UnsupportedFeature(
                        f"{where}: extra='forbid' follows references inside one document; {value!r:.80} leads out of it: say "
                        "additionalProperties in the schemas themselves",
                        pointer=where,
                    )
                yield keyword, target, at, home
            elif keyword not in BELOW | APPLICATORS | CONDITIONS:
                continue
            elif keyword in SCHEMA_MAPS and isinstance(value, dict):
                for name, inner in value.items():
                    yield keyword, inner, f"{where}/{escape(name)}", resource
            elif keyword in SCHEMA_LISTS and isinstance(value, list):
                for i, inner in enumerate(value):
                    yield keyword, inner, f"{where}/{i}", resource
            else:
                yield keyword, value, where, resource

    def _role(self, schema: dict[str, Any], keyword: str, role: int) -> int:
        if role == CONDITION or keyword in CONDITIONS:
            return CONDITION
        if keyword in BELOW:
            return ENTRY
        if keyword == "oneOf" and not told_apart(schema["oneOf"]):
            return CONDITION
        # An unevaluated keyword looks at what the other says: there it must declare no more than it did.
        alone = not (schema.keys() & (APPLICATORS | {"properties", "if", "unevaluatedProperties"})) - {keyword}
        return ENTRY if role == ENTRY and alone and keyword in ("anyOf", "oneOf", "$ref") else APPLIED

    def _close(self, location: Location) -> None:
        schema, pointer, resource = location
        if any(word in schema for word in SAYS):
            return
        own, others, required, has_patterns = self._declared(location)
        if has_patterns or not (own or others is not None) or own != ("properties" in schema):
            return  # properties that are no object are refused when they are read
        if self.roles[id(schema)] & CONDITION:
            raise UnsupportedFeature(
                f"{pointer or '#'}: extra='forbid' does not close what is a condition (not, if, contains, oneOf) and a description "
                "at once: say additionalProperties in the schema itself",
                pointer=pointer,
            )
        if not isinstance(schema.get("allOf", []), list):
            return  # refused when it is read
        if own and not self.roles[id(schema)] & APPLIED and (others or set()) <= schema["properties"].keys():
            schema["properties"].update({name: True for name in required if name not in schema["properties"]})
            schema["additionalProperties"] = False
            return
        if self.roles[id(schema)] & APPLIED:
            return  # closed as an entry: at the references to it
        if self.declared and resource.draft < FIRST_WITH_UNEVALUATED:
            raise UnsupportedFeature(
                f"{pointer or '#'}: extra='forbid' says unevaluatedProperties here, which the declared draft does not know: use "
                "draft='auto'",
                pointer=pointer,
            )
        missing = required - (others or set()) - schema.get("properties", {}).keys()
        if "$ref" in schema:  # up to draft 7 `$ref` hides keywords next to it
            schema.setdefault("allOf", []).append({"$ref": schema.pop("$ref")})
        if missing:
            schema["properties"] = {**schema.get("properties", {}), **dict.fromkeys(sorted(missing), True)}
        schema["unevaluatedProperties"] = False

    def _declared(self, location: Location) -> tuple[bool, set[str] | None, set[str], bool]:
        """Does it declare properties; the names that those it applies declare, None if none does; the required names; are there
        patterns?"""
        schema = location[0]
        others: set[str] | None = None
        required, has_patterns = _required(schema), False
        seen, todo = {id(schema)}, self._applied(location, True)
        while todo:
            part = todo.pop()
            inner = part[0]
            if not isinstance(inner, dict) or id(inner) in seen:
                continue
            seen.add(id(inner))
            has_patterns = has_patterns or "patternProperties" in inner
            if _declares(inner) and not any(word in inner for word in SAYS):
                others = (others or set()) | set(inner["properties"])
            required |= _required(inner)
            todo += self._applied(part, False)
        return _declares(schema), others, required, has_patterns

    def _applied(self, location: Location, is_entry: bool) -> list[Location]:
        """The other schemas of the same value that are not closed on their own."""
        schema = location[0]
        found: list[Location] = []
        for keyword, inner, where, home in self._children(location):
            if keyword in APPLICATORS or keyword == "if":
                role = self._role(schema, keyword, ENTRY if is_entry else APPLIED)
                by_itself = role == ENTRY and isinstance(inner, dict) and self.roles.get(id(inner)) == ENTRY
                if not by_itself:
                    found.append((inner, where, home))
        return found


def _declares(schema: dict[str, Any]) -> bool:
    return isinstance(schema.get("properties"), dict)


def _required(schema: dict[str, Any]) -> set[str]:
    names = schema.get("required")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def told_apart(branches: Any) -> bool:
    """Does a type, or a required property with a constant, distinguish each branch from each other?"""
    if not isinstance(branches, list) or not all(isinstance(branch, dict) for branch in branches):
        return False
    if all(isinstance(branch.get("type"), str) for branch in branches):
        types = [branch["type"] for branch in branches]
        if len(set(types)) == len(types) and not {"integer", "number"} <= set(types):
            return True
    tags = [_tags(branch) for branch in branches]
    names = set.intersection(*(set(tag) for tag in tags)) if tags else set()
    return any(len({tag[name] for tag in tags}) == len(tags) for name in names)


def _tags(branch: dict[str, Any]) -> dict[str, str]:
    """Required properties that are string constants: name -> constant."""
    properties = branch.get("properties")
    if branch.get("type") != "object" or not isinstance(properties, dict):
        return {}
    found = {}
    for name in _required(branch):
        value = properties.get(name)
        constant = value.get("const") if isinstance(value, dict) else None
        if isinstance(constant, str):
            found[name] = constant
    return found
