"""What every constraint offers, for items that must differ: forks, snapshots, saving, batches, parts, explanations, full epochs."""

import json
import random
import tracemalloc

import pytest

import grammarlm as gl
from tests.laws.json_laws import accepts
from tests.laws.laws import allowed_ids
from tests.masks.machines.json.distinct.distinct_cases import SCHEMAS, VOCAB
from tests.oracles.json_spellings import usual_spellings
from tests.real_data import MASKBENCH, SUITE, needs_data, real_vocabulary
from tests.texts import BYTES

BEGUN = b'[{"a":1},{"a":1'
WITH_ITEMS = ("behat", "compose-spec", "drupal-services", "rust-project", "sourcemap-v3", "tson", "vsix-publish")


def begun(schema: object = SCHEMAS["objects that need a key"]) -> gl.Matcher:
    matcher = gl.compile(gl.JsonSchema(schema), VOCAB).matcher()
    assert matcher.advance_bytes(BEGUN)
    return matcher


def test_refusals_say_why() -> None:
    matcher = begun(SCHEMAS["objects"])
    assert "uniqueItems" in matcher.explain(ord("}"))
    assert matcher.explain(ord(",")) == "allowed"


def test_what_must_come_is_forced() -> None:
    schema = {"items": {"type": "array", "items": {"const": "x"}}, "minItems": 2, "maxItems": 2}
    matcher = gl.compile(
        gl.JsonSchema({"type": "array", "uniqueItems": True, **schema}, whitespace="compact", spelling="plain"), VOCAB
    ).matcher()
    assert matcher.advance_bytes(b"[[],[")
    assert matcher.forced_bytes() == b'"x"'


def test_a_part_of_a_larger_grammar() -> None:
    grammar = gl.Regex("ab*") + gl.JsonSchema(SCHEMAS["anything"], whitespace="compact") + "!"
    matcher = gl.compile(grammar, VOCAB).matcher()
    assert accepts(matcher, b'abb[{"a":1},[1]]!')
    assert not accepts(matcher, b'abb[{"a":1},{"a":1}]!')


def test_full_epochs_change_no_mask() -> None:
    roomy, narrow = (
        gl.compile(gl.JsonSchema(SCHEMAS["objects that need a key"]), VOCAB, limits=limits).matcher()
        for limits in (None, gl.Limits(max_bytes=1 << 20))
    )
    rng = random.Random("full")
    for number in range(2500):
        text = b'[{"a":%d}' % number if number == 0 else b',{"a":%d}' % number
        assert roomy.advance_bytes(text) is narrow.advance_bytes(text) is True
        if rng.random() < 0.01:
            assert not narrow.advance_bytes(b',{"a":%d}' % rng.randrange(number + 1))
            assert allowed_ids(roomy, VOCAB) == allowed_ids(narrow, VOCAB)


@needs_data
@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_the_cases_of_the_test_suite(draft: str) -> None:
    read = 0
    for group in json.loads((SUITE / "tests" / draft / "uniqueItems.json").read_text(encoding="utf-8")):
        if "prefixItems" in group["schema"] or isinstance(group["schema"].get("items"), list):
            continue  # positions of booleans: refused by name
        matcher = gl.compile(gl.JsonSchema(group["schema"], property_order="any"), VOCAB).matcher()
        for test in group["tests"]:
            for text in usual_spellings(test["data"]):
                assert accepts(matcher, text.encode()) is test["valid"], (group["schema"], text)
                read += 1
    assert read > 50


@needs_data
@pytest.mark.parametrize("name", WITH_ITEMS)
def test_real_schemas_with_their_instances(name: str) -> None:
    case = json.loads(next(MASKBENCH.rglob(f"JsonSchemaStore---{name}.json")).read_text(encoding="utf-8"))
    matcher = gl.compile(gl.JsonSchema(case["schema"], property_order="any"), real_vocabulary("llama3_1")).matcher()
    for test in case["tests"]:
        assert accepts(matcher, json.dumps(test["data"]).encode()) is test["valid"]


LONG_TEXTS = {
    "items": lambda count: json.dumps([{"a": i} for i in range(count)]),
    "keys": lambda count: json.dumps([{f"k{i}": 0 for i in range(count)}]),
    "a string": lambda count: '[{"a":"' + "x" * 25 * count + '"}]',
}


@pytest.mark.parametrize("count", [800, pytest.param(2000, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_memory_and_work_grow_with_the_text(name: str, count: int) -> None:
    """Each step kept a copy of what had been read, and asked every earlier item whether it could come again: 3,000 items took 75
    seconds, a string of 100,000 bytes gigabytes."""
    schema = {"type": "array", "uniqueItems": True, "items": {"type": ["object", "array"]}}
    constraint = gl.compile(gl.JsonSchema(schema, property_order="any"), BYTES)
    matcher, text = constraint.matcher(), LONG_TEXTS[name](count)
    tracemalloc.start()
    try:
        assert all(matcher.advance(byte) for byte in text.encode())
        assert tracemalloc.get_traced_memory()[0] < 2_000 * len(text)
    finally:
        tracemalloc.stop()
    assert matcher.is_accepting
