"""What schemas come down to: the values that the alternatives admit, and the form that the masks rely on."""

from __future__ import annotations

import random
from typing import Any

import pytest

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.normalise import Normalised, normalise
from grammarlm.grammars.json_schema.shapes.shapes import ArrayShape, NumberShape, ObjectShape, StringShape
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.oracles.json_samples import Sampler
from tests.oracles.json_schema_oracle import Judge, NoVerdict, formats_are_loose
from tests.oracles.json_shapes import admits
from tests.oracles.random_json_instances import near
from tests.oracles.random_json_schemas import RandomSchemas

SEVEN = "http://json-schema.org/draft-07/schema#"
FOUR = "http://json-schema.org/draft-04/schema#"


def read(schema: Any, **options: Any) -> Normalised:
    return normalise(schema, languages=Languages(), **options)


def check(schema: Any, valid: list[Any], invalid: list[Any], **options: Any) -> Normalised:
    n = read(schema, **options)
    for value in valid:
        assert admits(n.root, value, n.languages), value
    for value in invalid:
        assert not admits(n.root, value, n.languages), value
    return n


def only_object(n: Normalised) -> ObjectShape:
    (shape,) = (s for s in n.root.alternatives if isinstance(s, ObjectShape))
    return shape


@pytest.mark.parametrize(
    "schema", [True, {}, {"title": "x"}, {"anyOf": [{}, {"type": "string"}]}, {"allOf": []}], ids=str
)
def test_what_says_nothing_is_anything(schema: Any) -> None:
    assert read(schema).root.is_anything


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"not": {}},
        {"enum": []},
        {"type": "string", "enum": [1]},
        {"allOf": [{"type": "string"}, {"type": "object"}]},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
        {"type": "object", "required": ["a", "b"], "maxProperties": 1},
        {"type": "object", "minProperties": 2, "properties": {"a": {}}, "additionalProperties": False},
        {"type": "object", "minProperties": 3, "patternProperties": {"^[ab]$": {}}, "additionalProperties": False},
        {"type": "array", "items": False, "minItems": 1},
        {"type": "array", "prefixItems": [True], "items": False, "contains": {"type": "string"}, "minContains": 2},
        {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "items": {"pattern": "^(aa|bb)$", "type": "string"}, "uniqueItems": True, "minItems": 3},
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 2, "multipleOf": 2},
        {"oneOf": [{"type": "string"}, {"type": "string"}]},
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"const": 1}},
            "not": {"properties": {"a": {"const": 1.0}}},
        },
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"required": ["x"], "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}},
        },
        {"const": {"a": [1, 2]}, "properties": {"a": {"items": {"maximum": 1}}}},
    ],
    ids=str,
)
def test_what_nothing_satisfies(schema: Any) -> None:
    with pytest.raises(UnsatisfiableGrammar, match="no value satisfies"):
        read(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "array",
            "prefixItems": [{"enum": [1, 2]}, {"enum": [1, 2]}, {"enum": [2, 1, 3]}],
            "uniqueItems": True,
            "minItems": 3,
        },
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2},
        {"type": "array", "items": {"type": "string", "maxLength": 1}, "uniqueItems": True, "minItems": 1_000},
        {"type": "array", "minItems": 1_000_000_000},
        {"type": "object", "minProperties": 2, "patternProperties": {"^[ab]$": {}}, "additionalProperties": False},
        {"type": "object", "required": ["a"], "properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
    ],
    ids=str,
)
def test_what_something_satisfies(schema: Any) -> None:
    assert read(schema).root.alternatives


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


def test_patterns_that_overlap() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"a": {"minimum": 1}, "b": {"maximum": 5}},
        "additionalProperties": {"type": "string"},
        "properties": {"ab": {"multipleOf": 2}},
    }
    n = check(
        schema,
        [{"xa": 1}, {"b": 0}, {"ba": 3}, {"c": ""}, {"ab": 4}, {"a": "", "b": ""}],
        [{"xa": 0}, {"b": 6}, {"ba": 6}, {"ba": 0}, {"c": 1}, {"ab": 3}, {"ab": 6}],
    )
    assert len(only_object(n).others) == 4


