"""What JSON Schema says of an instance: the `jsonschema` library, with what it gets wrong or leaves open settled.

    valid({"type": "integer"}, "1.0")   # True; a text is read as JSON, anything else is a value

What is changed in the library: patterns are ECMA's (ecma_regex), numbers are exact fractions, texts with a key twice or half a
surrogate pair are no instances, equality is by value (1 and 1.0, not 1 and true), `unevaluated*` sees what the specification says,
`$id`s inside of `not`, `if`, `oneOf` and `contains` are followed, nothing is fetched from anywhere, `regex` means ECMA's.

Readings: with draft="auto" the newer keywords count whatever draft `$schema` names, and so do the older ones, while `$ref` hides
its siblings up to draft 7 and 1.0 is no integer in draft 4. draft="declared" is the letter of the declared draft.

Known deviations that are left, so that a difference there is no finding (test_json_schema_oracle.py has them by name):

- formats are looser than their standards: `email` asks for an @ only, `hostname` takes labels that IDNA forbids, `duration` has
  signs and fractions, `uri-template` nearly everything; leap seconds are refused, and so are some IRIs. LOOSE has the names.
- `contentEncoding`, `contentMediaType`, vocabularies of own metaschemas: not looked at.
- draft="auto" on `$id`, `$anchor` and their like: those of the declared draft count.
- a `$ref` that leads back to itself without an object or array between, and what is no schema (`type: "any"`): NoVerdict.
"""

import functools
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import jsonschema
import jsonschema.exceptions
import referencing
import referencing.exceptions
import referencing.jsonschema
from jsonschema import _legacy_keywords, validators

from tests.oracles import ecma_regex
from tests.oracles.json_values import NoJson, exact, identity, read_json

