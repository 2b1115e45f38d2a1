"""The keywords, what each is about, and which drafts have it.

    auto        every keyword of every draft counts, whatever `$schema` says: `const` in a draft-04 schema means what its author
                meant (identifiers excepted: draft 4 has `id`, the others have `$id`)
    declared    only those of the declared draft (and of its vocabularies)

A schema whose keywords have no bit here admits all values.
"""

from __future__ import annotations

from functools import cache

TYPE, STRING, NUMBER, OBJECT, ARRAY, VALUES, COMBINE, REFERENCE, UNEVALUATED, IDENTITY = (1 << i for i in range(10))
PLAIN = TYPE | STRING | NUMBER | OBJECT | ARRAY | VALUES  # read without the alternatives of another schema

# The drafts: 4, 6, 7, 2019 (2019-09), 2020 (2020-12).
_FOREVER = 9999
_TABLE: dict[str, tuple[int, int, int]] = {  # (first draft, last draft, bits)
    keyword: (first, last, bits)
    for keywords, first, last, bits in (
        ("type", 4, _FOREVER, TYPE),
        ("enum", 4, _FOREVER, VALUES),
        ("const", 6, _FOREVER, VALUES),
        ("minLength maxLength pattern format", 4, _FOREVER, STRING),
        ("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", 4, _FOREVER, NUMBER),
        ("properties patternProperties additionalProperties required minProperties maxProperties", 4, _FOREVER, OBJECT),
        ("propertyNames", 6, _FOREVER, OBJECT | COMBINE),
        ("dependencies", 4, 7, OBJECT | COMBINE),
        ("dependentRequired", 2019, _FOREVER, OBJECT),
        ("dependentSchemas", 2019, _FOREVER, COMBINE),
        ("items", 4, _FOREVER, ARRAY),
        ("prefixItems", 2020, _FOREVER, ARRAY),
        ("additionalItems", 4, 2019, ARRAY),
        ("minItems maxItems uniqueItems", 4, _FOREVER, ARRAY),
        ("contains", 6, _FOREVER, ARRAY),
        ("minContains maxContains", 2019, _FOREVER, ARRAY),
        ("allOf anyOf oneOf not", 4, _FOREVER, COMBINE),
        ("if", 7, _FOREVER, COMBINE),
        ("then else", 7, _FOREVER, 0),  # no effect without `if`
        ("unevaluatedProperties unevaluatedItems", 2019, _FOREVER, UNEVALUATED),
        ("$ref", 4, _FOREVER, REFERENCE),
        ("$recursiveRef", 2019, 2019, REFERENCE),
        ("$dynamicRef", 2020, _FOREVER, REFERENCE),
        ("$id", 6, _FOREVER, IDENTITY),
        ("id", 4, 4, IDENTITY),
    )
    for keyword in keywords.split()
}

KEYWORDS = frozenset(_TABLE)

# Keywords that contain schemas, for the search for identifiers and for the report.
SCHEMA_VALUED = frozenset([
    "additionalProperties", "propertyNames", "additionalItems", "contains", "not", "if", "then", "else", "unevaluatedProperties",
    "unevaluatedItems", "items", "contentSchema",
])  # fmt: skip
SCHEMA_LISTS = frozenset(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
SCHEMA_MAPS = frozenset(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"])

VOCABULARIES = {
    "applicator": "prefixItems items contains additionalItems additionalProperties properties patternProperties dependentSchemas "
    "propertyNames if then else allOf anyOf oneOf not unevaluatedItems unevaluatedProperties",
    "unevaluated": "unevaluatedItems unevaluatedProperties",
    "validation": "type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern "
    "maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired",
    "format-assertion": "format",
    "format-annotation": "format",
    "format": "format",
    "core": "$ref $dynamicRef $recursiveRef $id",
}


@cache
def bits_of(draft: int, auto: bool, formats: bool) -> dict[str, int]:
    """The bits of each keyword that counts. `formats`: does `format` assert?"""
    found = {}
    for keyword, (first, last, bits) in _TABLE.items():
        if keyword == "id" and draft != 4:
            continue  # an ordinary annotation in later drafts, and often a property of the data
        if (auto or first <= draft <= last) and (formats or keyword != "format"):
            found[keyword] = bits
    return found


@cache
def bits_of_vocabularies(draft: int, formats: bool, vocabularies: frozenset[str]) -> dict[str, int]:
    """The bits under a metaschema that lists its vocabularies (the last segments of their addresses)."""
    known = {word for name in vocabularies for word in VOCABULARIES.get(name, "").split()}
    of_vocabularies = {word for words in VOCABULARIES.values() for word in words.split()}
    return {k: v for k, v in bits_of(draft, True, formats).items() if k in known or k not in of_vocabularies}