def test_all_strings_of_an_enum_are_one_shape() -> None:
    n = read({"enum": ["a", 1, "b", None, 2, 3, "a", True, {"x": 1}, [1]], "maximum": 2})
    strings = [s for s in n.root.alternatives if isinstance(s, StringShape)]
    numbers = [s for s in n.root.alternatives if isinstance(s, NumberShape)]
    assert strings == [StringShape(values=("a", "b"))]
    assert [(s.low, s.high) for s in numbers] == [(1, 2)]
    check(
        {"enum": ["a", 1, {"x": 1}, [1]], "minProperties": 1, "minItems": 2},
        ["a", 1, 1.0, {"x": 1}],
        ["b", 2, {"x": 2}, {"x": 1, "y": 1}, {}, [1], True],
    )


def test_enum_knows_true_from_one() -> None:
    check({"enum": [1]}, [1, 1.0], [True])
    check({"const": False}, [False], [0])
    check({"not": {"const": 1}}, [True, 0], [1])


def test_a_discriminator_needs_no_opposites() -> None:
    branch = {"type": "object", "required": ["kind"], "additionalProperties": {"type": "object"}}
    schema = {"oneOf": [{**branch, "properties": {"kind": {"const": k}, k: {"type": "integer"}}} for k in "abcdefgh"]}
    n = check(schema, [{"kind": "a", "a": 1}, {"kind": "b", "a": {}}], [{"kind": "a", "a": {}}, {"kind": "i"}, {}])
    assert len(n.root.alternatives) == 8


def test_exactly_one() -> None:
    schema = {"oneOf": [{"required": ["a"], "type": "object"}, {"required": ["b"], "type": "object"}]}
    check(schema, [{"a": 1}, {"b": 1}, {"a": 1, "c": 2}], [{}, {"a": 1, "b": 1}, 1])
    check({"oneOf": [{"minimum": 2}, {"maximum": 3}]}, [1, 4], [2, 3, 2.5, "x"])
    many = {
        "oneOf": [
            {"properties": {f"p{i}": {"type": "string"}, "t": {"enum": [i]}}, "additionalProperties": False}
            for i in range(9)
        ]
    }
    check(
        {**many, "type": "object"},
        [{"p1": ""}, {"t": 1}, {"t": 1, "p1": ""}],
        [{}, {"t": 1, "p2": ""}, {"p1": "", "p2": ""}],
    )


def test_conditions() -> None:
    schema = {
        "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
        "then": {"required": ["x"]},
        "else": {"required": ["y"]},
    }
    check(
        schema, [{"kind": "a", "x": 1}, {"y": 1}, {"kind": "b", "y": 1}, 3], [{"kind": "a", "y": 1}, {"kind": "b"}, {}]
    )
    many = {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]}, "then": {"required": [f"r{i}"]}}
            for i in range(40)
        ],
    }
    n = check(many, [{"kind": "k7", "r7": 1}, {"kind": "z"}, {}], [{"kind": "k7"}, {"kind": "k7", "r8": 1}])
    assert len(n.root.alternatives) < 60


def test_dependencies_are_implications() -> None:
    schema = {"type": "object", "dependentRequired": {"a": ["b"], "b": ["c"]}, "dependencies": {"d": ["a"]}}
    n = check(
        schema, [{}, {"c": 1}, {"b": 1, "c": 1}], [{"a": 1}, {"a": 1, "b": 1}, {"d": 1}, {"d": 1, "a": 1, "b": 1}]
    )
    assert set(only_object(n).implied) == {"a", "b", "d"}


def test_unevaluated_counts_every_branch_that_holds() -> None:
    schema = {
        "type": "object",
        "anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}],
        "unevaluatedProperties": False,
    }
    check(schema, [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}], [{}, {"a": 1, "c": 1}])
    items = {"prefixItems": [{"const": 1}], "contains": {"type": "string"}, "unevaluatedItems": False}
    check(items, [[1, "a"], [1, "a", "b"]], [[1, "a", 2], [1], []])


