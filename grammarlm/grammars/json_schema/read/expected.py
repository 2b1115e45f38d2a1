"""The expected type of each keyword's value, as in the drafts' metaschemas.

Code that reads a keyword refuses another value if a text can reach it. Otherwise, below a type that never holds or in unreferenced
`$defs`, nothing reads it: there the report says what is wrong (report.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature, brief
from grammarlm.grammars.json_schema.nodes.by_type import OF_TYPE
from grammarlm.grammars.json_schema.numbers.numbers import exact, whole

ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._:]*")
Test = Callable[[Any], bool]


def wrong_value(keyword: str, value: Any) -> str:
    """The expected value, in words; "" where the value is right."""
    known = EXPECTED.get(keyword)
    if known is None or known[1](value):
        return ""
    if keyword in MAY_BE_EMPTY and value == []:
        return "an empty list, which says nothing"
    return f"{known[0]} is expected, not {brief(value)}"


def refusal(schema: dict[str, Any], keyword: str, pointer: str) -> GrammarError:
    """The error for a keyword with a wrong value; `pointer` is the schema's."""
    where = f"{pointer}/{keyword}"
    return GrammarError(f"{where}: {wrong_value(keyword, schema[keyword])}", pointer=where)


def of_type(*kinds: type) -> Test:
    return lambda value: isinstance(value, kinds)


is_bool, is_text, is_list, is_schema = of_type(bool), of_type(str), of_type(list), of_type(dict, bool)


def is_anchor(value: Any) -> bool:
    return is_text(value) and ANCHOR.fullmatch(value) is not None


def is_count(value: Any) -> bool:
    count = whole(value)
    return count is not None and count >= 0


def is_number(value: Any) -> bool:
    if is_bool(value):
        return False
    try:
        exact(value)
    except UnsupportedFeature:  # a number, but too long for us
        return True
    except GrammarError:
        return False
    return True


def is_factor(value: Any) -> bool:
    return is_number(value) and value > 0


def is_type(value: Any) -> bool:
    return is_text(value) and value in OF_TYPE


def is_types(value: Any) -> bool:
    return is_type(value) or (is_list(value) and bool(value) and all(map(is_type, value)))


def is_names(value: Any) -> bool:
    return is_list(value) and all(map(is_text, value))


def is_schemas(value: Any) -> bool:
    return is_list(value) and bool(value) and all(map(is_schema, value))


def map_of(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def either(*tests: Test) -> Test:
    return lambda value: any(test(value) for test in tests)


MAY_BE_EMPTY = ("allOf", "prefixItems")
TEXT = ("a string", is_text)
COUNT = ("a whole number that is not negative", is_count)
NUMBER = ("a number", is_number)
SCHEMA = ("a schema: an object, true or false,", is_schema)
SCHEMAS = ("a list of schemas", is_schemas)
SCHEMA_MAP = ("an object whose values are schemas", map_of(is_schema))

EXPECTED: dict[str, tuple[str, Test]] = {
    "type": ("the name of a type or a list of such", is_types),
    "enum": ("a list of values", is_list),
    "uniqueItems": ("true or false", is_bool),
    "required": ("a list of names", is_names),
    "multipleOf": ("a number above 0", is_factor),
    # An empty list means no positions: additionalItems then applies to all items.
    "items": ("a schema or a list of schemas", either(is_schema, lambda value: value == [] or is_schemas(value))),
    "dependentRequired": ("an object whose values are lists of names", map_of(is_names)),
    # In draft 3 a single name is not in a list.
    "dependencies": ("an object whose values are schemas or lists of names", map_of(either(is_schema, is_names, is_text))),
    "$recursiveAnchor": ("true or false", is_bool),
    **dict.fromkeys(("pattern", "format", "$ref", "$dynamicRef", "$recursiveRef"), TEXT),
    "$id": TEXT,
    **dict.fromkeys(("$anchor", "$dynamicAnchor"), ("a name such as part-1", is_anchor)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), COUNT),
    **dict.fromkeys(("minContains", "maxContains"), COUNT),
    **dict.fromkeys(("minimum", "maximum"), NUMBER),
    # In draft 4 they say that the bound next to them is excluded.
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), ("a number, true or false", either(is_number, is_bool))),
    **dict.fromkeys(("additionalProperties", "propertyNames", "additionalItems", "contains", "not"), SCHEMA),
    **dict.fromkeys(("if", "then", "else", "unevaluatedProperties", "unevaluatedItems"), SCHEMA),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), SCHEMAS),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"), SCHEMA_MAP),
}  # fmt: skip
