"""Every refusal of a schema says where, which keyword, and what to do; what it says about strict=False is true."""

from typing import Any

import pytest

import grammarlm as gl
from tests.oracles.random_json_schemas import RandomSchemas

VOCAB = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], stop_ids=[256], special_ids=[256])


def named(count: int) -> dict[str, bool]:
    return {f"k{i}": True for i in range(count)}


def either(key: str) -> dict[str, Any]:
    return {"anyOf": [{"required": [f"{key}{j}"], "properties": {f"{key}{j}": {"minimum": j}}} for j in range(10)]}


FEW = {"type": "array", "prefixItems": [{"enum": [{}, [1]]}] * 2, "uniqueItems": True}
# What is understood and not enforced: a schema, the keyword's place, a word of the reason.
UNSUPPORTED: dict[str, tuple[Any, str, str]] = {
    "back-reference": ({"properties": {"a": {"pattern": r"(a)\1"}}}, "/properties/a/pattern", "backreference"),
    "named back-reference": ({"pattern": r"(?<n>a)\k<n>"}, "/pattern", "backreference"),
    "look-behind in a group": ({"pattern": "(?:(?<=ab)c)+"}, "/pattern", "look-behind"),
    "look-around in look-behind": ({"pattern": "(?<=a(?=b))c"}, "/pattern", "look-behind"),
    "pattern of keys": ({"patternProperties": {r"(a)\1": {}}}, "/patternProperties", "backreference"),
    "names of keys": ({"propertyNames": {"pattern": r"(a)\1"}}, "/propertyNames/pattern", "backreference"),
    "a format": ({"items": {"format": "idn-hostname"}}, "/items/format", "formats='annotation'"),
    "another document": ({"$ref": "http://x/y"}, "/$ref", "registry="),
    "the opposite of uniqueItems": ({"not": {"uniqueItems": True}}, "/not/uniqueItems", "equal items"),
    "an escaped key": ({"properties": {"a/b": {"not": {"uniqueItems": True}}}}, "/properties/a~1b/not/uniqueItems", ""),
    "uniqueItems of few objects": ({"properties": {"a": FEW}}, "/properties/a/uniqueItems", "objects or arrays"),
    "uniqueItems of positions": (
        {"type": "array", "prefixItems": [{"enum": [1, 2]}] * 2, "items": False, "uniqueItems": True},
        "/uniqueItems", "positions"),
    "uniqueItems of positions that cannot differ": (
        {"type": "array", "prefixItems": [{"enum": [1, 2]}] * 3, "uniqueItems": True, "minItems": 3}, "/uniqueItems", "positions"),
    "the opposite of patternProperties": (
        {"not": {"patternProperties": {"^a": {"type": "string"}}}, "maxProperties": 3},
        "/not/patternProperties",
        "declare the keys",
    ),
    "several contains": (
        {"type": "array", "maxItems": 3,
         "allOf": [{"contains": {"minimum": 5}}, {"contains": {"maximum": 7}, "maxContains": 2}]},
        "/allOf/0/contains", "limit each other"),
    "contains of many": ({"contains": {"const": 1}, "minContains": 40_000}, "/minContains", "32,768"),
    "several contains of many": (
        {"allOf": [{"contains": {"const": i}, "minContains": 4000, "maxContains": 5000} for i in range(2)], "maxItems": 9999},
        "/allOf/0/contains", "4096"),
    "several contains with many states": (
        {"allOf": [{"contains": {"minimum": i, "maximum": i + 9}, "minContains": 40, "maxContains": 90} for i in range(6)],
         "maxItems": 200},
        "/allOf/0/contains", "states"),
    "dependencies next to bounds": (
        {"properties": named(3), "additionalProperties": False, "dependentRequired": {"k0": ["k1"]}, "minProperties": 2,
         "maxProperties": 3},
        "/dependentRequired", "minProperties"),
    "dependencies among many": (
        {"properties": named(100), "dependentRequired": {f"k{i}": ["k50"] for i in range(5)}}, "/dependentRequired", "62"),
    "many required keys": ({"properties": named(3000), "required": list(named(3000))}, "/required", "at most 2,000"),
    "a pattern and a great length": (
        {"pattern": "^(ab|c)*$", "minLength": 70_000}, "/minLength", "at most 65,536"),
    "a format and a great length": ({"format": "uri", "minLength": 70_000}, "/minLength", "at most 65,536"),
    "many cases": ({"allOf": [either(f"k{i}_") for i in range(8)]}, "/allOf", "fewer alternatives"),
    "a great multiple": ({"multipleOf": 123456789012345678901}, "/multipleOf", "multipleOf"),
}  # fmt: skip
# What is no schema: the same.
BROKEN: dict[str, tuple[Any, str, str]] = {
    "no schema": ({"properties": {"a": 3}}, "/properties/a", "a schema is an object, true or false"),
    "no type": ({"type": "strin"}, "/type", "no type"),
    "no name of a type": ({"type": {"string": 1}}, "/type", "there are null, boolean, string"),
    "no types": ({"type": []}, "/type", "the name of a type or a list of such is expected"),
    "a bound that is text": ({"minimum": "1"}, "/minimum", "minimum must be a number"),
    "no list of values": ({"enum": 3}, "/enum", "a list of values is expected"),
    "no list of schemas": ({"anyOf": {}}, "/anyOf", "a list of schemas is expected"),
    "no prefix": ({"prefixItems": {}}, "/prefixItems", "a list of schemas is expected"),
    "a negative length": ({"minLength": -1}, "/minLength", "should be an integer"),
    "no number of items": ({"minItems": "3"}, "/minItems", "a whole number that is not negative is expected"),
    "null for a number": ({"minProperties": None}, "/minProperties", "a whole number that is not negative is expected"),
    "no names": ({"required": "a"}, "/required", "a list of names is expected"),
    "no names in a dependency": (
        {"dependentRequired": {"a": 3}},
        "/dependentRequired/a",
        "a list of names is expected",
    ),
    "no properties": ({"properties": []}, "/properties", "an object whose values are schemas is expected"),
    "no bool": ({"uniqueItems": 1}, "/uniqueItems", "true or false is expected"),
    "a broken pattern": ({"items": {"pattern": "("}}, "/items/pattern", "missing )"),
    "a pattern of another type": ({"pattern": 3}, "/pattern", "should be a string"),
    "a format of another type": ({"format": 3}, "/format", "should be a string"),
    "a missing anchor": ({"$ref": "#nope"}, "/$ref", "does not exist"),
    "a missing place": ({"items": {"$ref": "#/a/b"}}, "/items/$ref", "there is no 'a'"),
    "a reference of another type": ({"$ref": 3}, "/$ref", "a reference is a string"),
}