def test_contains() -> None:
    schema = {"type": "array", "contains": {"type": "string"}, "minContains": 2, "maxContains": 3}
    check(schema, [["a", 1, "b"], ["a", "b", "c"]], [["a"], [1, 2], ["a"] * 4])
    n = read({"type": "array", "contains": {"type": "string"}, "items": {"maxLength": 3}})
    (shape,) = n.root.alternatives
    assert isinstance(shape, ArrayShape)
    assert [way.counts for way in shape.rest] == [1, 0]
    both = {
        "type": "array",
        "allOf": [{"contains": {"minimum": 3, "type": "number"}}, {"contains": {"maximum": 4, "type": "number"}}],
    }
    check({**both, "maxItems": 2}, [[3], [9, 0]], [[], [9], [0], ["x", 3.5, 1]])


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"not": {"required": ["a"]}}, [{}], [{"a": 1}, 1]),
        ({"not": {"type": ["string", "object"]}}, [1, None], ["", {}]),
        ({"not": {"type": "integer"}}, [1.5, "1"], [1, 1.0]),
        ({"not": {"enum": ["a", 1, None]}}, ["b", 2, True, [1]], ["a", 1, None]),
        ({"not": {"properties": {"a": {"type": "string"}}}}, [{"a": 1}], [{}, {"a": ""}, 1]),
        ({"not": {"anyOf": [{"type": "string"}, {"minimum": 3}]}}, [1], ["", 3, None]),
        ({"not": {"items": {"type": "string"}}}, [[1], ["", 1]], [[], [""], 1]),
        (
            {"not": {"prefixItems": [{"type": "string"}], "items": {"type": "null"}}},
            [[1], ["", 1]],
            [[], [""], ["", None]],
        ),
        ({"not": {"contains": {"type": "string"}}}, [[], [1]], [["a"], 1]),
        ({"not": {"minProperties": 1}}, [{}], [{"a": 1}, 1]),
        ({"not": {"const": {"a": 1}}}, [{}, {"a": 2}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"not": {"const": [1, "a"]}}, [[], [1], [1, "b"], [1, "a", 2]], [[1, "a"]]),
        ({"not": {"not": {"type": "string"}}}, ["a"], [1]),
        ({"not": {"dependentRequired": {"a": ["b"]}}}, [{"a": 1}], [{}, {"a": 1, "b": 1}]),
        ({"not": {"if": {"type": "string"}, "then": {"maxLength": 1}}}, ["ab"], ["a", 1]),
        ({"not": {"oneOf": [{"minimum": 1}, {"maximum": 3}]}}, [2, "a"], [0, 4]),
        ({"not": {"pattern": "^a", "maxLength": 2}}, ["b", "abc"], ["a", 1]),
        ({"not": {"minimum": 1, "multipleOf": 2}}, [0, 3, 1.5], [2, ""]),
        (
            {
                "dependentRequired": {"b": ["a"]},
                "not": {"additionalProperties": False, "properties": {"b": {}}, "dependentRequired": {"b": ["c"]}},
            },
            [{"d": 1}, {"a": 1, "b": 1}, {"a": 1}],
            [{"b": 1}, {"b": 1, "d": 1}, {}],
        ),
        (
            {"not": {"additionalProperties": False, "properties": {"a": {}}}, "maxProperties": 1},
            [{"b": 1}],
            [{}, {"a": 1}, {"b": 1, "c": 1}, 1],
        ),
        (
            {
                "not": {"patternProperties": {"^a": {"type": "string"}}},
                "additionalProperties": False,
                "properties": {"ab": {}, "b": {}},
            },
            [{"ab": 1}, {"ab": 1, "b": 1}],
            [{}, {"ab": ""}, {"b": 1}],
        ),
        (
            {
                "not": {"propertyNames": {"maxLength": 1}},
                "properties": {"a": {}, "bb": {}},
                "additionalProperties": False,
            },
            [{"bb": 1}],
            [{}, {"a": 1}],
        ),
    ],
    ids=str,
)
def test_opposites(schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    check(schema, valid, invalid)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"not": {"patternProperties": {"^a": {"type": "string"}}}, "maxProperties": 3}, "/not/patternProperties"),
        ({"not": {"patternProperties": {"^[0-9]{2}$": {"type": "string"}}}}, "/not/patternProperties"),
        (
            {"allOf": [{"not": {"patternProperties": {f"^{c}": {"type": "string"}}}} for c in "abcd"]},
            "/allOf/0/not/patternProperties",
        ),
        ({"not": {"uniqueItems": True}}, "/not/uniqueItems"),
        ({"not": {"unevaluatedProperties": False}}, "/not/unevaluatedProperties"),
        ({"properties": {"a/b": {"not": {"uniqueItems": True}}}}, "/properties/a~1b/not/uniqueItems"),
        ({"allOf": [{"anyOf": [{"required": [f"{p}{i}"]} for i in range(23)]} for p in "ab"]}, ""),
    ],
    ids=str,
)
def test_what_is_refused_by_name(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsupportedFeature) as refusal:
        read(schema)
    assert refusal.value.pointer == pointer


