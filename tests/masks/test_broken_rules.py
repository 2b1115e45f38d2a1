"""explain and `check` name the keyword that refuses: by hand, and for instances with one error as jsonschema finds it."""

import json
import random
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.commands.refusal import refused
from grammarlm.grammars.json_schema.read.standing import standing
from grammarlm.vocab.byte_vocabulary import byte_vocabulary
from tests.counts import tiers

jsonschema = pytest.importorskip("jsonschema")

INNER = {"type": "object", "properties": {"n": {"minimum": 3, "type": "integer"}}, "required": ["n"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "quantity": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "maxLength": 5, "pattern": "^[A-Z]"},
        "color": {"enum": ["red", "green"]},
        "inner": {"anyOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]},
        "list": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
        "both": {"type": "string", "enum": ["a"]},
        "pair": {"prefixItems": [{"type": "integer"}], "items": False},
        "d": {},
    },
    "required": ["name", "d"],
    "additionalProperties": False,
    "$defs": {"inner": INNER},
}
ANY = {"property_order": "any", "whitespace": "any"}
CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    '{"quantity": 0}': (SCHEMA, ANY, "/quantity: minimum 1"),
    '{"quantity": "a"}': (SCHEMA, ANY, "/quantity: type integer"),
    '{"name": "abc"}': (SCHEMA, ANY, "/name: pattern ^[A-Z]"),
    '{"name": "Abcdef"}': (SCHEMA, ANY, "/name: maxLength 5"),
    '{"color": "blue"}': (SCHEMA, ANY, '/color: enum ["red","green"]'),
    '{"name": "A"}': (SCHEMA, ANY, "required: d"),
    "{}": (SCHEMA, ANY, "required: name, d"),
    '{"x": 1}': (SCHEMA, ANY, "additionalProperties false"),
    '{"inner": {"n": 2}}': (SCHEMA, ANY, "/inner/n: minimum 3"),
    '{"inner": {}}': (SCHEMA, ANY, "/inner: required: n"),
    '{"inner": 1}': (SCHEMA, ANY, '/inner: anyOf [{"$ref":"#/$defs/inner"},{"type":"null"}]'),
    '{"list": ["a"]}': (SCHEMA, ANY, "/list: minItems 2"),
    '{"list": ["a", "b", "c", "d"]}': (SCHEMA, ANY, "/list: maxItems 3"),
    '{"list": ["a", 1]}': (SCHEMA, ANY, "/list/1: type string"),
    '{"both": 1}': (SCHEMA, ANY, '/both: type string and /both: enum ["a"]'),
    '{"pair": [1, 2]}': (SCHEMA, ANY, "/pair: items false"),
    '{"list": ["a", "b"], "name": "A"}': (SCHEMA, {"whitespace": "any"}, "property_order='schema'"),
    '{"name" : "A"}': (SCHEMA, {"whitespace": "natural"}, "whitespace='natural'"),
    '"\\u0041"': ({"type": "string"}, {"spelling": "plain"}, "spelling='plain'"),
    "1.0": ({"type": "integer"}, {"integers": "plain"}, "integers='plain'"),
    "1": ({"minimum": 10}, {}, "minimum 10"),
    '"abcd"': ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]}, {}, "maxLength 3"),
    '"2024-13-01"': ({"format": "date"}, {}, "format date"),
    '["a"]': ({"not": {"type": "array"}}, {}, 'not {"type":"array"}'),
    "[1, 1]": ({"uniqueItems": True, "items": {"enum": [1, 2]}}, {}, "uniqueItems true"),
    '{"a": 1}': ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {}, "required: b"),
    '{"a/b": {"~": 2}}': ({"properties": {"a/b": {"properties": {"~": {"const": 1}}}}}, {}, "/a~1b/~0: const 1"),
}


def said(schema: Any, text: str, **options: Any) -> str:
    """What `check` says, without its first line and the caret; empty where no rule is named."""
    matcher = gl.compile(gl.JsonSchema(schema, **options), byte_vocabulary()).matcher()
    message = refused(matcher, text.encode(), "x", whole=True)
    assert message is not None
    lines = message.split("\n")
    assert len(lines) in (3, 4)
    return lines[1].removeprefix("refused by ") if len(lines) == 4 else ""


@pytest.mark.parametrize("text", CASES)
def test_the_rule_that_refuses(text: str) -> None:
    schema, options, expected = CASES[text]
    assert said(schema, text, **options) == expected


@pytest.mark.parametrize("text", ['{"name" 1', '{"name": "A"', "[", '{"quantity": 1x', "nul", ""])
def test_what_no_rule_refuses(text: str) -> None:
    assert said(SCHEMA, text, property_order="any", whitespace="any", integers="any") in ("", "type object")


def test_python_types() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):
        quantity: int = pydantic.Field(ge=1)
        name: str

    assert said(Order, '{"quantity": 0}', **ANY) == "/quantity: minimum 1"
    assert said(Order, '{"quantity": 1, "x": 2}', **ANY) == "additionalProperties false"
    assert said(Order, '{"quantity": 1}', **ANY) == "required: name"


