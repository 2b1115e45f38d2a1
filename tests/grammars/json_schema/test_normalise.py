"""What schemas come down to: the values that the alternatives admit, and the form that the masks rely on."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import pytest

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.normalise import Normalised
from grammarlm.grammars.json_schema.shapes.shapes import ArrayShape, NumberShape, ObjectShape, StringShape
from tests.corpus_files import tables
from tests.oracles.json_samples import Sampler
from tests.oracles.json_schema_oracle import Judge, NoVerdict, formats_are_loose
from tests.oracles.json_shapes import admits, check, read
from tests.oracles.random_json_instances import near
from tests.oracles.random_json_schemas import RandomSchemas

MEANINGS = tables("json_schema")["values"]
LANGUAGES = tables("json_schema")["languages"]
UNJUDGED = {"vocabularies of a metaschema"}  # which the oracle does not look at


def only_object(n: Normalised) -> ObjectShape:
    (shape,) = (s for s in n.root.alternatives if isinstance(s, ObjectShape))
    return shape


@pytest.mark.parametrize("name", MEANINGS)
def test_what_keywords_mean(name: str) -> None:
    """The table says it, and the oracle the same where it has a verdict."""
    for row in MEANINGS[name]:
        schema, valid, invalid, options = map(json.loads, [*row, "{}"][:4])
        check(schema, valid, invalid, **options)
        if name in UNJUDGED:
            continue
        with contextlib.suppress(NoVerdict):
            judge = Judge(schema, **options)
            assert [value for value in valid if not judge.valid_value(value)] == [], schema
            assert [value for value in invalid if judge.valid_value(value)] == [], schema


@pytest.mark.parametrize("schema", LANGUAGES["anything"])
def test_what_says_nothing_is_anything(schema: str) -> None:
    assert read(json.loads(schema)).root.is_anything


@pytest.mark.parametrize("schema", LANGUAGES["nothing"])
def test_what_nothing_satisfies(schema: str) -> None:
    with pytest.raises(UnsatisfiableGrammar, match="no value satisfies"):
        read(json.loads(schema))


@pytest.mark.parametrize("schema", LANGUAGES["something"])
def test_what_something_satisfies(schema: str) -> None:
    assert read(json.loads(schema)).root.alternatives


@pytest.mark.parametrize("schema", LANGUAGES["without_progress"])
def test_a_schema_that_refers_to_itself_without_progress(schema: str) -> None:
    with pytest.raises(GrammarError, match="itself"):
        read(json.loads(schema))


def test_a_required_name_gets_the_node_of_its_pattern() -> None:
    shape = only_object(
        read(
            {
                "type": "object",
                "required": ["x1", "y", "a"],
                "properties": {"b": {}, "a": {"type": "string"}},
                "patternProperties": {"^x": {"type": "integer"}},
                "additionalProperties": {"type": "null"},
            }
        )
    )
    assert list(shape.properties) == ["b", "a", "x1", "y"]
    assert shape.properties["x1"].alternatives == (NumberShape(integer=True),)
    assert shape.required == {"x1", "y", "a"}
    assert len(shape.others) == 2


def test_order_of_properties_is_the_order_of_appearance() -> None:
    schema = {
        "allOf": [{"properties": {"a": {}, "b": {}}, "required": ["z"]}, {"properties": {"c": {}}}],
        "oneOf": [{"properties": {"d": {}}}],
        "properties": {"e": {}, "a": {}},
        "required": ["y", "f"],
        "anyOf": [{"properties": {"f": {}}}],
    }
    shapes = [s for s in read({**schema, "type": "object"}).root.alternatives if isinstance(s, ObjectShape)]
    assert [list(s.properties) for s in shapes] == [["a", "b", "c", "e", "d", "f", "z", "y"]]


def test_what_objects_rely_on() -> None:
    """Patterns that overlap are apart, and a dependency is an implication."""
    overlap, dependencies = (
        only_object(read(json.loads(MEANINGS[name][0][0])))
        for name in ("patterns of keys that overlap", "dependencies")
    )
    assert len(overlap.others) == 4
    assert set(dependencies.implied) == {"a", "b", "d"}


def test_all_strings_of_an_enum_are_one_shape() -> None:
    n = read({"enum": ["a", 1, "b", None, 2, 3, "a", True, {"x": 1}, [1]], "maximum": 2})
    strings = [s for s in n.root.alternatives if isinstance(s, StringShape)]
    numbers = [s for s in n.root.alternatives if isinstance(s, NumberShape)]
    assert strings == [StringShape(values=("a", "b"))]
    assert [(s.low, s.high) for s in numbers] == [(1, 2)]


def test_what_is_contained_stands_among_the_others() -> None:
    (shape,) = read({"type": "array", "contains": {"type": "string"}, "items": {"maxLength": 3}}).root.alternatives
    assert isinstance(shape, ArrayShape)
    assert [way.counts for way in shape.rest] == [1, 0]


def test_a_discriminator_needs_no_opposites() -> None:
    branch = {"type": "object", "required": ["kind"], "additionalProperties": {"type": "object"}}
    schema = {"oneOf": [{**branch, "properties": {"kind": {"const": k}, k: {"type": "integer"}}} for k in "abcdefgh"]}
    n = check(schema, [{"kind": "a", "a": 1}, {"kind": "b", "a": {}}], [{"kind": "a", "a": {}}, {"kind": "i"}, {}])
    assert len(n.root.alternatives) == 8


def test_one_of_many_branches() -> None:
    strings = [{f"p{i}": {"type": "string"}, "t": {"enum": [i]}} for i in range(9)]
    schema = {"type": "object", "oneOf": [{"properties": each, "additionalProperties": False} for each in strings]}
    check(schema, [{"p1": ""}, {"t": 1}, {"t": 1, "p1": ""}], [{}, {"t": 1, "p2": ""}, {"p1": "", "p2": ""}])


def test_many_conditions_are_few_alternatives() -> None:
    kinds = [{"properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]} for i in range(40)]
    branches = [{"if": kind, "then": {"required": [f"r{i}"]}} for i, kind in enumerate(kinds)]
    schema = {"type": "object", "properties": {"kind": {"type": "string"}}, "allOf": branches}
    n = check(schema, [{"kind": "k7", "r7": 1}, {"kind": "z"}, {}], [{"kind": "k7"}, {"kind": "k7", "r8": 1}])
    assert len(n.root.alternatives) < 60


def test_a_refusal_matters_only_where_a_value_can_come() -> None:
    """The part that cannot be enforced is below a key that is never there."""
    hopeless = {"not": {"uniqueItems": True}}
    assert read({"properties": {"a": {"allOf": [{"type": "string"}, hopeless]}}})
    assert read({"$defs": {"unused": hopeless}})


def test_relaxed_on_request_and_named() -> None:
    n = read({"type": "array", "not": {"uniqueItems": True}}, strict=False)
    assert n.relaxed == ("/not",)
    assert admits(n.root, [1, 2], n.languages)


def test_depth_is_no_matter() -> None:
    deep: Any = {"type": "string"}
    inside: Any = {"type": "string"}
    wide: Any = {"const": 1}
    for i in range(800):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
        inside = {"allOf": [inside]} if i % 3 else {"not": {"not": inside}}
        wide = {"oneOf": [{"type": "string"}, wide]} if i < 80 else wide
    n = read(deep)
    assert n.root.alternatives
    assert len(n.nodes) == 800
    check(inside, ["a"], [1])
    assert read(wide)


def test_large_schemas() -> None:
    n = read({"enum": [f"value {i}" for i in range(100_000)]})
    assert len(n.root.alternatives) == 1
    n = read({"type": "object", "properties": {f"p{i}": {"type": "string", "maxLength": i} for i in range(1_500)}})
    assert len(only_object(n).properties) == 1_500


def test_random_schemas_agree_with_the_oracle() -> None:
    """Values near the edge of a schema belong to the root iff they are valid; each alternative of each node has a value, and what
    those of the root have is valid."""
    supply, rng = RandomSchemas("shapes"), random.Random("shapes")
    judged = sampled = 0
    while judged < 600 or sampled < 600:
        schema = supply.schema()
        judge = Judge(schema)
        try:
            pairs = near(schema, judge, rng)
            n = read(schema)
        except (NoVerdict, UnsupportedFeature):
            continue
        except UnsatisfiableGrammar:
            assert not any(valid for _, valid in pairs), schema
            continue
        for value, valid in pairs:
            assert admits(n.root, value, n.languages) is valid, (schema, value)
        judged += len(pairs)
        if formats_are_loose(schema):
            continue
        sampler = Sampler(n.root, n.languages, rng)
        for node in sampler.nodes:
            for shape in node.alternatives:
                value = sampler.of(shape)
                sampled += 1
                if node is n.root:
                    assert judge.valid_value(value), (schema, value)