def test_a_refusal_matters_only_where_a_value_can_come() -> None:
    """The part that cannot be enforced is below a key that is never there."""
    hopeless = {"not": {"uniqueItems": True}}
    assert read({"properties": {"a": {"allOf": [{"type": "string"}, hopeless]}}})
    assert read({"$defs": {"unused": hopeless}})


def test_relaxed_on_request_and_named() -> None:
    n = read({"type": "array", "not": {"uniqueItems": True}}, strict=False)
    assert n.relaxed == ("/not",)
    assert admits(n.root, [1, 2], n.languages)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "string", "properties": []}, None),
        ({"properties": []}, "/properties"),
        ({"type": "sting"}, "/type"),
        ({"items": 3}, "/items"),
        ({"anyOf": {}}, "/anyOf"),
        ({"minItems": "3"}, "/minItems"),
        ({"enum": 1}, "/enum"),
        ({"properties": {"a": {"minimum": "5"}}}, "/properties/a/minimum"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern"),
        ({"patternProperties": {"(": {}}}, "/patternProperties"),
        ({"required": ["a", 1]}, "/required"),
    ],
    ids=str,
)
def test_what_makes_no_sense(schema: Any, pointer: str | None) -> None:
    if pointer is None:  # about a type that does not occur
        assert read(schema)
        return
    with pytest.raises(GrammarError) as error:
        read(schema)
    assert error.value.pointer == pointer


def test_habits_of_draft_3_are_ignored() -> None:
    check({"properties": {"a": {"type": "string", "required": True}}}, [{}, {"a": ""}], [{"a": 1}])


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"not": {"$ref": "#"}},
    ],
    ids=str,
)
def test_a_schema_that_refers_to_itself_without_progress(schema: Any) -> None:
    with pytest.raises(GrammarError, match="itself"):
        read(schema)


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


def test_drafts() -> None:
    check({"$schema": FOUR, "type": "integer"}, [1], [1.5, "1"])
    check({"$schema": FOUR, "const": 1}, [1], [2])  # newer keywords count
    check({"$schema": FOUR, "const": 1}, [1, 2], [], draft="declared")
    check({"dependencies": {"a": ["b"]}}, [{}], [{"a": 1}])
    check({"dependencies": {"a": ["b"]}}, [{}, {"a": 1}], [], draft="declared")
    check({"minimum": 3, "exclusiveMinimum": True}, [4], [3])
    hidden = {"$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}}
    check({"$schema": SEVEN, **hidden}, ["ab"], [1])
    check(hidden, ["a"], ["ab", 1])


def test_formats_are_annotations_on_request() -> None:
    check({"format": "ipv4"}, ["1.2.3.4"], ["x"])
    check({"format": "ipv4"}, ["1.2.3.4", "x"], [], formats="annotation")
    check({"format": "no such thing"}, ["x"], [])
