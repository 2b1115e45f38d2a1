"""Ordinary schemas, each with a trait that a reader may get wrong: of small instances all readers say what the oracle says.

References, addresses, drafts, parts that stand in several places, unions of types, of calls and of tagged variants.
"""

import json
from pathlib import Path

import pytest

import grammarlm as gl
from tests.corpus_files import read_toml
from tests.laws.keyword_laws import check_readers
from tests.oracles.keyword_schemas import INSTANCES
from tests.texts import BYTES

CORPUS = read_toml(Path(__file__).parents[1] / "corpus" / "schemas.toml")
TEXTS = (*INSTANCES, *CORPUS["instances"]["texts"])
STRING, SHARED_LIST = {"type": "string"}, ["b", "a", "b"]
MADE = {
    "a dict in several places": {"properties": {"a": STRING, "b": STRING}, "required": ["b"], "additionalProperties": STRING},
    "a dict of two properties in several places": {"properties": {n: {"properties": {"x": STRING, "y": True}} for n in "ab"}},
    "a list in several places": {"properties": {"a": {"enum": SHARED_LIST}, "b": {"enum": SHARED_LIST, "type": "string"}}},
    "long texts": {"enum": ["x" * 300, "x" * 299, "é" * 400], "description": "y" * 70_000},
    "many keys": {"properties": {f"k{i % 7}{i}": {"type": "null"} for i in range(300)}, "required": ["k00", "k1141", "z", "y"]},
    "many properties": {"type": "object", "properties": {str(i): {"type": "null"} for i in range(80)}, "required": ["3", "70"]},
    "many whole numbers": {"enum": list(range(0, 600, 2))},
}  # fmt: skip
NAMED = {**{name: json.loads(text) for name, text in CORPUS["ordinary"].items()}, **MADE}


@pytest.mark.parametrize("schema", CORPUS["small"]["schemas"])
def test_small_schemas(schema):
    assert check_readers(json.loads(schema), TEXTS)["compiled"]


@pytest.mark.parametrize("name", NAMED)
def test_schemas_with_a_trait(name):
    assert check_readers(NAMED[name], TEXTS)["refused"] < 2


@pytest.mark.parametrize("schema", CORPUS["doubtful"]["schemas"])
def test_what_may_hold_no_value_or_is_wrong(schema):
    check_readers(json.loads(schema), TEXTS)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": []}, "/type: the name of a type"),
        ({"type": "object", "properties": {"a": {"type": []}}}, "/properties/a/type: the name of a type"),
        ({"type": "object", "required": "a"}, "/required: a list of names"),
    ],
)
def test_what_the_metaschemas_do_not_take_is_refused(schema, message):
    with pytest.raises(gl.GrammarError, match=f"^{message}"):
        gl.compile(gl.JsonSchema(schema), BYTES)


def test_a_deep_schema():
    schema = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "array", "items": schema}
    assert gl.compile(gl.JsonSchema(schema), BYTES).matcher().advance_bytes(b"[" * 3000 + b'"a"')


def test_places_that_are_the_same_dict_are_read_once():
    schema = {"type": "string"}
    for _ in range(300):
        schema = {"properties": {"a": schema, "b": schema}}
    assert gl.compile(gl.JsonSchema(schema), BYTES).nbytes < 1_000_000
