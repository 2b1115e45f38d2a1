"""The keywords of JSON Schema as the oracle reads them: exact, ECMA's patterns, `unevaluated*` as the specification has it.

In the form that the `jsonschema` library takes: a function of (validator, keyword's value, instance, schema) that yields errors.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import jsonschema
import jsonschema.exceptions
import referencing.jsonschema
from jsonschema import _legacy_keywords

from tests.oracles import ecma_regex
from tests.oracles.json_values import identity

STOCK: dict[str, Any] = {
    "draft4": jsonschema.Draft4Validator,
    "draft6": jsonschema.Draft6Validator,
    "draft7": jsonschema.Draft7Validator,
    "draft2019-09": jsonschema.Draft201909Validator,
    "draft2020-12": jsonschema.Draft202012Validator,
}
Keyword = Callable[[Any, Any, Any, Any], "Iterator[Any] | None"]


def hides_siblings(draft: str) -> bool:
    return draft in ("draft4", "draft6", "draft7")


def specification(draft: str) -> Any:
    return referencing.jsonschema.specification_with(STOCK[draft].META_SCHEMA.get("$schema"))


def _inside(validator: Any, schema: Any, resolver: Any = None) -> Any:
    """The validator of a subschema, its `$id` taken into account."""
    if resolver is None and isinstance(schema, bool):  # draft 4 of the library knows none
        resolver = validator._resolver
    elif resolver is None:
        resolver = validator._resolver.in_subresource(specification(validator.DRAFT).create_resource(schema))
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
    if hides_siblings(validator.DRAFT) and "$ref" in schema:
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
OLDER_AND_NEWER: dict[str, Any] = {
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
EXACT: dict[str, Any] = {
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