OLDEST, NEWEST = "draft4", "draft2020-12"
_STOCK: dict[str, Any] = {
    "draft4": jsonschema.Draft4Validator,
    "draft6": jsonschema.Draft6Validator,
    "draft7": jsonschema.Draft7Validator,
    "draft2019-09": jsonschema.Draft201909Validator,
    "draft2020-12": jsonschema.Draft202012Validator,
}
_NAMES = re.compile(r"https?://json-schema\.org/(draft-0[34567]|draft/2019-09|draft/2020-12)/schema#?$")
_LOOSE_ANYWHERE = ("email", "hostname", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "duration")
LOOSE = frozenset([*_LOOSE_ANYWHERE, "idn-email", "idn-hostname", "relative-json-pointer", "date-time", "time"])
# The keywords below which schemas stand: one, one or a list of them, named ones.
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_ADDITIONAL = ("additionalItems", "additionalProperties")
_ONE = frozenset(["not", "if", "then", "else", "contains", "propertyNames", *_UNEVALUATED, *_ADDITIONAL])
_MANY = frozenset(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
_NAMED = frozenset(["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"])
# What the library forgets to ask of a format.
_SHAPES = {
    "date-time": re.compile(r"[0-9TtZz:.+-]*"),
    "uuid": re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}


class NoVerdict(Exception):
    """The library cannot judge: the schema is broken, refers to what is not there, or recurses for ever."""


def valid(
    schema: Any,
    instance: Any,
    draft: str = "auto",
    *,
    formats: str = "assert",
    registry: "dict[str, Any] | None" = None,
) -> bool:
    """Whether the instance, a JSON text (str or bytes) or a value (anything else), is valid. Use Judge for many instances."""
    judge = Judge(schema, draft, formats=formats, registry=registry)
    return judge.valid(instance) if isinstance(instance, (str, bytes)) else judge.valid_value(instance)


class Judge:
    """One schema, read once."""

    def __init__(
        self, schema: Any, draft: str = "auto", *, formats: str = "assert", registry: "dict[str, Any] | None" = None
    ):
        schema = exact(schema)
        self.draft = declared(schema)
        kind = _kinds(draft)[self.draft]
        documents = {uri.rstrip("#"): document for uri, document in (registry or {}).items()}

        def retrieve(uri: str) -> Any:
            if uri not in documents:
                raise referencing.exceptions.NoSuchResource(ref=uri)
            default = _specification(self.draft)
            return referencing.Resource.from_contents(exact(documents[uri]), default_specification=default)

        checker = _formats(draft, self.draft) if formats == "assert" else None
        try:
            known = referencing.Registry(retrieve=retrieve)  # type: ignore[call-arg]
            root = referencing.Resource(
                schema, _crawling(self.draft) if draft == "auto" else _specification(self.draft)
            )
            resolver = jsonschema.validators.SPECIFICATIONS.combine(known).resolver_with_root(root)
            self._validator = kind(schema, format_checker=checker, registry=known, _resolver=resolver)
        except Exception as error:  # whatever a schema of no shape at all does to the library
            raise NoVerdict(repr(error)[:300]) from error

    def valid(self, text: "str | bytes") -> bool:
        """Whether the text is a JSON document and its value is valid."""
        try:
            value = read_json(text)
        except NoJson:
            return False
        return self.valid_value(value)

    def valid_value(self, value: Any) -> bool:
        try:
            return bool(self._validator.is_valid(exact(value)))
        except Exception as error:  # a broken schema makes the library raise anything
            raise NoVerdict(repr(error)[:300]) from error


def declared(schema: Any, default: str = NEWEST) -> str:
    """The draft that `$schema` names; draft 3 is read as draft 4."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    found = _NAMES.match(name) if isinstance(name, str) else None
    if found is None:
        return default
    number = found[1].removeprefix("draft-0").removeprefix("draft/")
    return OLDEST if number in "34" else f"draft{number}"


def formats_are_loose(schema: Any) -> bool:
    """Whether the schema has a format somewhere that the library checks less strictly than its standard says."""
    if isinstance(schema, dict):
        named = schema.get("format")
        return (isinstance(named, str) and named in LOOSE) or any(map(formats_are_loose, schema.values()))
    return isinstance(schema, list) and any(map(formats_are_loose, schema))


Keyword = Callable[[Any, Any, Any, Any], "Iterator[Any] | None"]


@functools.lru_cache
def _kinds(reading: str) -> dict[str, Any]:
    """The validator class of each draft, under a reading."""
    made: dict[str, Any] = {}
    for name, stock in _STOCK.items():
        table = dict(stock.VALIDATORS)
        if reading == "auto":
            table = {**_STOCK[NEWEST].VALIDATORS, **_OLDER_AND_NEWER}
        elif reading != "declared":
            raise ValueError(f"draft={reading!r}: there are auto and declared")
        table.update({keyword: ours for keyword, ours in _EXACT.items() if keyword in table})
        made[name] = validators.create(
            stock.META_SCHEMA,
            table,
            type_checker=stock.TYPE_CHECKER.redefine("integer", _integers(name)),
            format_checker=stock.FORMAT_CHECKER,
            id_of=stock.ID_OF,
            applicable_validators=functools.partial(_applicable, hidden=_hides_siblings(name)),
        )
        made[name].DRAFT = name
        made[name].COUNTS_CONTAINS = reading == "auto" or name.startswith("draft2")
    for kind in made.values():
        kind.evolve = functools.partialmethod(_evolve, kinds=made)
    return made


def _evolve(self: Any, *, kinds: dict[str, Any], **changes: Any) -> Any:
    """A validator for another schema; a resource inside that names a draft of its own is read by that draft."""
    schema = changes.setdefault("schema", self.schema)
    for name, alias in (
        ("format_checker", "format_checker"),
        ("_registry", "registry"),
        ("_resolver", "_resolver"),
    ):
        changes.setdefault(alias, getattr(self, name))
    return kinds[declared(schema, self.DRAFT)](**changes)


def _applicable(schema: Any, hidden: bool) -> Any:
    if hidden and "$ref" in schema:
        return [("$ref", schema["$ref"])]
    return schema.items()


def _hides_siblings(draft: str) -> bool:
    return draft in ("draft4", "draft6", "draft7")


def _specification(draft: str) -> Any:
    return referencing.jsonschema.specification_with(_STOCK[draft].META_SCHEMA.get("$schema"))


@functools.lru_cache
def _crawling(draft: str) -> Any:
    """The draft's rules for ids and anchors, looked for below the keywords of all drafts."""
    drafts = _specification(draft)
    return referencing.Specification(
        name=draft,
        id_of=drafts.id_of,
        subresources_of=_subschemas,
        anchors_in=drafts._anchors_in,
        maybe_in_subresource=drafts.maybe_in_subresource,
    )


def _subschemas(schema: Any) -> Iterator[Any]:
    """The subschemas of a schema that may have ids and anchors: no boolean has."""
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            found = [value] if keyword in _ONE else value if keyword in _MANY else []
            found = list(value.values()) if keyword in _NAMED and isinstance(value, dict) else found
            yield from (each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict))