def at(schema: Any, pointer: str) -> Any:
    """What stands at a pointer; KeyError or IndexError where nothing does."""
    for token in pointer.split("/")[1:]:
        schema = schema[int(token)] if isinstance(schema, list) else schema[token.replace("~1", "/").replace("~0", "~")]
    return schema


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_enforced(name: str) -> None:
    schema, pointer, reason = UNSUPPORTED[name]
    at(schema, pointer)
    with pytest.raises(gl.UnsupportedFeature) as caught:
        gl.compile(gl.JsonSchema(schema), VOCAB)
    message = str(caught.value)
    assert caught.value.pointer == pointer
    assert message.startswith(pointer + ": ")
    assert reason in message
    assert len(message) <= 500
    report = gl.compile(gl.JsonSchema(schema, strict=False), VOCAB).report
    assert message.endswith(f"strict=False) leaves out {report.relaxed[0]}")


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_schema(name: str) -> None:
    schema, pointer, reason = BROKEN[name]
    at(schema, pointer)
    for strict in (True, False):
        with pytest.raises(gl.GrammarError) as caught:
            gl.compile(gl.JsonSchema(schema, strict=strict), VOCAB)
        message = str(caught.value)
        assert type(caught.value) is gl.GrammarError
        assert caught.value.pointer == pointer
        assert message.startswith(pointer + ": ")
        assert reason in message
        assert "strict" not in message


def refusal(schema: Any) -> gl.UnsupportedFeature | None:
    try:
        gl.compile(gl.JsonSchema(schema), VOCAB)
    except gl.UnsupportedFeature as error:
        return error
    except gl.UnsatisfiableGrammar:
        pass
    return None


def test_refusals_of_random_schemas() -> None:
    supply, refused = RandomSchemas("refusals"), 0
    for _ in range(1000):
        schema = supply.schema()
        found = refusal(schema)
        if found is None:
            continue
        assert found.pointer is not None, schema
        at(schema, found.pointer)
        assert str(found).startswith(found.pointer + ": "), schema
        report = gl.compile(gl.JsonSchema(schema, strict=False), VOCAB).report
        assert str(found).endswith(f"strict=False) leaves out {report.relaxed[0]}"), schema
        refused += 1
    assert refused > 20
