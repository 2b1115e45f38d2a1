"""Every refusal of a schema says where, which keyword, and what to do; what it says about strict=False is true."""

import json
from typing import Any

import pytest

import grammarlm as gl
from tests.corpus_files import tables
from tests.oracles.random_json_schemas import RandomSchemas
from tests.texts import BYTES

TABLES = tables("json_schema")


def named(count: int) -> dict[str, bool]:
    return {f"k{i}": True for i in range(count)}


def either(key: str) -> dict[str, Any]:
    return {"anyOf": [{"required": [f"{key}{j}"], "properties": {f"{key}{j}": {"minimum": j}}} for j in range(10)]}


# Large schemas that are not enforced, as the table has small ones: a schema, the keyword's place, a word of the reason.
LARGE: dict[str, tuple[Any, str, str]] = {
    "several contains with many states": (
        {"allOf": [{"contains": {"minimum": i, "maximum": i + 9}, "minContains": 40, "maxContains": 90} for i in range(6)],
         "maxItems": 200},
        "/allOf/0/contains", "states"),
    "dependencies among many": (
        {"properties": named(100), "dependentRequired": {f"k{i}": ["k50"] for i in range(5)}}, "/dependentRequired", "62"),
    "many required keys": ({"properties": named(3000), "required": list(named(3000))}, "/required", "at most 2,000"),
    "many cases": ({"allOf": [either(f"k{i}_") for i in range(8)]}, "/allOf", "fewer alternatives"),
    "many pairs of cases": (
        {"allOf": [{"anyOf": [{"required": [f"{p}{i}"]} for i in range(23)]} for p in "ab"]}, "/allOf", "fewer alternatives"),
}  # fmt: skip


def at(schema: Any, pointer: str) -> Any:
    """What stands at a pointer; KeyError or IndexError where nothing does."""
    for token in pointer.split("/")[1:]:
        schema = schema[int(token)] if isinstance(schema, list) else schema[token.replace("~1", "/").replace("~0", "~")]
    return schema


@pytest.mark.parametrize("name", [*TABLES["refused"], *LARGE])
def test_what_is_not_enforced(name: str) -> None:
    schema, pointer, reason = LARGE.get(name) or TABLES["refused"][name]
    schema = json.loads(schema) if isinstance(schema, str) else schema
    at(schema, pointer)
    with pytest.raises(gl.UnsupportedFeature) as caught:
        gl.compile(gl.JsonSchema(schema), BYTES)
    message = str(caught.value)
    assert caught.value.pointer == pointer
    assert message.startswith(pointer + ": ")
    assert reason in message
    assert len(message) <= 500
    report = gl.compile(gl.JsonSchema(schema, strict=False), BYTES).report
    assert message.endswith(f"strict=False) leaves out {report.relaxed[0]}")


@pytest.mark.parametrize("name", TABLES["broken"])
def test_what_is_no_schema(name: str) -> None:
    text, pointer, reason = TABLES["broken"][name]
    schema = json.loads(text)
    at(schema, pointer)
    for strict in (True, False):
        with pytest.raises(gl.GrammarError) as caught:
            gl.compile(gl.JsonSchema(schema, strict=strict), BYTES)
        message = str(caught.value)
        assert type(caught.value) is gl.GrammarError
        assert caught.value.pointer == pointer
        assert message.startswith(pointer + ": ")
        assert reason in message
        assert "strict" not in message


def refusal(schema: Any) -> gl.UnsupportedFeature | None:
    try:
        gl.compile(gl.JsonSchema(schema), BYTES)
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
        report = gl.compile(gl.JsonSchema(schema, strict=False), BYTES).report
        assert str(found).endswith(f"strict=False) leaves out {report.relaxed[0]}"), schema
        refused += 1
    assert refused > 20