def _integers(draft: str) -> Callable[[Any, Any], bool]:
    def is_integer(_checker: Any, value: Any) -> bool:
        if isinstance(value, Fraction):
            return draft != "draft4" and value.denominator == 1
        return isinstance(value, int) and not isinstance(value, bool)

    return is_integer


@functools.lru_cache
def _formats(reading: str, draft: str) -> Any:
    stock = _STOCK[NEWEST if reading == "auto" else draft].FORMAT_CHECKER
    checker = jsonschema.FormatChecker(())
    checker.checkers = {**stock.checkers, "regex": (_is_pattern, ())}
    for name, shape in _SHAPES.items():
        if name in stock.checkers:
            library, errors = stock.checkers[name]
            checker.checkers[name] = functools.partial(_has_shape_too, library=library, shape=shape), errors
    return checker


def _has_shape_too(value: Any, library: Callable[[Any], bool], shape: "re.Pattern[str]") -> bool:
    return library(value) and (not isinstance(value, str) or shape.fullmatch(value) is not None)


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, str):
        return True
    try:
        ecma_regex.compiled(value)
    except ecma_regex.BrokenPattern:
        return False
    return True


def _inside(validator: Any, schema: Any, resolver: Any = None) -> Any:
    """The validator of a subschema, its `$id` taken into account."""
    if resolver is None and isinstance(schema, bool):  # draft 4 of the library knows none
        resolver = validator._resolver
    elif resolver is None:
        resolver = validator._resolver.in_subresource(_specification(validator.DRAFT).create_resource(schema))
    return validator.evolve(schema=schema, _resolver=resolver)


def _holds(validator: Any, schema: Any, instance: Any) -> bool:
    return _inside(validator, schema).is_valid(instance)


def _rejects(verdict: Callable[[Any, Any, Any, Any], bool], *types: str) -> Keyword:
    """A keyword from a function that says whether an instance of one of the types breaks it."""

    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if (not types or any(validator.is_type(instance, name) for name in types)) and verdict(
            validator, value, instance, schema
        ):
            yield jsonschema.exceptions.ValidationError("rejected")

    return keyword


def _each(members: Callable[[Any, Any, Any], Iterator[tuple[Any, Any]]], name: str) -> Keyword:
    """A keyword that applies schemas to members of an instance."""

    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, name):
            for member, subschema in members(value, instance, schema):
                yield from validator.descend(member, subschema)

    return keyword


def _bound(name: str, broken: Callable[[Any, Any], bool], equal_too: Callable[[Any, Any], bool], twin: str) -> Keyword:
    """minimum or maximum; in the reading that has it, the boolean exclusive* beside it makes the bound open."""

    def verdict(_validator: Any, bound: Any, instance: Any, schema: Any) -> bool:
        return equal_too(instance, bound) if schema.get(twin) is True else broken(instance, bound)

    return _rejects(verdict, "number")