def test_a_search_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then what has always been said is said without a rule."""
    matcher = gl.compile(gl.JsonSchema({"minimum": 10}), byte_vocabulary()).matcher()
    assert matcher.advance_bytes(b"1")

    def late(self: Any, work: int = 1) -> None:
        raise gl.LimitExceeded("late")

    with monkeypatch.context() as patched:
        patched.setattr("grammarlm.masks.messages.rules.Clock.check", late)
        assert "refused by" not in matcher.explain(256)
    assert matcher.explain(256).endswith("refused by minimum 10")


def test_tokens_of_a_vocabulary_and_other_grammars() -> None:
    vocab = gl.Vocabulary([*[bytes([b]) for b in range(256)], b'": 0', b"</s>"], stop_ids=[257])
    matcher = gl.compile(gl.JsonSchema(SCHEMA, **ANY), vocab).matcher()
    assert matcher.advance_bytes(b'{"quantity')
    assert matcher.explain(256).endswith("\nrefused by /quantity: minimum 1")
    assert matcher.explain(256) == matcher.explain(256)
    assert matcher.explain(ord('"')) == "allowed"
    assert "refused by" not in matcher.explain(257)
    assert "refused by" not in gl.compile("a" + gl.JsonSchema(SCHEMA), vocab).matcher().explain(ord("b"))
    long = gl.JsonSchema({"enum": ["x" * 3000, "y" * 3000]})
    assert len(gl.compile(long, vocab).matcher().explain(ord("1"))) <= 500


VALUES: dict[str, list[tuple[dict[str, Any], Any, Any]]] = {
    # keyword: the schema, a value that is valid, one that is not
    "type": [({"type": "integer"}, 3, "x"), ({"type": ["string", "null"]}, None, 1), ({"type": "integer"}, 1, 1.5)],
    "minimum": [({"minimum": 5}, 5, 4), ({"minimum": -2}, 0, -3)],
    "maximum": [({"maximum": 5}, 5, 51)],
    "exclusiveMinimum": [({"exclusiveMinimum": 0}, 1, 0)],
    "multipleOf": [({"multipleOf": 4, "minimum": 0, "maximum": 99}, 8, 9)],
    "enum": [({"enum": ["a", "b"]}, "b", "c"), ({"enum": [1, 22]}, 22, 2)],
    "const": [({"const": {"k": 1}}, {"k": 1}, {"k": 2})],
    "minLength": [({"minLength": 2}, "ab", "a")],
    "maxLength": [({"maxLength": 2}, "ab", "abc")],
    "pattern": [({"pattern": "^a+$"}, "aa", "ab")],
    "minItems": [({"minItems": 1}, [0], [])],
    "maxItems": [({"maxItems": 1}, [0], [0, 1])],
    "maxProperties": [({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2})],
    "required": [({"required": ["k"]}, {"k": 1}, {"j": 1})],
}


@tiers("seed, count", (0, 25), *((seed, 100) for seed in range(1, 11)))
def test_the_only_error_that_jsonschema_finds(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        names = rng.sample(["a", "b", "é", "x y", "n"], rng.randint(1, 4))
        drawn = {name: rng.choice(VALUES[rng.choice(list(VALUES))]) for name in names}
        schema: dict[str, Any] = {"properties": {name: drawn[name][0] for name in names}, "additionalProperties": False}
        instance = {name: drawn[name][1] for name in rng.sample(names, len(names))}
        kind = rng.random()
        if kind < 0.1:
            schema["required"], schema["properties"]["gone"] = ["gone"], {}
        elif kind < 0.2:
            instance["more"] = 1
        else:
            wrong = rng.choice(names)
            instance[wrong] = drawn[wrong][2]
        if rng.random() < 0.3:
            schema, instance = {"items": schema}, [instance]  # type: ignore[assignment]
        [error] = jsonschema.Draft202012Validator(schema).iter_errors(instance)
        pointer = "".join(f"/{step}" for step in error.absolute_path)
        found = said(schema, json.dumps(instance, ensure_ascii=False), **ANY)
        value = ": gone" if error.validator == "required" and kind < 0.1 else ""
        assert f"{pointer}: {error.validator}{value}".removeprefix(": ") in found, (schema, instance, found)
        assert " and " not in found


def test_where_a_text_stands() -> None:
    """Against a text that is put together piece by piece."""
    whole = '{"a": {"b": [1, "x\\"", {}], "c": true}, "d": -2.5}'
    inside = [  # where each begins, and the path from there on
        (0, ()), (4, ("a",)), (10, ("a", "b")), (13, ("a", "b", 0)), (15, ("a", "b", 1)), (21, ("a", "b")), (22, ("a", "b", 2)),
        (25, ("a", "b")), (26, ("a",)), (31, ("a", "c")), (37, ("a",)), (38, ()), (43, ("d",)), (50, ()),
    ]  # fmt: skip
    for at in range(len(whole) + 1):
        path = next(path for begin, path in reversed(inside) if begin <= at)
        assert standing(whole[:at].encode())[0] == path, whole[:at]
    assert standing(b'{"a": 1, "b": {"c": [')[1] == {(): ["a", "b"], ("b",): ["c"], ("b", "c"): []}
