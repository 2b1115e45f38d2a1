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
from jsonschema import validators

from tests.oracles import ecma_regex
from tests.oracles.json_keywords import EXACT, OLDER_AND_NEWER, STOCK, hides_siblings, specification
from tests.oracles.json_values import NoJson, exact, read_json

OLDEST, NEWEST = "draft4", "draft2020-12"
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
    "hostname": re.compile(r"(?s).*[^.\n]"),
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
            default = specification(self.draft)
            return referencing.Resource.from_contents(exact(documents[uri]), default_specification=default)

        checker = _formats(draft, self.draft) if formats == "assert" else None
        try:
            known = referencing.Registry(retrieve=retrieve)  # type: ignore[call-arg]
            root = referencing.Resource(schema, _crawling(self.draft) if draft == "auto" else specification(self.draft))
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


@functools.lru_cache
def _kinds(reading: str) -> dict[str, Any]:
    """The validator class of each draft, under a reading."""
    made: dict[str, Any] = {}
    for name, stock in STOCK.items():
        table = dict(stock.VALIDATORS)
        if reading == "auto":
            table = {**STOCK[NEWEST].VALIDATORS, **OLDER_AND_NEWER}
        elif reading != "declared":
            raise ValueError(f"draft={reading!r}: there are auto and declared")
        table.update({keyword: ours for keyword, ours in EXACT.items() if keyword in table})
        made[name] = validators.create(
            stock.META_SCHEMA,
            table,
            type_checker=stock.TYPE_CHECKER.redefine("integer", _integers(name)),
            format_checker=stock.FORMAT_CHECKER,
            id_of=stock.ID_OF,
            applicable_validators=functools.partial(_applicable, hidden=hides_siblings(name)),
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


@functools.lru_cache
def _crawling(draft: str) -> Any:
    """The draft's rules for ids and anchors, looked for below the keywords of all drafts."""
    drafts = specification(draft)
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
    stock = STOCK[NEWEST if reading == "auto" else draft].FORMAT_CHECKER
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