def _items(value: Any, instance: Any, schema: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, list):
        return iter(list(zip(instance, value, strict=False)))
    return ((item, value) for item in instance[len(schema.get("prefixItems", ())) :])


def _additional_items(value: Any, instance: Any, schema: Any) -> Iterator[tuple[Any, Any]]:
    before = schema.get("items")
    return ((item, value) for item in instance[len(before) :]) if isinstance(before, list) else iter(())


def _by_pattern(value: Any, instance: Any, _schema: Any) -> Iterator[tuple[Any, Any]]:
    for pattern, subschema in value.items():
        ecma_regex.compiled(pattern)
        for key, member in instance.items():
            if ecma_regex.found(pattern, key):
                yield member, subschema


def _others(schema: Any, instance: Any) -> list[str]:
    """The keys that neither `properties` nor `patternProperties` beside has."""
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [k for k in instance if k not in named and not any(ecma_regex.found(p, k) for p in patterns)]


def _dependencies(validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for key, dependency in value.items():
        if key not in instance:
            continue
        if isinstance(dependency, list):
            if any(each not in instance for each in dependency):
                yield jsonschema.exceptions.ValidationError("rejected")
        else:
            yield from validator.descend(instance, dependency)


def _contains(validator: Any, value: Any, instance: Any, schema: Any) -> bool:
    counted = sum(_holds(validator, value, item) for item in instance)
    least, most = (schema.get("minContains", 1), schema.get("maxContains")) if validator.COUNTS_CONTAINS else (1, None)
    return counted < least or (most is not None and counted > most)


def _all_different(_validator: Any, value: Any, instance: Any, _schema: Any) -> bool:
    return bool(value) and len({identity(item) for item in instance}) < len(instance)


def _one_of(validator: Any, value: Any, instance: Any, _schema: Any) -> bool:
    return sum(_holds(validator, each, instance) for each in value) != 1


def _conditional(validator: Any, value: Any, instance: Any, schema: Any) -> bool:
    branch = "then" if _holds(validator, value, instance) else "else"
    return branch in schema and not _holds(validator, schema[branch], instance)


def _no_multiple(_validator: Any, value: Any, instance: Any, _schema: Any) -> bool:
    return Fraction(instance) % Fraction(value) != 0


def _pattern(_validator: Any, value: Any, instance: Any, _schema: Any) -> bool:
    return not ecma_regex.found(value, instance)


def _unevaluated(validator: Any, value: Any, instance: Any, _schema: Any) -> bool:
    """Both unevaluated keywords: the rest is held against the value."""
    here = {k: v for k, v in validator.schema.items() if k not in ("unevaluatedItems", "unevaluatedProperties")}
    seen = _evaluated(validator, here, instance)
    members = instance.items() if isinstance(instance, dict) else enumerate(instance)
    return any(not _holds(validator, value, member) for place, member in members if place not in seen)


def _evaluated(validator: Any, schema: Any, instance: Any) -> set[Any]:
    """The keys or positions of a valid instance that a schema's keywords have looked at."""
    if not isinstance(schema, dict):
        return set()
    if _hides_siblings(validator.DRAFT) and "$ref" in schema:
        schema = {"$ref": schema["$ref"]}
    known = {k: v for k, v in schema.items() if k in validator.VALIDATORS or k in ("then", "else")}
    seen = _evaluated_here(validator, known, instance)
    for inner, subschema in _applied_in_place(validator, known, instance):
        if inner.is_valid(instance):
            seen |= _evaluated(inner, subschema, instance)
    return seen


def _evaluated_here(validator: Any, schema: dict[str, Any], instance: Any) -> set[Any]:
    seen: set[Any] = set()
    if isinstance(instance, dict):
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            return set(instance)
        return set(instance) - set(_others(schema, instance))
    if "unevaluatedItems" in schema:
        return set(range(len(instance)))
    for keyword in ("prefixItems", "items"):
        if isinstance(schema.get(keyword), list):
            seen |= set(range(len(schema[keyword])))
    if ("items" in schema and not isinstance(schema["items"], list)) or (
        "additionalItems" in schema and isinstance(schema.get("items"), list)
    ):
        return set(range(len(instance)))
    if "contains" in schema and validator.DRAFT != "draft2019-09":
        seen |= {place for place, item in enumerate(instance) if _holds(validator, schema["contains"], item)}
    return seen


def _applied_in_place(validator: Any, schema: dict[str, Any], instance: Any) -> Iterator[tuple[Any, Any]]:
    """The subschemas that apply to the instance itself, each with its validator."""
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            target = validator._resolver.lookup(schema[keyword])
            yield _inside(validator, target.contents, target.resolver), target.contents
    if "$recursiveRef" in schema:
        target = referencing.jsonschema.lookup_recursive_ref(validator._resolver)
        yield _inside(validator, target.contents, target.resolver), target.contents
    branches = [each for keyword in ("allOf", "anyOf", "oneOf") for each in schema.get(keyword, ())]
    for keyword in ("dependentSchemas", "dependencies"):
        named = schema.get(keyword, {}) if isinstance(instance, dict) else {}
        branches += [each for key, each in named.items() if key in instance and not isinstance(each, list)]
    if "if" in schema:
        branches.append(schema["if"])
        branch = "then" if _holds(validator, schema["if"], instance) else "else"
        branches += [schema[branch]] if branch in schema else []
    for each in branches:
        yield _inside(validator, each), each


# In the reading of all keywords: what the newest draft does not have, or has otherwise.
_OLDER_AND_NEWER: dict[str, Any] = {
    "items": _each(_items, "array"),
    "additionalItems": _each(_additional_items, "array"),
    "dependencies": _dependencies,
    "$recursiveRef": _legacy_keywords.recursiveRef,
    "minimum": _bound("minimum", lambda a, b: a < b, lambda a, b: a <= b, "exclusiveMinimum"),
    "maximum": _bound("maximum", lambda a, b: a > b, lambda a, b: a >= b, "exclusiveMaximum"),
    "exclusiveMinimum": _rejects(lambda _v, b, a, _s: not isinstance(b, bool) and a <= b, "number"),
    "exclusiveMaximum": _rejects(lambda _v, b, a, _s: not isinstance(b, bool) and a >= b, "number"),
}

# In every reading, where the draft has the keyword.
_EXACT: dict[str, Any] = {
    "patternProperties": _each(_by_pattern, "object"),
    "additionalProperties": _each(lambda v, i, s: ((i[k], v) for k in _others(s, i)), "object"),
    "pattern": _rejects(_pattern, "string"),
    "multipleOf": _rejects(_no_multiple, "number"),
    "uniqueItems": _rejects(_all_different, "array"),
    "enum": _rejects(lambda _v, values, i, _s: identity(i) not in {identity(v) for v in values}),
    "const": _rejects(lambda _v, value, i, _s: identity(i) != identity(value)),
    "contains": _rejects(_contains, "array"),
    "not": _rejects(lambda v, schema, i, _s: _holds(v, schema, i)),
    "oneOf": _rejects(_one_of),
    "anyOf": _rejects(lambda v, schemas, i, _s: not any(_holds(v, each, i) for each in schemas)),
    "if": _rejects(_conditional),
    "unevaluatedProperties": _rejects(_unevaluated, "object"),
    "unevaluatedItems": _rejects(_unevaluated, "array"),
    "dependentRequired": _rejects(
        lambda _v, value, i, _s: any(k in i and any(each not in i for each in needed) for k, needed in value.items()),
        "object",
    ),
}
__all__ = ["LOOSE", "NEWEST", "Judge", "NoVerdict", "declared", "formats_are_loose", "valid"]
